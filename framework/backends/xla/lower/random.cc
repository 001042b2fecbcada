// SPDX-License-Identifier: Apache-2.0
// Random numbers: the same bits as on the CPU, from words of Philox (core/random.h) that depend
// only on the key and an element's number.
#include "framework/backends/xla/lower/philox.h"

namespace cornu::xla {
namespace {

// Words of a key's sequence for whole groups of four numbers, [groups, words per group], starting
// with the group of number `first` (int64).
Value group_words(Writer& to, const Value& key, const Value& first, int64_t groups,
                  int64_t blocks) {
  const int64_t count = groups * blocks;
  const Value group = divide(to, first, splat_int(to, 4, first.type));
  const Value block =
      convert(to, multiply(to, group, splat_int(to, blocks, group.type)), DType::UInt64);
  const TensorType counters{DType::UInt64, {count}};
  const Value counter =
      add(to, iota(to, counters, 0), spread(to, reshape(to, block, {1}), {count}));
  const Words words = philox(to, Key(to, key, count), counter, splat_int(to, 0, counters));
  Values columns;
  for (const Value& word : words) columns.push_back(reshape(to, word, {count, 1}));
  return reshape(to, concatenate(to, columns, 1), {groups, 4 * blocks});
}

Value word_at(Writer& to, const Value& words, int64_t i) {
  return reshape(to, slice_axis(to, words, 1, i, i + 1), {words.shape()[0]});
}

// ---- the normal distribution: the operations of the CPU's kernel, in the same order ----

// The sum of coefficients[k] x^k.
template <size_t kTerms>
Value series(Writer& to, const std::array<double, kTerms>& coefficients, const Value& x) {
  Value sum = like(to, coefficients.back(), x);
  for (size_t k = kTerms - 1; k-- > 0;) {
    sum = add(to, multiply(to, sum, x), like(to, coefficients[k], x));
  }
  return sum;
}

double signed_inverse_factorial(int k, int n) {
  double value = k % 2 == 0 ? 1.0 : -1.0;
  for (int i = 2; i <= n; ++i) value /= i;
  return value;
}

template <size_t kTerms, class Term>
std::array<double, kTerms> coefficients_of(Term term) {
  std::array<double, kTerms> result{};
  for (size_t k = 0; k < kTerms; ++k) result[k] = term(static_cast<int>(k));
  return result;
}

// log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)).
Value natural_logarithm(Writer& to, const Value& x) {
  constexpr int64_t kRootHalf = 0x3FE6A09E667F3BCD;
  constexpr int64_t kOne = 0x3FF0000000000000;
  const TensorType bits{DType::Int64, x.shape()};
  const Value moved = add(to, bitcast(to, x, bits), splat_int(to, kOne - kRootHalf, bits));
  const Value fraction = both(to, moved, splat_int(to, 0x000FFFFFFFFFFFFF, bits));
  const Value m = bitcast(to, add(to, fraction, splat_int(to, kRootHalf, bits)), x.type);
  const Value exponent = binary(to, "shift_right_arithmetic", moved, splat_int(to, 52, bits));
  const Value e = subtract(to, convert(to, exponent, DType::Float64), like(to, 1023, x));
  const Value one = like(to, 1, x);
  const Value s = divide(to, subtract(to, m, one), add(to, m, one));
  static const auto kArtanh = coefficients_of<12>([](int k) { return 2.0 / (2 * k + 1); });
  const Value sum = series(to, kArtanh, multiply(to, s, s));
  return add(to, multiply(to, e, like(to, 0.69314718055994530942, e)), multiply(to, s, sum));
}

// Two normally distributed numbers from u in (0, 1] and v in [0, 1) (Box and Muller 1958).
std::pair<Value, Value> box_muller(Writer& to, const Value& u, const Value& v) {
  static const auto kSine =
      coefficients_of<9>([](int k) { return signed_inverse_factorial(k, 2 * k + 1); });
  static const auto kCosine =
      coefficients_of<10>([](int k) { return signed_inverse_factorial(k, 2 * k); });
  const Value radius = unary(to, "sqrt", multiply(to, like(to, -2, u), natural_logarithm(to, u)));
  const Value turns = multiply(to, v, like(to, 4, v));
  const Value quarter = unary(to, "floor", add(to, turns, like(to, 0.5, v)));
  const Value x = multiply(to, subtract(to, turns, quarter), like(to, 1.57079632679489661923, v));
  const Value square = multiply(to, x, x);
  const Value s = multiply(to, x, series(to, kSine, square));
  const Value c = series(to, kCosine, square);
  const Value number = convert(to, quarter, DType::Int32);
  const Value quadrant = both(to, number, splat_int(to, 3, number.type));
  const auto is = [&](const char* direction, int64_t value) {
    return compare(to, direction, quadrant, splat_int(to, value, quadrant.type));
  };
  const Value odd = either(to, is("EQ", 1), is("EQ", 3));
  const Value sine = select(to, odd, c, s);
  const Value cosine = select(to, odd, s, c);
  const Value turned = either(to, is("EQ", 1), is("EQ", 2));
  return {multiply(to, radius, select(to, turned, unary(to, "negate", cosine), cosine)),
          multiply(to, radius, select(to, is("GE", 2), unary(to, "negate", sine), sine))};
}

// ---- numbers of a group from its words ----

Value bits_of(Writer&, const Value& words, DType) { return words; }

// As many bits as the significand holds, so that nothing rounds up to 1.
Value uniform_of(Writer& to, const Value& words, DType dtype) {
  if (dtype == DType::Float64) {
    Values columns;
    for (int64_t i = 0; i < 4; ++i) {
      const Value number =
          unit_double(to, word_at(to, words, 2 * i), word_at(to, words, 2 * i + 1));
      columns.push_back(reshape(to, number, {number.shape()[0], 1}));
    }
    return concatenate(to, columns, 1);
  }
  const int bits = dtype == DType::BFloat16 ? 8 : dtype == DType::Float16 ? 11 : 24;
  const Value kept = binary(to, "shift_right_logical", words, splat_int(to, 32 - bits, words.type));
  const Value number = convert(to, kept, DType::Float32);
  const Value unit = multiply(to, number, like(to, 1.0 / static_cast<double>(1 << bits), number));
  return convert(to, unit, dtype);
}

Value normal_of(Writer& to, const Value& words, DType dtype) {
  Values columns;
  for (int64_t pair = 0; pair < 2; ++pair) {
    Value u;
    Value v;
    if (dtype == DType::Float64) {
      u = unit_double(to, word_at(to, words, 4 * pair), word_at(to, words, 4 * pair + 1));
      u = add(to, u, like(to, 0x1p-53, u));
      v = unit_double(to, word_at(to, words, 4 * pair + 2), word_at(to, words, 4 * pair + 3));
    } else {
      u = convert(to, word_at(to, words, 2 * pair), DType::Float64);
      u = multiply(to, add(to, u, like(to, 1, u)), like(to, 0x1p-32, u));
      v = convert(to, word_at(to, words, 2 * pair + 1), DType::Float64);
      v = multiply(to, v, like(to, 0x1p-32, v));
    }
    const auto [first, second] = box_muller(to, u, v);
    for (const Value& number : {first, second}) {
      columns.push_back(reshape(to, number, {number.shape()[0], 1}));
    }
  }
  const Value numbers = concatenate(to, columns, 1);
  if (dtype == DType::Float64) return numbers;
  return convert(to, convert(to, numbers, DType::Float32), dtype);
}

using FromWords = Value (*)(Writer& to, const Value& words, DType dtype);

// Element i is number i of the key's sequence, or number offset + i with an offset operand.
Lower random_numbers(FromWords from_words) {
  return [from_words](const KernelSpec& spec, std::span<const Value> in, Writer& to) -> Values {
    const TensorType& type = spec.outputs[0];
    const int64_t count = type.shape.num_elements();
    if (count == 0) return {splat(to, 0, type)};
    const bool placed = in.size() > 1;
    const TensorType scalar{DType::Int64, {}};
    const Value first = placed ? reshape(to, in[1], {}) : splat_int(to, 0, scalar);
    const int64_t groups = (count + 3) / 4 + (placed ? 1 : 0);
    const int64_t blocks = type.dtype == DType::Float64 ? 2 : 1;
    const Value words = group_words(to, in[0], first, groups, blocks);
    const Value numbers = reshape(to, from_words(to, words, type.dtype), {4 * groups});
    if (!placed) return {reshape(to, slice_axis(to, numbers, 0, 0, count), type.shape)};
    const Value begin = binary(to, "remainder", first, splat_int(to, 4, scalar));
    const int64_t sizes[] = {count};
    const Value part = to.op("stablehlo.dynamic_slice", {numbers, begin}, {type.dtype, {count}},
                             "slice_sizes = " + array_text(sizes));
    return {reshape(to, part, type.shape)};
  };
}

// ---- permutations ----

// The high 64 bits of a product of 64-bit numbers.
Value high_product(Writer& to, const Value& a, const Value& b) {
  const auto shifted = [&](const Value& x) {
    return binary(to, "shift_right_logical", x, splat_int(to, 32, x.type));
  };
  const Value mask = splat_int(to, 0xFFFFFFFF, a.type);
  const Value a_low = both(to, a, mask);
  const Value b_low = both(to, b, mask);
  const Value middle =
      add(to, multiply(to, shifted(a), b_low), shifted(multiply(to, a_low, b_low)));
  const Value other = add(to, multiply(to, a_low, shifted(b)), both(to, middle, mask));
  return add(to, add(to, multiply(to, shifted(a), shifted(b)), shifted(middle)), shifted(other));
}

// The Fisher-Yates shuffle: for i = count - 1 down to 1, swaps i and below(i + 1), rejecting draws
// that would be biased (core/random.h). Each iteration is one draw.
Values lower_permutation(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t count = spec.attributes.get_int("count");
  const TensorType& type = spec.outputs[0];
  const TensorType number{DType::UInt64, {}};
  const TensorType line{DType::UInt64, {1}};
  const Values initial = {iota(to, type, 0), splat_int(to, count - 1, {DType::Int64, {}}),
                          splat_int(to, 0, number), in[0]};
  if (count < 2) return {initial[0]};
  const auto goes_on = [&](std::span<const Value> v) {
    return compare(to, "GT", v[1], splat_int(to, 0, v[1].type));
  };
  const auto draw = [&](std::span<const Value> v) -> Values {
    const Value one = splat_int(to, 1, number);
    const Value block = binary(to, "shift_right_logical", v[2], one);
    const Words words =
        philox(to, Key(to, v[3], 1), reshape(to, block, {1}), splat_int(to, 0, line));
    const Value second = compare(to, "EQ", both(to, v[2], one), one);
    const auto word = [&](size_t i) {
      const Value chosen = select(to, spread(to, second, {1}), words[i + 2], words[i]);
      return convert(to, reshape(to, chosen, {}), DType::UInt64);
    };
    const Value bits =
        either(to, binary(to, "shift_left", word(0), splat_int(to, 32, number)), word(1));
    const Value bound = add(to, convert(to, v[1], DType::UInt64), one);
    const Value low = multiply(to, bits, bound);
    const Value least = binary(to, "remainder", unary(to, "negate", bound), bound);
    const Value accepted = compare(to, "GE", low, least);
    // After a rejected draw, an element is swapped with itself.
    const Value drawn = convert(to, high_product(to, bits, bound), DType::Int64);
    const Value target = select(to, accepted, drawn, v[1]);
    const Value at_place = row(to, v[0], v[1]);
    const Value at_target = row(to, v[0], target);
    const Value swapped = with_row(to, with_row(to, v[0], at_target, v[1]), at_place, target);
    const Value next = subtract(to, v[1], splat_int(to, 1, v[1].type));
    return {swapped, select(to, accepted, next, v[1]), add(to, v[2], one), v[3]};
  };
  return {while_loop(to, initial, goes_on, draw)[0]};
}

}  // namespace

void register_random(LoweringTable& table) {
  table.add("random_bits", random_numbers(bits_of));
  table.add("random_uniform", random_numbers(uniform_of));
  table.add("random_normal", random_numbers(normal_of));
  table.add("random_permutation", lower_permutation);
  register_distributions(table);
}

}  // namespace cornu::xla
