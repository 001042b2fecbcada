// SPDX-License-Identifier: Apache-2.0
#include "framework/core/rows.h"

#include <algorithm>
#include <cstring>

namespace cornu {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kAhead = 4096;  // bytes of the next row to prefetch while copying a row

void prefetch(const std::byte* row, size_t bytes) {
  constexpr int kToRead = 0;
  constexpr int kIntoSecondCache = 2;
  for (size_t k = 0; k < std::min(bytes, kAhead); k += kCacheLine) {
    __builtin_prefetch(row + k, kToRead, kIntoSecondCache);
  }
}

// Copies rows whose size is known at compile time (scalars: labels and indices), or any size when
// kBytes is 0.
template <size_t kBytes>
void copy_rows(const std::byte* from, std::byte* to, std::span<const int64_t> rows, size_t bytes) {
  const size_t size = kBytes ? kBytes : bytes;
  for (size_t i = 0; i < rows.size(); ++i) {
    if constexpr (kBytes == 0) {
      if (i + 1 < rows.size()) prefetch(from + static_cast<size_t>(rows[i + 1]) * size, size);
    }
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

Tensor stack_rows(std::vector<Tensor> parts) {
  const Shape shape = parts.front().shape();
  const DType dtype = parts.front().dtype();
  const size_t bytes = parts.front().bytes();
  Tensor result = Tensor::empty(Shape{std::ssize(parts)}.concat(shape), dtype);
  std::byte* to = result.mutable_raw();
  for (Tensor& part : parts) {
    check<InvalidArgument>(
        part.shape() == shape && part.dtype() == dtype,
        "elements of one batch must be alike, got {} of shape {} after {} of shape {}.",
        part.dtype(), part.shape(), dtype, shape);
    if (dtype == DType::String && part.is_unique()) {
      std::ranges::move(part.mutable_data<std::string>(), reinterpret_cast<std::string*>(to));
    } else {
      part.copy_to_host(to);
    }
    to += bytes;
  }
  return result;
}

}  // namespace cornu
