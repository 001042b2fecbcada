// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/refusals.h"

#include <string_view>
#include <variant>

#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr std::string_view kVocabulary = "vocabulary of ";

}  // namespace

void refuse_label(const std::string& label, int64_t row, const Shape& logits) {
  raise<InvalidArgument>(
      "sparse_softmax_cross_entropy: label {}{} of row {} is outside of [0, {}), the classes of "
      "logits of shape {}. Labels are numbers of classes, counted from 0; one that is to be left "
      "out is named by ignore_class.",
      label, label == "-2147483648" ? " (a float label that isn't finite)" : "", row, logits.back(),
      logits);
}

std::string indexing_name(const KernelSpec& spec) {
  const std::string& name = spec.op.name;
  if (const AttributeValue* owner = spec.attributes.find("vocabulary_of")) {
    return std::string(kVocabulary) + std::get<std::string>(*owner);
  }
  if (name == "gather" || name == "gather_rows") return "take";
  if (name == "scatter_add" && spec.attributes.find("segments")) return "segment_sum";
  return name == "sum_rows" ? "scatter_add" : name;
}

void refuse_index(const std::string& op, const std::string& index, int64_t axis,
                  const Shape& shape) {
  if (op == "segment_sum") {
    const bool is_negative = index.starts_with('-');
    raise<OutOfRange>("segment_sum: id {} is outside of [0, {}), the segments.",
                      is_negative ? std::to_string(std::stoll(index) + shape[axis]) : index,
                      shape[axis]);
  }
  if (op.starts_with(kVocabulary)) {
    const int64_t place = std::stoll(index);
    raise<InvalidArgument>(
        "{}: token [{}] isn't in the vocabulary, and num_oov_indices is 0. Set num_oov_indices to "
        "1 to map unknown tokens to an index.",
        op.substr(kVocabulary.size()), place < 0 ? place + shape[axis] : place - shape[axis]);
  }
  raise<OutOfRange>(
      "{}: index {} is outside of [{}, {}), axis {} of shape {}. Negative indices count from the "
      "end.",
      op, index, -shape[axis], shape[axis], axis, shape);
}

void refuse_segment(int64_t id, int64_t segments) {
  raise<OutOfRange>("segment_reduce: index {} is outside of [0, {}), the segments.", id, segments);
}

}  // namespace cornu
