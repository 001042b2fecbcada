// SPDX-License-Identifier: Apache-2.0
// cuDNN's operations: attention and its gradient, from the statistics of the forward pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/cuda/libraries.h"
#include "tests/support/cuda/numbers.h"

namespace cornu::cuda::simulated {
namespace {

enum Operand : size_t {
  kQuery,
  kKey,
  kValue,
  kOutput,
  kStatistics,
  kDy,
  kDQuery,
  kDKey,
  kDValue,
  kGradientBias,
  kBias = kDy
};

class Attention {
 public:
  Attention(const AttentionSpec& spec, std::span<void* const> operands)
      : spec_(spec),
        operands_(operands),
        query_(read(kQuery, query_count())),
        key_(read(kKey, key_count())),
        value_(read(kValue, key_count())) {
    if (spec.bias_batch > 0) bias_ = read(spec.gradient ? kGradientBias : kBias, bias_count());
  }

  void forward() {
    std::vector<double> output(query_count());
    std::vector<double> statistics(rows());
    for_each_row([&](int64_t b, int64_t h, int64_t q) {
      const double logarithm = log_sum(b, h, q);
      statistics[row(b, h, q)] = logarithm;
      for (int64_t k = 0; k < seen(q); ++k) {
        const double weight = std::exp(score(b, h, q, k) - logarithm);
        for (int64_t i = 0; i < spec_.size; ++i) {
          output[at(b, h, q) + size_t(i)] += weight * value_[key_at(b, h, k) + size_t(i)];
        }
      }
    });
    write_numbers(operands_[kOutput], spec_.dtype, output);
    write_numbers(operands_[kStatistics], DType::Float32, statistics);
  }

  void gradient() {
    const auto output = read(kOutput, query_count());
    const auto dy = read(kDy, query_count());
    const auto statistics = read_numbers(operands_[kStatistics], DType::Float32, rows());
    std::vector<double> dquery(query_count());
    std::vector<double> dkey(key_count());
    std::vector<double> dvalue(key_count());
    for_each_row([&](int64_t b, int64_t h, int64_t q) {
      const size_t of_query = at(b, h, q);
      const double mean = dot(dy, of_query, output, of_query);
      for (int64_t k = 0; k < seen(q); ++k) {
        const size_t of_key = key_at(b, h, k);
        const double weight = std::exp(score(b, h, q, k) - statistics[row(b, h, q)]);
        const double dweight = dot(dy, of_query, value_, of_key);
        const double dscore = weight * (dweight - mean) * spec_.scale;
        for (size_t i = 0; i < static_cast<size_t>(spec_.size); ++i) {
          dvalue[of_key + i] += weight * dy[of_query + i];
          dquery[of_query + i] += dscore * key_[of_key + i];
          dkey[of_key + i] += dscore * query_[of_query + i];
        }
      }
    });
    write_numbers(operands_[kDQuery], spec_.dtype, dquery);
    write_numbers(operands_[kDKey], spec_.dtype, dkey);
    write_numbers(operands_[kDValue], spec_.dtype, dvalue);
  }

 private:
  std::vector<double> read(Operand operand, size_t count) const {
    return read_numbers(operands_[operand], spec_.dtype, count);
  }
  size_t rows() const { return size_t(spec_.batch * spec_.heads * spec_.queries); }
  size_t query_count() const { return rows() * size_t(spec_.size); }
  size_t key_count() const {
    return size_t(spec_.batch * spec_.key_heads * spec_.keys * spec_.size);
  }

  size_t bias_count() const {
    return size_t(spec_.bias_batch * spec_.bias_heads * spec_.queries * spec_.bias_stride());
  }

  // The offset of a row.
  size_t row(int64_t b, int64_t h, int64_t q) const {
    return size_t((b * spec_.heads + h) * spec_.queries + q);
  }
  size_t at(int64_t b, int64_t h, int64_t q) const {
    return size_t(((b * spec_.queries + q) * spec_.heads + h) * spec_.size);
  }
  size_t key_at(int64_t b, int64_t h, int64_t k) const {
    const int64_t head = h / (spec_.heads / spec_.key_heads);
    return size_t(((b * spec_.keys + k) * spec_.key_heads + head) * spec_.size);
  }

  int64_t seen(int64_t q) const { return spec_.causal ? std::min(q + 1, spec_.keys) : spec_.keys; }

  double dot(const std::vector<double>& a, size_t a_at, const std::vector<double>& b,
             size_t b_at) const {
    double sum = 0;
    for (size_t i = 0; i < size_t(spec_.size); ++i) sum += a[a_at + i] * b[b_at + i];
    return sum;
  }
  double score(int64_t b, int64_t h, int64_t q, int64_t k) const {
    const double scaled = spec_.scale * dot(query_, at(b, h, q), key_, key_at(b, h, k));
    if (bias_.empty()) return scaled;
    const int64_t batch = spec_.bias_batch > 1 ? b : 0;
    const int64_t head = spec_.bias_heads > 1 ? h : 0;
    const int64_t at = (batch * spec_.bias_heads + head) * spec_.queries + q;
    return scaled + bias_[static_cast<size_t>(at * spec_.bias_stride() + k)];
  }
  double log_sum(int64_t b, int64_t h, int64_t q) const {
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t k = 0; k < seen(q); ++k) most = std::max(most, score(b, h, q, k));
    double sum = 0;
    for (int64_t k = 0; k < seen(q); ++k) sum += std::exp(score(b, h, q, k) - most);
    return most + std::log(sum);
  }

  template <class F>
  void for_each_row(const F& f) const {
    for (int64_t b = 0; b < spec_.batch; ++b) {
      for (int64_t h = 0; h < spec_.heads; ++h) {
        for (int64_t q = 0; q < spec_.queries; ++q) f(b, h, q);
      }
    }
  }

  const AttentionSpec& spec_;
  std::span<void* const> operands_;
  std::vector<double> query_;
  std::vector<double> key_;
  std::vector<double> value_;
  std::vector<double> bias_;
};

}  // namespace

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const AttentionSpec& spec) {
  const bool is_known = spec.dtype == DType::Float16 || spec.dtype == DType::BFloat16;
  const bool is_empty = spec.batch <= 0 || spec.queries <= 0 || spec.keys <= 0 || spec.size <= 0;
  const bool shares = spec.key_heads > 0 && spec.heads % spec.key_heads == 0;
  const bool is_single = spec.gradient ? spec.keys == 1 : spec.queries == 1 && spec.causal;
  if (!is_known || is_empty || !shares || is_single) return nullptr;
  if (spec.size % 8 != 0 || spec.size > 256) return nullptr;
  const size_t element = size_of(spec.dtype);
  const auto rows = static_cast<size_t>(spec.batch * spec.heads * spec.queries);
  const size_t queries = rows * static_cast<size_t>(spec.size) * element;
  const size_t keys =
      static_cast<size_t>(spec.batch * spec.key_heads * spec.keys * spec.size) * element;
  std::vector<size_t> bytes = {queries, keys, keys, queries, rows * sizeof(float)};
  if (spec.gradient) bytes.insert(bytes.end(), {queries, queries, keys, keys});
  if (spec.bias_batch > 0) {
    const int64_t rows_of_bias = spec.bias_batch * spec.bias_heads * spec.queries;
    bytes.push_back(static_cast<size_t>(rows_of_bias * spec.bias_stride()) * element);
  }
  return std::make_shared<SimulatedLibraryKernel>(
      spec.gradient ? "simulated attention's gradient" : "simulated attention", std::move(bytes),
      [spec](std::span<void* const> operands) {
        Attention attention(spec, operands);
        spec.gradient ? attention.gradient() : attention.forward();
      });
}

}  // namespace cornu::cuda::simulated
