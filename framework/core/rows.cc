// SPDX-License-Identifier: Apache-2.0
#include "framework/core/rows.h"

#include <algorithm>
#include <cstring>

namespace cornu {
namespace {

// Copies rows of a size that the compiler knows (scalars: labels and indices) or not.
template <size_t kBytes>
void copy_rows(const std::byte* from, std::byte* to, std::span<const int64_t> rows, size_t bytes) {
  const size_t size = kBytes ? kBytes : bytes;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(to + i * size, from + static_cast<size_t>(rows[i]) * size, size);
  }
}

void gather_strings(const Tensor& table, std::span<const int64_t> rows, Tensor& result) {
  const auto from = table.data<std::string>();
  auto to = result.mutable_data<std::string>().begin();
  const size_t size = static_cast<size_t>(result.num_elements()) / rows.size();
  for (int64_t index : rows) {
    to = std::copy_n(from.begin() + index * static_cast<int64_t>(size), size, to);
  }
}

bool are_consecutive(std::span<const int64_t> rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] != rows[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

Tensor gather_rows(const Tensor& table, std::span<const int64_t> rows) {
  const int64_t count = table.rank() > 0 ? table.shape().front() : 0;
  for (int64_t index : rows) {
    check<OutOfRange>(0 <= index && index < count,
                      "gather_rows: expected a row within {} rows, got {}.", count, index);
  }
  if (!rows.empty() && are_consecutive(rows)) return table.rows(rows.front(), rows.back() + 1);
  Shape shape = table.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor result = Tensor::empty(shape, table.dtype());
  if (rows.empty()) return result;
  if (table.dtype() == DType::String) {
    gather_strings(table, rows, result);
    return result;
  }
  const size_t bytes = result.bytes() / rows.size();
  const std::byte* from = table.raw();
  std::byte* to = result.mutable_raw();
  switch (bytes) {
    case 1:
      copy_rows<1>(from, to, rows, bytes);
      break;
    case 4:
      copy_rows<4>(from, to, rows, bytes);
      break;
    case 8:
      copy_rows<8>(from, to, rows, bytes);
      break;
    default:
      copy_rows<0>(from, to, rows, bytes);
  }
  return result;
}

Tensor row(const Tensor& table, int64_t index) {
  return table.rows(index, index + 1).with_shape(table.shape().slice(1));
}

Tensor stack_rows(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  Shape shape{static_cast<int64_t>(parts.size())};
  Tensor result = Tensor::empty(shape.concat(first.shape()), first.dtype());
  std::byte* to = result.mutable_raw();
  for (size_t i = 0; i < parts.size(); ++i) {
    check<InvalidArgument>(
        parts[i].shape() == first.shape() && parts[i].dtype() == first.dtype(),
        "elements of one batch must be alike, got {} of shape {} after {} of shape {}.",
        parts[i].dtype(), parts[i].shape(), first.dtype(), first.shape());
    parts[i].copy_to_host(to + i * first.bytes());
  }
  return result;
}

}  // namespace cornu
