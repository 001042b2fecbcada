// SPDX-License-Identifier: Apache-2.0
// Softmax and the cross-entropies of logits, with 16-bit floats computed in float32.
#include <limits>

#include "framework/backends/xla/lowering.h"
#include "framework/graph/refusals.h"

namespace cornu::xla {
namespace {

// Broadcasts one value per row along an axis to all elements of the row.
Value along_rows(Writer& to, const Value& rows, const Shape& shape, int64_t axis) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i != axis) kept.push_back(i);
  }
  return broadcast_in(to, rows, shape, kept);
}

Value row_sum(Writer& to, const Value& x, int64_t axis) {
  const int64_t axes[] = {axis};
  return reduce(to, "add", x, splat(to, 0, {x.dtype(), {}}), axes);
}

struct Softmax {
  Softmax(Writer& to, const Value& logits, int64_t along) : axis(along) {
    const Value x = is_half(logits.dtype()) ? convert(to, logits, DType::Float32) : logits;
    const int64_t axes[] = {axis};
    const Value largest = reduce(to, "maximum", x, extreme(to, false, {x.dtype(), {}}), axes);
    shifted = subtract(to, x, along_rows(to, largest, x.shape(), axis));
    powers = unary(to, "exponential", shifted);
    sums = row_sum(to, powers, axis);
  }

  Value probabilities(Writer& to) const {
    return divide(to, powers, along_rows(to, sums, powers.shape(), axis));
  }
  Value log_of_sums(Writer& to) const { return unary(to, "log", sums); }

  int64_t axis;
  Value shifted;  // minus the row's maximum
  Value powers;
  Value sums;  // per row
};

Values lower_softmax(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Softmax softmax(to, in[0], spec.attributes.get_int("axis"));
  return {convert(to, softmax.probabilities(to), in[0].dtype())};
}

Values lower_log_softmax(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Softmax softmax(to, in[0], spec.attributes.get_int("axis"));
  const Value logarithms = along_rows(to, softmax.log_of_sums(to), in[0].shape(), softmax.axis);
  return {convert(to, subtract(to, softmax.shifted, logarithms), in[0].dtype())};
}

Values lower_cross_entropy(const KernelSpec&, std::span<const Value> in, Writer& to) {
  const DType dtype = in[0].dtype();
  const Softmax softmax(to, in[0], in[0].rank() - 1);
  const Value targets = convert(to, in[1], softmax.shifted.dtype());
  const Value zero = like(to, 0, targets);
  // A target of 0 contributes nothing, even if a logit is -infinity.
  const Value weighted =
      select(to, compare(to, "EQ", targets, zero), zero, multiply(to, targets, softmax.shifted));
  const Value whole = multiply(to, row_sum(to, targets, softmax.axis), softmax.log_of_sums(to));
  const Value losses = subtract(to, whole, row_sum(to, weighted, softmax.axis));
  return {convert(to, losses, dtype), convert(to, softmax.probabilities(to), dtype)};
}

Values lower_sparse_cross_entropy(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const DType dtype = in[0].dtype();
  const Shape logits = in[0].shape();
  const int64_t classes = logits.back();
  const Softmax softmax(to, in[0], logits.rank() - 1);
  const Value labels = convert(to, in[1], DType::Int64);
  const int64_t ignored_class = spec.attributes.get_int("ignore_class");
  const Value ignored = ignored_class == std::numeric_limits<int64_t>::min()  // none
                            ? splat(to, 0, {DType::Bool, labels.shape()})
                            : compare(to, "EQ", labels, splat_int(to, ignored_class, labels.type));
  const Value outside = either(to, compare(to, "LT", labels, like(to, 0, labels)),
                               compare(to, "GE", labels, splat_int(to, classes, labels.type)));
  to.refuse(
      both(to, outside, unary(to, "not", ignored)), labels,
      [logits](int64_t label, int64_t row) { refuse_label(fmt::to_string(label), row, logits); });
  const TensorType numbers{DType::Int64, logits};
  const Value is_label = compare(to, "EQ", iota(to, numbers, logits.rank() - 1),
                                 along_rows(to, labels, logits, logits.rank() - 1));
  const Value zero = like(to, 0, softmax.shifted);
  const Value chosen = row_sum(to, select(to, is_label, softmax.shifted, zero), softmax.axis);
  const Value loss = subtract(to, softmax.log_of_sums(to), chosen);
  const Value losses = select(to, ignored, like(to, 0, loss), loss);
  return {convert(to, losses, dtype), convert(to, softmax.probabilities(to), dtype)};
}

}  // namespace

void register_softmax(LoweringTable& table) {
  table.add("softmax", lower_softmax);
  table.add("log_softmax", lower_log_softmax);
  table.add("softmax_cross_entropy", lower_cross_entropy);
  table.add("sparse_softmax_cross_entropy", lower_sparse_cross_entropy);
}

}  // namespace cornu::xla
