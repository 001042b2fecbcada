// SPDX-License-Identifier: Apache-2.0
// Definitions of the elementwise ops.
#include <cmath>
#include <numbers>

#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

enum class Domain { Any, Numbers, Reals, Bools, Integers };

void require_domain(const TensorType& type, Domain domain, std::string_view op) {
  switch (domain) {
    case Domain::Any:
      return;
    case Domain::Integers:
      return check<InvalidArgument>(
          is_integer(type.dtype),
          "{}: expected integers, got {} of shape {}. Cast it first, for example with "
          "ops::cast(x, DType::Int32).",
          op, type.dtype, type.shape);
    case Domain::Reals:
      return require_floating(type, op);
    case Domain::Numbers:
      return check<InvalidArgument>(
          type.dtype != DType::Bool,
          "{}: expected numbers, got bool of shape {}. Cast it first, for "
          "example with ops::cast(x, DType::Int32).",
          op, type.shape);
    case Domain::Bools:
      return check<InvalidArgument>(type.dtype == DType::Bool,
                                    "{}: expected bool, got {} of shape {}. Compare it first, for "
                                    "example with ops::not_equal(x, 0).",
                                    op, type.dtype, type.shape);
  }
}

InferFunction infer_unary(std::string op, Domain domain, bool to_bool) {
  return [=](TypeSpan inputs, const Attributes&) -> Types {
    require_inputs(inputs, 1, op);
    require_domain(inputs[0], domain, op);
    return {{to_bool ? DType::Bool : inputs[0].dtype, inputs[0].shape}};
  };
}

InferFunction infer_binary(std::string op, Domain domain, bool to_bool) {
  return [=](TypeSpan inputs, const Attributes&) -> Types {
    require_inputs(inputs, 2, op);
    require_same_dtype(inputs, op);
    require_domain(inputs[0], domain, op);
    return {{to_bool ? DType::Bool : inputs[0].dtype,
             broadcast_shapes(inputs[0].shape, inputs[1].shape, op)}};
  };
}

// ---- gradients of unary ops ----

using Context = VjpContext;

// dy, x and y of a unary op.
struct Unary {
  explicit Unary(const Context& context)
      : dy(context.gradient()), x(context.in(0)), y(context.out()) {}
  const Tensor& dy;
  const Tensor& x;
  const Tensor& y;
};

using UnaryRule = Tensor (*)(const Unary&);

struct UnaryOp {
  const char* name;
  Domain domain;
  UnaryRule rule;  // null: gradients stop here
};

const double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

const UnaryOp kUnaryOps[] = {
    {"negate", Domain::Numbers, [](const Unary& u) { return -u.dy; }},
    {"abs", Domain::Numbers, [](const Unary& u) { return u.dy * sign(u.x); }},
    {"sign", Domain::Numbers, nullptr},
    {"floor", Domain::Reals, nullptr},
    {"ceil", Domain::Reals, nullptr},
    {"round", Domain::Reals, nullptr},
    {"exp", Domain::Reals, [](const Unary& u) { return u.dy * u.y; }},
    {"exp2", Domain::Reals, [](const Unary& u) { return u.dy * (u.y * std::numbers::ln2); }},
    {"expm1", Domain::Reals, [](const Unary& u) { return u.dy * (u.y + 1); }},
    {"log", Domain::Reals, [](const Unary& u) { return u.dy / u.x; }},
    {"log1p", Domain::Reals, [](const Unary& u) { return u.dy / (u.x + 1); }},
    {"sqrt", Domain::Reals, [](const Unary& u) { return u.dy * 0.5 / u.y; }},
    {"rsqrt", Domain::Reals, [](const Unary& u) { return u.dy * -0.5 * u.y * square(u.y); }},
    {"square", Domain::Numbers, [](const Unary& u) { return u.dy * (u.x * 2); }},
    {"reciprocal", Domain::Reals, [](const Unary& u) { return -u.dy * square(u.y); }},
    {"sin", Domain::Reals, [](const Unary& u) { return u.dy * cos(u.x); }},
    {"cos", Domain::Reals, [](const Unary& u) { return -u.dy * sin(u.x); }},
    {"tan", Domain::Reals, [](const Unary& u) { return u.dy * (square(u.y) + 1); }},
    {"asin", Domain::Reals, [](const Unary& u) { return u.dy * rsqrt(1 - square(u.x)); }},
    {"acos", Domain::Reals, [](const Unary& u) { return -u.dy * rsqrt(1 - square(u.x)); }},
    {"atan", Domain::Reals, [](const Unary& u) { return u.dy / (square(u.x) + 1); }},
    {"sinh", Domain::Reals, [](const Unary& u) { return u.dy * cosh(u.x); }},
    {"cosh", Domain::Reals, [](const Unary& u) { return u.dy * sinh(u.x); }},
    {"tanh", Domain::Reals, [](const Unary& u) { return u.dy * (1 - square(u.y)); }},
    {"erf", Domain::Reals,
     [](const Unary& u) { return u.dy * (kTwoOverSqrtPi * exp(-square(u.x))); }},
    {"erfc", Domain::Reals,
     [](const Unary& u) { return u.dy * (-kTwoOverSqrtPi * exp(-square(u.x))); }},
    {"erf_inv", Domain::Reals,
     [](const Unary& u) { return u.dy * (exp(square(u.y)) / kTwoOverSqrtPi); }},
    {"relu", Domain::Numbers, [](const Unary& u) { return where(u.y > 0, u.dy, 0); }},
    {"sigmoid", Domain::Reals, [](const Unary& u) { return u.dy * (u.y * (1 - u.y)); }},
    {"identity", Domain::Any, [](const Unary& u) { return u.dy; }},
    {"stop_gradient", Domain::Any, nullptr},
};

void register_unary(OpRegistry& registry) {
  for (const UnaryOp& op : kUnaryOps) {
    VjpFunction vjp;
    if (const UnaryRule rule = op.rule) {
      vjp = [rule](const Context& context) { return std::vector<Tensor>{rule(Unary(context))}; };
    }
    registry.add({.name = op.name,
                  .infer = infer_unary(op.name, op.domain, false),
                  .vjp = std::move(vjp),
                  .traits = {.elementwise = true,
                             .differentiable = op.rule != nullptr,
                             .view = op.domain == Domain::Any}});
  }
  for (const char* name : {"is_nan", "is_inf", "is_finite", "logical_not"}) {
    const bool of_bool = std::string_view(name) == "logical_not";
    registry.add({.name = name,
                  .infer = infer_unary(name, of_bool ? Domain::Bools : Domain::Reals, true),
                  .vjp = {},
                  .traits = {.elementwise = true, .differentiable = false}});
  }
}

// ---- gradients of binary ops ----

struct Binary {
  explicit Binary(const Context& context)
      : dy(context.gradient()), a(context.in(0)), b(context.in(1)), y(context.out()) {}
  const Tensor& dy;
  const Tensor& a;
  const Tensor& b;
  const Tensor& y;
};

using BinaryRule = Tensor (*)(const Binary&);

struct BinaryOp {
  const char* name;
  bool commutative;
  BinaryRule rules[2];  // by operand; null: gradients stop here
};

// The exponent decreases by one. For an exponent of 0 the power is constantly 1, even for a base of
// 0, so the gradient is 0.
Tensor power_base(const Binary& v) {
  return v.dy * (v.b * power(v.a, where(equal(v.b, 0), 1, v.b - 1)));
}

// log(base), where it is defined.
Tensor power_exponent(const Binary& v) {
  const Tensor positive = v.a > 0;
  return v.dy * (v.y * where(positive, log(where(positive, v.a, 1)), 0));
}

Tensor squared_radius(const Binary& v) { return square(v.a) + square(v.b); }

// For equal operands, maximum and minimum pass the gradient to the first one, as TensorFlow does.
const BinaryOp kBinaryOps[] = {
    {"add", true, {[](const Binary& v) { return v.dy; }, [](const Binary& v) { return v.dy; }}},
    {"subtract",
     false,
     {[](const Binary& v) { return v.dy; }, [](const Binary& v) { return -v.dy; }}},
    {"multiply",
     true,
     {[](const Binary& v) { return v.dy * v.b; }, [](const Binary& v) { return v.dy * v.a; }}},
    {"divide",
     false,
     {[](const Binary& v) { return v.dy / v.b; },
      [](const Binary& v) { return v.dy * (-v.y / v.b); }}},
    {"maximum",
     true,
     {[](const Binary& v) { return where(v.a >= v.b, v.dy, 0); },
      [](const Binary& v) { return where(v.a >= v.b, 0, v.dy); }}},
    {"minimum",
     true,
     {[](const Binary& v) { return where(v.a <= v.b, v.dy, 0); },
      [](const Binary& v) { return where(v.a <= v.b, 0, v.dy); }}},
    {"power", false, {power_base, power_exponent}},
    {"floor_divide", false, {nullptr, nullptr}},
    {"mod",
     false,
     {[](const Binary& v) { return v.dy; },
      [](const Binary& v) { return -v.dy * floor_divide(v.a, v.b); }}},
    {"atan2",
     false,
     {[](const Binary& v) { return v.dy * (v.b / squared_radius(v)); },
      [](const Binary& v) { return v.dy * (-v.a / squared_radius(v)); }}},
};

void register_binary(OpRegistry& registry) {
  for (const BinaryOp& op : kBinaryOps) {
    const bool real = op.name == std::string_view("divide") || op.name == std::string_view("atan2");
    VjpFunction vjp;
    if (op.rules[0]) {
      vjp = [rules = op.rules](const Context& context) {
        const Binary operands(context);
        std::vector<Tensor> gradients(2);
        for (size_t i = 0; i < 2; ++i) {
          if (!context.needed[i]) continue;
          gradients[i] = sum_to_shape(rules[i](operands), context.in(i).shape());
        }
        return gradients;
      };
    }
    registry.add({.name = op.name,
                  .infer = infer_binary(op.name, real ? Domain::Reals : Domain::Numbers, false),
                  .vjp = std::move(vjp),
                  .traits = {.elementwise = true,
                             .commutative = op.commutative,
                             .differentiable = op.rules[0] != nullptr}});
  }
}

void register_predicates(OpRegistry& registry) {
  using Strings = OpTraits::Strings;
  auto add = [&](const char* name, Domain domain, bool commutative,
                 Strings strings = Strings::Refused) {
    registry.add({.name = name,
                  .infer = infer_binary(name, domain, true),
                  .vjp = {},
                  .traits = {.elementwise = true,
                             .commutative = commutative,
                             .differentiable = false,
                             .strings = strings}});
  };
  for (const char* name : {"equal", "not_equal"}) add(name, Domain::Any, true, Strings::Compared);
  for (const char* name : {"less", "less_equal", "greater", "greater_equal"}) {
    add(name, Domain::Any, false);
  }
  for (const char* name : {"logical_and", "logical_or", "logical_xor"}) {
    add(name, Domain::Bools, true);
  }
}

// Integers have no gradients.
void register_bitwise(OpRegistry& registry) {
  for (const char* name :
       {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}) {
    const bool is_shift = std::string_view(name).ends_with("shift");
    registry.add(
        {.name = name,
         .infer = infer_binary(name, Domain::Integers, false),
         .vjp = {},
         .traits = {.elementwise = true, .commutative = !is_shift, .differentiable = false}});
  }
}

// ---- select and cast ----

Types infer_select(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 3, "select");
  require_domain(inputs[0], Domain::Bools, "select");
  require_same_dtype(inputs.subspan(1), "select");
  const Shape branches = broadcast_shapes(inputs[1].shape, inputs[2].shape, "select");
  return {{inputs[1].dtype, broadcast_shapes(inputs[0].shape, branches, "select")}};
}

std::vector<Tensor> vjp_select(const Context& context) {
  const Tensor& condition = context.in(0);
  const Tensor& dy = context.gradient();
  std::vector<Tensor> gradients(3);
  if (context.needed[1]) {
    gradients[1] = sum_to_shape(where(condition, dy, 0), context.in(1).shape());
  }
  if (context.needed[2]) {
    gradients[2] = sum_to_shape(where(condition, 0, dy), context.in(2).shape());
  }
  return gradients;
}

Types infer_cast(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "cast");
  return {{attributes.get_dtype("dtype"), inputs[0].shape}};
}

Tensor vjp_cast(const Context& context) {
  const DType from = context.in(0).dtype();
  return is_floating(from) ? cast(context.gradient(), from) : Tensor();
}

}  // namespace

void register_elementwise(OpRegistry& registry) {
  register_unary(registry);
  register_binary(registry);
  register_predicates(registry);
  register_bitwise(registry);
  registry.add({.name = "select",
                .infer = infer_select,
                .vjp = vjp_select,
                .traits = {.elementwise = true, .strings = OpTraits::Strings::Moved}});
  registry.add({.name = "cast",
                .infer = infer_cast,
                .vjp = single(vjp_cast),
                .traits = {.elementwise = true}});
}

}  // namespace cornu::ops
