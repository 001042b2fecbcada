// SPDX-License-Identifier: Apache-2.0
// Random numbers by rejection, as in the CPU's kernels: element i takes as many words as it needs
// from Philox's stream i + 1. All elements go through a common loop, which ends when the last one
// has its number.
#include <limits>
#include <numbers>

#include "framework/backends/xla/lower/philox.h"

namespace cornu::xla {
namespace {

// Numbers in (0, 1) by position in the elements' streams: two words each.
class Units {
 public:
  Units(Writer& to, const Value& key, const Value& stream, int64_t count)
      : to_(to), key_(to, key, count), stream_(stream) {}

  // `place`: uint64 by element.
  Value at(const Value& place) const {
    const Value one = like(to_, 1, place);
    const Value block = binary(to_, "shift_right_logical", place, one);
    const Words words = philox(to_, key_, block, stream_);
    const Value second = compare(to_, "EQ", both(to_, place, one), one);
    const Value unit = unit_double(to_, select(to_, second, words[2], words[0]),
                                   select(to_, second, words[3], words[1]));
    return add(to_, unit, like(to_, 0x1p-54, unit));
  }
  Value after(const Value& place, int64_t used) const {
    return add(to_, place, splat_int(to_, used, place.type));
  }

 private:
  Writer& to_;
  Key key_;
  Value stream_;
};

Value log_of(Writer& to, const Value& x) { return unary(to, "log", x); }
Value not_of_bits(Writer& to, const Value& x) { return unary(to, "not", x); }

// Repeats `draw` until all elements are done. The loop carries which elements are done, their
// results and their positions, followed by values that it doesn't change. Finished elements are
// left unchanged.
Values until_done(Writer& to, const Values& initial,
                  FunctionRef<Values(std::span<const Value> values)> draw) {
  const auto goes_on = [&](std::span<const Value> v) {
    const int64_t axes[] = {0};
    const Value all = reduce(to, "and", v[0], splat(to, 1, {DType::Bool, {}}), axes);
    return not_of_bits(to, all);
  };
  const auto turn = [&](std::span<const Value> v) -> Values {
    const Values next = draw(v);
    Values kept = {either(to, v[0], next[0])};
    for (size_t i = 1; i < next.size(); ++i) kept.push_back(select(to, v[0], v[i], next[i]));
    kept.insert(kept.end(), v.begin() + static_cast<int64_t>(next.size()), v.end());
    return kept;
  };
  return while_loop(to, initial, goes_on, turn);
}

// The inputs of an op's draws: operands as vectors of float64, and streams.
struct Draw {
  Draw(const KernelSpec& spec, std::span<const Value> in, size_t parameters, Writer& to)
      : count(spec.outputs[0].shape.num_elements()) {
    const TensorType numbers{DType::UInt64, {count}};
    stream = add(to, iota(to, numbers, 0), splat_int(to, 1, numbers));
    if (spec.attributes.find("placed") != nullptr) {
      const Value first = convert(to, reshape(to, in.back(), {1}), DType::UInt64);
      stream = add(to, stream, spread(to, first, {count}));
    }
    for (size_t i = 1; i <= parameters; ++i) {
      operands.push_back(convert(to, reshape(to, in[i], {count}), DType::Float64));
    }
  }
  int64_t count;
  Value stream;
  Values operands;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), for alpha >= 1.
Value large_gamma(Writer& to, const Value& key, const Draw& draw, const Value& alpha,
                  const Value& place) {
  const Value d = subtract(to, alpha, like(to, 1.0 / 3, alpha));
  const Value is_number = to.op("stablehlo.is_finite", {d}, {DType::Bool, d.shape()});
  const Values initial = {not_of_bits(to, is_number), alpha, place, d, draw.stream, key};
  return until_done(to, initial, [&](std::span<const Value> v) -> Values {
    const Units units(to, v[5], v[4], draw.count);
    const Value& size = v[3];
    const Value one = like(to, 1, size);
    const Value c = divide(to, one, unary(to, "sqrt", multiply(to, like(to, 9, size), size)));
    const Value radius =
        unary(to, "sqrt", multiply(to, like(to, -2, size), log_of(to, units.at(v[2]))));
    const Value angle =
        multiply(to, like(to, 2 * std::numbers::pi, size), units.at(units.after(v[2], 1)));
    const Value x = multiply(to, radius, unary(to, "cosine", angle));
    const Value root = add(to, one, multiply(to, c, x));
    const Value positive = compare(to, "GT", root, like(to, 0, root));
    const Value safe = select(to, positive, root, one);
    const Value cube = multiply(to, multiply(to, safe, safe), safe);
    const Value bound =
        add(to,
            subtract(to, add(to, multiply(to, multiply(to, like(to, 0.5, x), x), x), size),
                     multiply(to, size, cube)),
            multiply(to, size, log_of(to, cube)));
    const Value test = log_of(to, units.at(units.after(v[2], 2)));
    const Value taken = both(to, positive, compare(to, "LT", test, bound));
    return {taken, multiply(to, size, cube),
            select(to, positive, units.after(v[2], 3), units.after(v[2], 2))};
  })[1];
}

Values lower_gamma(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.shape.num_elements() == 0) return {splat(to, 0, type)};
  const bool logarithm = spec.attributes.get_bool("log");
  const Draw draw(spec, in, 1, to);
  const Value& alpha = draw.operands[0];
  const Value zero = like(to, 0, alpha);
  const Value one = like(to, 1, alpha);
  const Value valid = compare(to, "GT", alpha, zero);
  const Value small = both(to, valid, compare(to, "LT", alpha, one));
  const Value start = splat_int(to, 0, draw.stream.type);
  const Value first = Units(to, in[0], draw.stream, draw.count).at(start);
  // Scales a number for alpha + 1. The logarithm doesn't underflow for small values.
  const Value safe = select(to, small, alpha, one);
  const Value scale = logarithm ? divide(to, log_of(to, first), safe)
                                : binary(to, "power", first, divide(to, one, safe));
  const Value larger = select(to, valid, select(to, small, add(to, alpha, one), alpha), one);
  const Value gamma = large_gamma(to, in[0], draw, larger, convert(to, small, DType::UInt64));
  const Value plain = logarithm ? log_of(to, gamma) : gamma;
  const Value scaled = logarithm ? add(to, plain, scale) : multiply(to, plain, scale);
  const Value nan = like(to, std::numeric_limits<double>::quiet_NaN(), alpha);
  const Value result = select(to, valid, select(to, small, scaled, plain), nan);
  return {reshape(to, convert(to, result, type.dtype), type.shape)};
}

// log(k!) minus Stirling's approximation.
Value stirling_error(Writer& to, const Value& k) {
  constexpr double kSmall[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
                               0.0207906721037650, 0.0166446911898211, 0.0138761288230707,
                               0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
                               0.00833056343336287};
  const auto number = [&](double value) { return like(to, value, k); };
  const Value inverse = divide(to, number(1), add(to, k, number(1)));
  const Value squared = multiply(to, inverse, inverse);
  const Value inner = subtract(to, number(1.0 / 360), divide(to, squared, number(1260)));
  Value result =
      multiply(to, subtract(to, number(1.0 / 12), multiply(to, inner, squared)), inverse);
  for (int i = 0; i < 10; ++i) {
    result = select(to, compare(to, "EQ", k, number(i)), number(kSmall[i]), result);
  }
  return result;
}

// By the geometrically distributed gaps between successes; for few expected successes.
Value binomial_by_gaps(Writer& to, const Value& key, const Draw& draw, const Value& idle,
                       const Value& n, const Value& p) {
  const Value scale = unary(to, "log_plus_one", unary(to, "negate", p));
  const Value zero = like(to, 0, n);
  const Values initial = {idle,        zero, splat_int(to, 0, draw.stream.type), zero, n, scale,
                          draw.stream, key};
  return until_done(to, initial, [&](std::span<const Value> v) -> Values {
    const Units units(to, v[7], v[6], draw.count);
    const Value gap = unary(to, "ceil", divide(to, log_of(to, units.at(v[2])), v[5]));
    const Value trials = add(to, v[3], gap);
    const Value inside = compare(to, "LE", trials, v[4]);
    const Value more = select(to, inside, add(to, v[1], like(to, 1, v[1])), v[1]);
    return {not_of_bits(to, inside), more, units.after(v[2], 1), trials};
  })[1];
}

// BTRS of Hoermann, "The generation of binomial random variates" (1993), for p <= 1/2, n p >= 10.
Value binomial_by_rejection(Writer& to, const Value& key, const Draw& draw, const Value& idle,
                            const Value& n_operand, const Value& p_operand) {
  const Values initial = {idle,
                          like(to, 0, n_operand),
                          splat_int(to, 0, draw.stream.type),
                          n_operand,
                          p_operand,
                          draw.stream,
                          key};
  return until_done(to, initial, [&](std::span<const Value> values) -> Values {
    const Units units(to, values[6], values[5], draw.count);
    const Value& n = values[3];
    const Value& p = values[4];
    const auto number = [&](double value) { return like(to, value, n); };
    const auto plus = [&](const Value& a, const Value& b) { return add(to, a, b); };
    const auto less = [&](const Value& a, const Value& b) { return subtract(to, a, b); };
    const auto times = [&](const Value& a, const Value& b) { return multiply(to, a, b); };
    const auto over = [&](const Value& a, const Value& b) { return divide(to, a, b); };
    const Value np = times(n, p);
    const Value rest = less(number(1), p);
    const Value deviation = unary(to, "sqrt", times(np, rest));
    const Value b = plus(number(1.15), times(number(2.53), deviation));
    const Value a = plus(plus(number(-0.0873), times(number(0.0248), b)), times(number(0.01), p));
    const Value c = plus(np, number(0.5));
    const Value box = less(number(0.92), over(number(4.2), b));
    const Value odds = over(p, rest);
    const Value alpha = times(plus(number(2.83), over(number(5.1), b)), deviation);
    const Value mode = unary(to, "floor", times(plus(n, number(1)), p));
    const Value u = less(units.at(values[2]), number(0.5));
    const Value v = units.at(units.after(values[2], 1));
    const Value us = less(number(0.5), unary(to, "abs", u));
    const Value slope = plus(over(times(number(2), a), us), b);
    const Value k = unary(to, "floor", plus(times(slope, u), c));
    const Value inside = both(to, compare(to, "GE", k, number(0)), compare(to, "LE", k, n));
    const Value quick = both(to, compare(to, "GE", us, number(0.07)), compare(to, "LE", v, box));
    const Value safe = select(to, inside, k, number(0));
    const Value beyond_mode = plus(less(n, mode), number(1));
    const Value beyond = plus(less(n, safe), number(1));
    Value bound = times(plus(mode, number(0.5)),
                        log_of(to, over(plus(mode, number(1)), times(odds, beyond_mode))));
    bound = plus(bound, times(plus(n, number(1)), log_of(to, over(beyond_mode, beyond))));
    bound = plus(bound, times(plus(safe, number(0.5)),
                              log_of(to, over(times(odds, beyond), plus(safe, number(1))))));
    bound = plus(bound, stirling_error(to, mode));
    bound = plus(bound, stirling_error(to, less(n, mode)));
    bound = less(bound, stirling_error(to, safe));
    bound = less(bound, stirling_error(to, less(n, safe)));
    const Value height = plus(over(a, times(us, us)), b);
    const Value test = log_of(to, over(times(v, alpha), height));
    const Value taken = either(to, quick, compare(to, "LE", test, bound));
    return {both(to, inside, taken), safe, units.after(values[2], 2)};
  })[1];
}

Values lower_binomial(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.shape.num_elements() == 0) return {splat(to, 0, type)};
  const Draw draw(spec, in, 2, to);
  const Value& p = draw.operands[1];
  const Value zero = like(to, 0, p);
  const Value one = like(to, 1, p);
  const Value finite = to.op("stablehlo.is_finite", {draw.operands[0]}, {DType::Bool, p.shape()});
  const Value valid = both(to, both(to, finite, compare(to, "GE", draw.operands[0], zero)),
                           both(to, compare(to, "GE", p, zero), compare(to, "LE", p, one)));
  const Value n = unary(to, "floor", select(to, valid, draw.operands[0], zero));
  const Value mirrored = compare(to, "GT", p, like(to, 0.5, p));
  const Value rarer = select(to, valid, select(to, mirrored, subtract(to, one, p), p), zero);
  const Value nothing = either(to, compare(to, "EQ", n, zero), compare(to, "EQ", rarer, zero));
  const Value few = compare(to, "LT", multiply(to, n, rarer), like(to, 10, n));
  const Value by_gaps =
      binomial_by_gaps(to, in[0], draw, either(to, nothing, not_of_bits(to, few)), n, rarer);
  const Value rejected = either(to, nothing, few);
  const Value by_rejection = binomial_by_rejection(to, in[0], draw, rejected, n, rarer);
  const Value drawn = select(to, few, by_gaps, by_rejection);
  const Value successes = select(to, nothing, zero, drawn);
  const Value result = select(to, mirrored, subtract(to, n, successes), successes);
  const Value nan = like(to, std::numeric_limits<double>::quiet_NaN(), p);
  return {reshape(to, convert(to, select(to, valid, result, nan), type.dtype), type.shape)};
}

}  // namespace

void register_distributions(LoweringTable& table) {
  table.add("random_gamma", lower_gamma);
  table.add("random_binomial", lower_binomial);
}

}  // namespace cornu::xla
