// SPDX-License-Identifier: Apache-2.0
// cuDNN recognizes attention as a pattern of small operations, which must have exactly this form:
// tensors of rank 4 (batch, heads, rows, columns), and intermediate values of type float, except
// the inputs of matrix products.
#include "framework/backends/cuda_runtime/attention.h"

#include <limits>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr size_t kMaxWorkspace = size_t{1} << 31;
// The deterministic gradient keeps its scores in the workspace. Beyond this size, the batch is
// processed in parts.
constexpr size_t kScoresOfPart = size_t{1} << 29;
// In earlier versions, gradients read out of bounds in replayed graphs if the number of keys isn't
// a multiple of 128: release notes of cudnn-frontend 1.16.
constexpr size_t kSoundVersion = 91501;

// IDs of tensors that aren't operands.
enum : int64_t { kScaleId = 101, kMaskedId, kOneId, kRowSumsId, kQueryGradientId };

class AttentionGraph {
 public:
  explicit AttentionGraph(const AttentionSpec& spec)
      : spec_(spec),
        type_(cudnn_type(spec.dtype)),
        scores_({spec.batch, spec.heads, spec.queries, spec.keys}),
        rows_({spec.batch, spec.heads, spec.queries, 1}),
        query_(operand(1, spec.heads, spec.queries)),
        keys_(transposed(2, spec.key_heads, spec.keys)),
        statistics_(graph_.array(5, CUDNN_DATA_FLOAT, rows_, row_major(rows_))) {
    scale_ = scalar(kScaleId, static_cast<float>(spec.scale));
    if (spec.bias_batch > 0) {
      const int64_t row = spec.bias_stride();
      bias_ = graph_.array(spec.gradient ? 10 : 6, type_,
                           {spec.bias_batch, spec.bias_heads, spec.queries, spec.keys},
                           {spec.bias_heads * spec.queries * row, spec.queries * row, row, 1});
    }
    if (spec.causal) masked_ = scalar(kMaskedId, -std::numeric_limits<float>::infinity());
    if (spec.gradient) {
      add_gradient();
    } else {
      add_forward();
    }
  }

  CudnnGraph& graph() { return graph_; }
  std::vector<CudnnKernel::Scalar> scalars() const { return scalars_; }
  std::vector<CudnnKernel::Extra> extras() const {
    if (!spec_.gradient) return {};
    const auto rows = static_cast<size_t>(spec_.batch * spec_.heads * spec_.queries);
    std::vector<CudnnKernel::Extra> extras = {{kRowSumsId, rows * sizeof(float)}};
    if (!spec_.deterministic) {
      extras.push_back({kQueryGradientId, rows * static_cast<size_t>(spec_.size) * sizeof(float)});
    }
    return extras;
  }

 private:
  using Tensor = CudnnGraph::Tensor;

  static Dims row_major(const Dims& dims) { return strides_of(dims, {0, 1, 2, 3}); }

  // Arrays are stored as (batch, length, heads, size).
  Tensor operand(int64_t id, int64_t heads, int64_t length) {
    const Dims dims = {spec_.batch, heads, length, spec_.size};
    return graph_.array(id, type_, dims, strides_of(dims, {0, 2, 1, 3}));
  }
  // The same array as (size, length) matrices.
  Tensor transposed(int64_t id, int64_t heads, int64_t length) {
    const Dims dims = {spec_.batch, heads, spec_.size, length};
    return graph_.array(id, type_, dims, strides_of(dims, {0, 3, 1, 2}));
  }
  Tensor scalar(int64_t id, float value) {
    scalars_.push_back({id, value});
    return graph_.scalar(id, {1, 1, 1, 1});
  }
  Tensor scores_tensor(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph_.between(type, scores_, row_major(scores_));
  }
  Tensor row_tensor() { return graph_.between(CUDNN_DATA_FLOAT, rows_, row_major(rows_)); }

  Tensor step(cudnnPointwiseMode_t mode, Tensor x, Tensor b) {
    const Tensor y = scores_tensor();
    graph_.pointwise(mode, x, b, y);
    return y;
  }

  Tensor scaled_scores() {
    const Tensor products = scores_tensor();
    graph_.matmul(query_, keys_, products);
    const Tensor scaled = step(CUDNN_POINTWISE_MUL, products, scale_);
    return bias_ == nullptr ? scaled : step(CUDNN_POINTWISE_ADD, scaled, bias_);
  }

  // Row t keeps columns up to t.
  Tensor mask(Tensor scores) {
    if (!spec_.causal) return scores;
    const Tensor row = scores_tensor(CUDNN_DATA_INT32);
    const Tensor column = scores_tensor(CUDNN_DATA_INT32);
    const Tensor seen = scores_tensor(CUDNN_DATA_BOOLEAN);
    const Tensor result = scores_tensor();
    graph_.index(2, scores, row);
    graph_.index(3, scores, column);
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, seen, CUDNN_DATA_BOOLEAN);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, masked_, result, CUDNN_DATA_FLOAT,
                     seen);
    return result;
  }

  void add_forward() {
    const Tensor scores = mask(scaled_scores());
    const Tensor most = row_tensor();
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
    const Tensor exponentials =
        step(CUDNN_POINTWISE_EXP, step(CUDNN_POINTWISE_SUB, scores, most), nullptr);
    const Tensor sums = row_tensor();
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sums);
    const Tensor logarithms = row_tensor();
    graph_.pointwise(CUDNN_POINTWISE_LOG, sums, nullptr, logarithms);
    graph_.pointwise(CUDNN_POINTWISE_ADD, most, logarithms, statistics_);
    const Tensor weights = scores_tensor(type_);
    graph_.pointwise(CUDNN_POINTWISE_DIV, exponentials, sums, weights);
    graph_.matmul(weights, operand(3, spec_.key_heads, spec_.keys),
                  operand(4, spec_.heads, spec_.queries));
  }

  // The sum of dy * output for each row. An array in memory, as the pattern requires.
  Tensor row_sums(Tensor dy) {
    const Dims dims = {spec_.batch, spec_.heads, spec_.queries, spec_.size};
    const Tensor products = graph_.between(CUDNN_DATA_FLOAT, dims, strides_of(dims, {0, 2, 1, 3}));
    graph_.pointwise(CUDNN_POINTWISE_MUL, dy, operand(4, spec_.heads, spec_.queries), products);
    const Tensor sums = row_tensor();
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sums);
    const Tensor result = graph_.array(kRowSumsId, CUDNN_DATA_FLOAT, rows_, row_major(rows_));
    graph_.pointwise(CUDNN_POINTWISE_MUL, sums, scalar(kOneId, 1.0f), result);
    return result;
  }

  // `result`, for keys or values, is the product of the transposed scores and `rows`, summed over
  // the heads that share it.
  void add_key_gradient(Tensor scores, Tensor rows, int64_t result_id) {
    const Dims dims = {spec_.batch, spec_.heads, spec_.keys, spec_.queries};
    const Tensor columns = graph_.between(type_, dims, strides_of(dims, {0, 1, 3, 2}));
    graph_.reshape(scores, columns);
    const Tensor result = operand(result_id, spec_.key_heads, spec_.keys);
    if (spec_.heads == spec_.key_heads) {
      graph_.matmul(columns, rows, result);
      return;
    }
    const Dims all = {spec_.batch, spec_.heads, spec_.keys, spec_.size};
    const Tensor each = graph_.between(type_, all, row_major(all));
    graph_.matmul(columns, rows, each);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, each, result);
  }

  void add_gradient() {
    const Tensor dy = operand(6, spec_.heads, spec_.queries);
    const Tensor sums = row_sums(dy);
    const Tensor weights =
        step(CUDNN_POINTWISE_EXP, mask(step(CUDNN_POINTWISE_SUB, scaled_scores(), statistics_)),
             nullptr);
    add_key_gradient(weights, dy, 9);
    const Tensor dweights = scores_tensor();
    graph_.matmul(dy, transposed(3, spec_.key_heads, spec_.keys), dweights);
    const Tensor dscores =
        step(CUDNN_POINTWISE_MUL,
             step(CUDNN_POINTWISE_MUL, step(CUDNN_POINTWISE_SUB, dweights, sums), weights), scale_);
    add_key_gradient(dscores, query_, 8);
    const Dims dims = {spec_.batch, spec_.key_heads, spec_.keys, spec_.size};
    const Tensor keys = graph_.between(type_, dims, strides_of(dims, {0, 2, 1, 3}));
    graph_.reshape(keys_, keys);
    const Tensor result = operand(7, spec_.heads, spec_.queries);
    if (spec_.deterministic) {
      graph_.matmul(dscores, keys, result);
      return;
    }
    // Blocks of keys accumulate into an array in memory, in any order.
    const Dims all = {spec_.batch, spec_.heads, spec_.queries, spec_.size};
    const Tensor parts = graph_.array(kQueryGradientId, CUDNN_DATA_FLOAT, all, row_major(all));
    graph_.matmul(dscores, keys, parts);
    graph_.pointwise(CUDNN_POINTWISE_IDENTITY, parts, nullptr, result);
  }

  const AttentionSpec& spec_;
  cudnnDataType_t type_;
  CudnnGraph graph_;
  Dims scores_;
  Dims rows_;
  Tensor query_;
  Tensor keys_;  // transposed
  Tensor statistics_;
  Tensor scale_ = nullptr;
  Tensor masked_ = nullptr;
  Tensor bias_ = nullptr;
  std::vector<CudnnKernel::Scalar> scalars_;
};

std::vector<Operand> operands_of(const AttentionSpec& spec) {
  const auto bytes = [&](int64_t length, int64_t heads) {
    return static_cast<size_t>(spec.batch * length * heads * spec.size) * 2;
  };
  const size_t query = bytes(spec.queries, spec.heads);
  const size_t key = bytes(spec.keys, spec.key_heads);
  const size_t rows = static_cast<size_t>(spec.batch * spec.heads * spec.queries) * sizeof(float);
  const bool forward = !spec.gradient;
  std::vector<Operand> operands = {
      {query, false}, {key, false}, {key, false}, {query, forward}, {rows, forward}};
  if (spec.gradient) {
    for (const Operand& one : {Operand{query, false}, {query, true}, {key, true}, {key, true}}) {
      operands.push_back(one);
    }
  }
  if (spec.bias_batch > 0) {
    const int64_t scores = spec.bias_batch * spec.bias_heads * spec.queries * spec.bias_stride();
    operands.push_back({static_cast<size_t>(scores) * 2, false, spec.bias_batch > 1});
  }
  return operands;
}

// Number of equal parts that the batch is divided into. All arrays of a part are aligned.
int64_t parts_of(const AttentionSpec& spec) {
  if (!spec.gradient || !spec.deterministic) return 1;
  const auto scores = static_cast<size_t>(spec.heads * spec.queries * spec.keys) * 2;
  for (int64_t parts = 1; parts < spec.batch; ++parts) {
    if (spec.batch % parts != 0) continue;
    const int64_t each = spec.batch / parts;
    const auto row_bytes = static_cast<size_t>(each * spec.heads * spec.queries) * sizeof(float);
    if (parts > 1 && row_bytes % kOperandAlignment != 0) continue;
    if (static_cast<size_t>(each) * scores <= kScoresOfPart) return parts;
  }
  const bool aligned = spec.heads * spec.queries % 4 == 0;
  return aligned ? spec.batch : 1;
}

// Restricts specs to what cuDNN 9 is known to support; other plans fail, or worse.
const char* refusal(const CudnnTarget& target, const AttentionSpec& spec) {
  if (cudnnGetVersion() < kSoundVersion) return "cuDNN before 9.15.1 has faults in attention";
  if (spec.dtype != DType::Float16 && spec.dtype != DType::BFloat16) return "not a 16-bit type";
  if (spec.batch == 0 || spec.queries == 0 || spec.keys == 0) return "empty";
  if (spec.size == 0 || spec.size % 8 != 0) return "head sizes must be multiples of 8";
  if (spec.key_heads == 0 || spec.heads % spec.key_heads != 0) return "heads don't share keys";
  if (!spec.gradient) {
    // Known issues of cuDNN 9.18.
    if (spec.queries == 1 && spec.causal) return "a single query, causally";
    return spec.size > 256 ? "head sizes beyond 256" : nullptr;
  }
  if (target.major >= 10 && spec.deterministic)
    return "no deterministic gradient is known for this GPU";
  if (spec.size > (target.major == 9 ? 256 : 128)) return "head sizes too large for the gradient";
  if (spec.keys == 1) return "the gradient of a single key";
  return nullptr;
}

}  // namespace

std::shared_ptr<CudnnKernel> make_attention(const CudnnTarget& target, const AttentionSpec& spec,
                                            std::string& why) {
  if (const char* text = refusal(target, spec)) {
    why = text;
    return nullptr;
  }
  try {
    const int64_t parts = parts_of(spec);
    AttentionSpec part = spec;
    part.batch = spec.batch / parts;
    if (spec.bias_batch > 1) part.bias_batch = part.batch;
    AttentionGraph attention(part);
    CudnnNotes unwanted;
    if (spec.deterministic) unwanted.insert(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    auto plan = attention.graph().plan(target, unwanted, kMaxWorkspace, why);
    if (!plan) return nullptr;
    return std::make_shared<CudnnKernel>(spec.gradient ? "attention's gradient" : "attention",
                                         std::move(plan), operands_of(spec), attention.extras(),
                                         attention.scalars(), static_cast<size_t>(parts));
  } catch (const LibraryError& error) {
    if (error.is_out_of_memory()) throw;
    why += error.what();
    return nullptr;
  }
}

}  // namespace cornu::cuda
