// SPDX-License-Identifier: Apache-2.0
// attention and attention_grad: through cuDNN if it supports them, otherwise by kernels that never
// store the scores: README.md.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/attention_dropout.h"

namespace cornu::cuda {
namespace {

constexpr uint32_t kAttentionBlock = 256;    // threads, 16 x 16
constexpr int64_t kAttentionRows = 64;       // rows of a block's tile
constexpr int64_t kAttentionFewRows = 16;    // rows of a smaller tile
constexpr int64_t kAttentionFewBlocks = 48;  // fewer blocks leave most of a GPU idle
constexpr int64_t kLanes = 8;  // the library requires head sizes that are multiples of this

// Strides of a bias or mask of rank 4: 0 along broadcast axes.
std::array<int64_t, 4> score_strides(const Shape& shape) {
  std::array<int64_t, 4> strides = {};
  int64_t step = 1;
  for (int64_t axis = 3; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = shape[axis] == 1 ? 0 : step;
    step *= shape[axis];
  }
  return strides;
}

class AttentionLowering {
 public:
  AttentionLowering(const KernelSpec& spec, size_t first_optional, Lowering& to)
      : to_(to),
        attributes_(spec.attributes),
        dtype_(spec.inputs[0].dtype),
        query_(spec.inputs[0].shape),
        key_(spec.inputs[1].shape),
        width_(spec.inputs[2].shape[3]),
        scale_(spec.attributes.get_double("scale")),
        causal_(spec.attributes.get_bool("causal")),
        bias_(spec.attributes.get_bool("bias")),
        mask_(spec.attributes.get_bool("mask")) {
    const size_t mask_input = first_optional + (bias_ ? 1 : 0);
    if (bias_) {
      bias_slot_ = in(first_optional);
      bias_shape_ = spec.inputs[first_optional].shape;
      bias_strides_ = score_strides(bias_shape_);
    }
    if (mask_) {
      mask_slot_ = in(mask_input);
      mask_shape_ = spec.inputs[mask_input].shape;
      mask_strides_ = score_strides(mask_shape_);
    }
  }

  bool empty() const {
    return query_.num_elements() == 0 || key_.num_elements() == 0 || width_ == 0;
  }

  void forward() {
    if (const auto kernel = library(false)) {
      const Slot logarithms = to_.scratch(row_bytes());
      const Added added = add_scores();
      std::vector<Slot> operands = {added.query, added.key, added.value, out(0), logarithms};
      if (adds()) operands.push_back(added.scores);
      to_.call(kernel, std::move(operands));
      convert_statistics(true, logarithms, out(1), added.seen);
      return;
    }
    const int64_t columns = thread_columns(width_, most_columns());
    launch("attention", {"tiles", "forward"}, define("COLUMNS", fmt::to_string(columns)),
           own_rows(query_[1], query_heads()), columns,
           blocks(query_[1], query_heads(), width_, columns),
           {in(0), in(1), in(2), out(0), out(1)});
  }

  void backward() {
    const bool bias_gradient = attributes_.get_bool("bias_gradient");
    if (const auto kernel = bias_gradient ? nullptr : library(true)) {
      const Slot logarithms = to_.scratch(row_bytes());
      const Added added = add_scores();
      convert_statistics(false, logarithms, in(4), added.seen);
      std::vector<Slot> operands = {added.query, added.key, added.value, in(3), logarithms,
                                    in(5),       out(0),    out(1),      out(2)};
      if (adds()) operands.push_back(added.scores);
      to_.call(kernel, std::move(operands));
      if (mask_) keep_seen(out(0), out(0), added.seen);
      return;
    }
    const DType computed = dtype_ == DType::Float64 ? DType::Float64 : DType::Float32;
    means_ = to_.scratch(static_cast<size_t>(rows()) * size_of(computed));
    to_.launch("attention_means", "kernels/attention/means.cu", type_definitions(),
               blocks_for(rows() * 32, kAttentionBlock), {kAttentionBlock},
               {in(3), in(5), means_, query_[0], query_[1], query_[2], width_});
    gradient("attention_grad_query", true, thread_columns(query_[3], most_columns()), 0, out(0));
    const int64_t of_key = thread_columns(query_[3], most_columns());
    const int64_t of_value = thread_columns(width_, most_columns());
    if (2 * std::max(of_key, of_value) <= most_columns()) {
      gradient("attention_grad_key_value", false, of_key, of_value, out(1));
    } else {
      gradient("attention_grad_key", false, of_key, 0, out(1));
      gradient("attention_grad_value", false, 0, of_value, out(1));
    }
    if (bias_gradient) gradient_of_bias();
  }

 private:
  int64_t rows() const { return query_[0] * query_[1] * query_[2]; }
  int64_t query_heads() const { return query_[0] * query_[2]; }  // in the whole batch
  size_t row_bytes() const { return static_cast<size_t>(rows()) * sizeof(float); }

  // What is added to the library's scores, and the operands that it multiplies.
  struct Added {
    Slot scores;
    Slot seen;  // whether a row has scores that aren't hidden
    Slot query;
    Slot key;
    Slot value;
  };
  bool adds() const { return bias_ || mask_; }
  // Size along the batch or head axis: 1 unless bias or mask has more.
  int64_t added_length(int64_t axis) const {
    return std::max(bias_ ? bias_shape_[axis] : 1, mask_ ? mask_shape_[axis] : 1);
  }
  int64_t added_rows() const { return added_length(0) * added_length(1) * query_[1]; }
  int64_t bias_stride() const { return AttentionSpec{.keys = key_[1]}.bias_stride(); }

  Added add_scores() {
    Added added{.scores = {}, .seen = {}, .query = in(0), .key = in(1), .value = in(2)};
    if (!adds()) return added;
    const int64_t rows = added_rows();
    added.scores = to_.scratch(static_cast<size_t>(rows * bias_stride()) * size_of(dtype_));
    added.seen = to_.scratch(static_cast<size_t>(rows));
    std::vector<Argument> arguments = {bias_slot_, mask_slot_, added.scores,
                                       added.seen, rows,       added_length(1),
                                       query_[1],  key_[1],    bias_stride()};
    arguments.insert(arguments.end(), bias_strides_.begin(), bias_strides_.end());
    arguments.insert(arguments.end(), mask_strides_.begin(), mask_strides_.end());
    to_.launch("attention_added", "kernels/attention/added.cu",
               type_definitions() + score_definitions() +
                   define("IS_F16", std::string_view(dtype_ == DType::Float16 ? "1" : "0")),
               blocks_for(rows * 32, kAttentionBlock), {kAttentionBlock}, std::move(arguments));
    if (mask_) {
      added.query = to_.scratch(static_cast<size_t>(query_.num_elements()) * size_of(dtype_));
      keep_seen(in(0), added.query, added.seen);
    }
    if (hides_keys()) {
      added.key = without_hidden(in(1), added.seen, false);
      added.value = without_hidden(in(2), added.seen, true);
    }
    return added;
  }

  // Whether the mask hides the same keys from all queries: the library then gets zeros for these.
  bool hides_keys() const {
    return mask_ && mask_shape_[2] == 1 && mask_shape_[3] == key_[1] &&
           (mask_shape_[1] == 1 || key_[2] == query_[2]);
  }

  std::array<int64_t, 2> seen_strides() const {
    return {added_length(0) == 1 ? 0 : added_length(1) * query_[1],
            added_length(1) == 1 ? 0 : query_[1]};
  }

  Slot without_hidden(Slot from, Slot seen, bool keeps_averaged) {
    const Slot to = to_.scratch(static_cast<size_t>(key_.num_elements()) * size_of(dtype_));
    const int64_t count = key_.num_elements() / kLanes;
    const auto [of_batch, of_head] = seen_strides();
    to_.launch(
        "attention_hidden", "kernels/attention/hidden.cu",
        define_vector(type_name(dtype_), kLanes) + define("KEEPS_AVERAGED", word(keeps_averaged)),
        blocks_for(count, kAttentionBlock), {kAttentionBlock},
        {from, to, mask_slot_, seen, count, key_[1], key_[2], key_[3] / kLanes, mask_strides_[0],
         mask_strides_[1], of_batch, of_head});
    return to;
  }

  void keep_seen(Slot from, Slot to, Slot seen) {
    const int64_t count = query_.num_elements() / kLanes;
    const auto [of_batch, of_head] = seen_strides();
    to_.launch(
        "attention_seen", "kernels/attention/seen.cu", define_vector(type_name(dtype_), kLanes),
        blocks_for(count, kAttentionBlock), {kAttentionBlock},
        {from, to, seen, count, query_[1], query_[2], query_[3] / kLanes, of_batch, of_head});
  }

  // Null when no library supports it, e.g. values of another size than keys.
  std::shared_ptr<LibraryKernel> library(bool gradient) const {
    constexpr size_t kMaxAdded = size_t{1} << 31;  // bytes
    if (!is_half(dtype_) || width_ != query_[3]) return nullptr;
    // float16 has no value below every possible bias.
    if (dtype_ == DType::Float16 && bias_ && mask_) return nullptr;
    if (adds() && static_cast<size_t>(added_rows() * bias_stride()) > kMaxAdded / 2) {
      return nullptr;
    }
    return to_.prepare(
        AttentionSpec{.gradient = gradient,
                      .dtype = dtype_,
                      .batch = query_[0],
                      .heads = query_[2],
                      .key_heads = key_[2],
                      .queries = query_[1],
                      .keys = key_[1],
                      .size = query_[3],
                      .scale = scale_,
                      .causal = causal_ && !mask_,  // otherwise hidden by the additive bias
                      .bias_batch = adds() ? added_length(0) : 0,
                      .bias_heads = adds() ? added_length(1) : 0});
  }

  void convert_statistics(bool from_library, Slot logarithms, Slot statistics, Slot seen) {
    const auto [of_batch, of_head] = seen_strides();
    to_.launch(
        "attention_statistics", "kernels/attention/statistics.cu",
        define("FROM_LIBRARY", word(from_library)) + define("MASKED", word(mask_)),
        blocks_for(rows(), kAttentionBlock), {kAttentionBlock},
        {logarithms, statistics, seen, rows(), query_[1], query_[2], key_[1], of_batch, of_head});
  }

  static std::string_view word(bool value) { return value ? "true" : "false"; }
  std::string score_definitions() const {
    return define("BIASED", word(bias_)) + define("MASKED", word(mask_)) +
           define("CAUSAL", word(causal_));
  }

  std::string type_definitions() const {
    return define("T", type_name(dtype_)) + define("C", compute_name(dtype_));
  }

  // Maximum number of columns of a product that a thread sums up; further ones need further blocks.
  int64_t most_columns() const { return dtype_ == DType::Float64 ? 8 : 16; }
  static int64_t thread_columns(int64_t length, int64_t most) {
    return std::min<int64_t>(
        most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((length + 15) / 16))));
  }
  // Rows of queries or keys in a block's tile.
  static int64_t own_rows(int64_t rows, int64_t heads) {
    const bool few = rows <= kAttentionFewRows ||
                     heads * ((rows + kAttentionRows - 1) / kAttentionRows) <= kAttentionFewBlocks;
    return few ? kAttentionFewRows : kAttentionRows;
  }
  // For products of `length` columns.
  static Dim3 blocks(int64_t rows, int64_t heads, int64_t length, int64_t columns) {
    const int64_t tile = own_rows(rows, heads);
    const int64_t parts = (length + 16 * columns - 1) / (16 * columns);
    return blocks_for(heads * ((rows + tile - 1) / tile) * parts, 1);
  }

  // 0 columns: the gradient isn't needed.
  void gradient(const std::string& name, bool own_queries, int64_t columns, int64_t value_columns,
                Slot of_own) {
    const std::string definitions =
        define("OWN_QUERIES", word(own_queries)) + define("OF_SCORES", word(columns > 0)) +
        define("OF_VALUES", word(value_columns > 0)) +
        define("COLUMNS", fmt::to_string(std::max<int64_t>(columns, 1))) +
        define("VALUE_COLUMNS", fmt::to_string(std::max<int64_t>(value_columns, 1)));
    const int64_t rows = own_queries ? query_[1] : key_[1];
    const int64_t heads = own_queries ? query_heads() : query_[0] * key_[2];
    launch(name, {"tiles", "differentiate", "gradient"}, definitions, own_rows(rows, heads),
           std::max(columns, value_columns),
           columns > 0 ? blocks(rows, heads, query_[3], columns)
                       : blocks(rows, heads, width_, value_columns),
           {in(0), in(1), in(2), in(5), in(4), means_, of_own, out(2)});
  }

  void gradient_of_bias() {
    const int64_t others = other_rows();
    const auto tiles = [](int64_t size, int64_t tile) { return (size + tile - 1) / tile; };
    const int64_t items = bias_shape_[0] * bias_shape_[1] * tiles(bias_shape_[2], kAttentionRows) *
                          tiles(bias_shape_[3], others);
    launch("attention_grad_bias", {"tiles", "differentiate", "bias"}, "", kAttentionRows, 1,
           blocks_for(items, 1),
           {in(0), in(1), in(2), in(5), in(4), means_, out(3), bias_shape_[0], bias_shape_[1]});
  }

  int64_t other_rows() const { return dtype_ == DType::Float64 ? 32 : 64; }

  void launch(const std::string& name, std::initializer_list<const char*> files,
              const std::string& definitions, int64_t own, int64_t most_columns, Dim3 grid,
              std::vector<Argument> arguments) {
    std::string text = type_definitions() + definitions + define("OWN", fmt::to_string(own)) +
                       define("OTHER", fmt::to_string(other_rows())) +
                       define("DEPTH", dtype_ == DType::Float64 ? "16" : "32") +
                       define("MOST_COLUMNS", fmt::to_string(most_columns)) + score_definitions();
    for (const char* file : files) text += source(fmt::format("kernels/attention/{}.cu", file));
    const Argument problem[] = {bias_slot_, mask_slot_, query_[0], query_[1], key_[1],
                                query_[2],  key_[2],    query_[3], width_,    scale_};
    arguments.insert(arguments.end(), std::begin(problem), std::end(problem));
    arguments.insert(arguments.end(), bias_strides_.begin(), bias_strides_.end());
    arguments.insert(arguments.end(), mask_strides_.begin(), mask_strides_.end());
    to_.launch_text(name, text, grid, {kAttentionBlock}, std::move(arguments));
  }

  Lowering& to_;
  const Attributes& attributes_;
  DType dtype_;
  Shape query_;  // (batch, rows, heads, size)
  Shape key_;    // (batch, columns, key heads, size)
  int64_t width_;
  double scale_;
  bool causal_;
  bool bias_;
  bool mask_;
  Slot bias_slot_ = in(0);  // unread if there is none
  Slot mask_slot_ = in(0);
  Shape bias_shape_;
  Shape mask_shape_;
  std::array<int64_t, 4> bias_strides_ = {};
  std::array<int64_t, 4> mask_strides_ = {};
  Slot means_;
};

void clear_attention(const KernelSpec& spec, Lowering& to) {
  for (size_t i = 0; i < spec.outputs.size(); ++i) to.fill(out(i), 0, spec.outputs[i].bytes());
}

// Attention with dropout has been replaced by other nodes when kernels are chosen (expand_dropout).
bool drops(const KernelSpec& spec) { return attention_dropout(spec.attributes) > 0; }

bool lower_attention(const KernelSpec& spec, Lowering& to) {
  AttentionLowering lowering(spec, 3, to);
  if (lowering.empty()) {
    clear_attention(spec, to);
  } else if (drops(spec)) {
    return false;
  } else {
    lowering.forward();
  }
  return true;
}

bool lower_attention_grad(const KernelSpec& spec, Lowering& to) {
  AttentionLowering lowering(spec, 6, to);
  if (lowering.empty()) {
    clear_attention(spec, to);
  } else if (drops(spec)) {
    return false;
  } else {
    lowering.backward();
  }
  return true;
}

}  // namespace

void register_attention(LoweringTable& table) {
  table.add("attention", lower_attention);
  table.add("attention_grad", lower_attention_grad);
}

}  // namespace cornu::cuda
