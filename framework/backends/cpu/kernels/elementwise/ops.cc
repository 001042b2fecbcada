// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/ops.h"

#include <algorithm>
#include <iterator>

namespace cornu::cpu {
namespace {

struct Named {
  std::string_view name;
  TileOp op;
};

constexpr Named kNames[] = {
    {"identity", TileOp::Copy},
    {"stop_gradient", TileOp::Copy},
    {"negate", TileOp::Negate},
    {"abs", TileOp::Abs},
    {"sign", TileOp::Sign},
    {"exp", TileOp::Exp},
    {"exp2", TileOp::Exp2},
    {"expm1", TileOp::Expm1},
    {"log", TileOp::Log},
    {"log1p", TileOp::Log1p},
    {"sqrt", TileOp::Sqrt},
    {"rsqrt", TileOp::Rsqrt},
    {"square", TileOp::Square},
    {"reciprocal", TileOp::Reciprocal},
    {"sin", TileOp::Sin},
    {"cos", TileOp::Cos},
    {"tan", TileOp::Tan},
    {"asin", TileOp::Asin},
    {"acos", TileOp::Acos},
    {"atan", TileOp::Atan},
    {"sinh", TileOp::Sinh},
    {"cosh", TileOp::Cosh},
    {"tanh", TileOp::Tanh},
    {"erf", TileOp::Erf},
    {"erfc", TileOp::Erfc},
    {"erf_inv", TileOp::ErfInv},
    {"floor", TileOp::Floor},
    {"ceil", TileOp::Ceil},
    {"round", TileOp::Round},
    {"relu", TileOp::Relu},
    {"sigmoid", TileOp::Sigmoid},
    {"logical_not", TileOp::LogicalNot},
    {"is_nan", TileOp::IsNan},
    {"is_inf", TileOp::IsInf},
    {"is_finite", TileOp::IsFinite},
    {"add", TileOp::Add},
    {"subtract", TileOp::Subtract},
    {"multiply", TileOp::Multiply},
    {"divide", TileOp::Divide},
    {"maximum", TileOp::Maximum},
    {"minimum", TileOp::Minimum},
    {"power", TileOp::Power},
    {"floor_divide", TileOp::FloorDivide},
    {"mod", TileOp::Mod},
    {"atan2", TileOp::Atan2},
    {"logical_and", TileOp::LogicalAnd},
    {"logical_or", TileOp::LogicalOr},
    {"logical_xor", TileOp::LogicalXor},
    {"bitwise_and", TileOp::BitwiseAnd},
    {"bitwise_or", TileOp::BitwiseOr},
    {"bitwise_xor", TileOp::BitwiseXor},
    {"left_shift", TileOp::LeftShift},
    {"right_shift", TileOp::RightShift},
    {"equal", TileOp::Equal},
    {"not_equal", TileOp::NotEqual},
    {"less", TileOp::Less},
    {"less_equal", TileOp::LessEqual},
    {"greater", TileOp::Greater},
    {"greater_equal", TileOp::GreaterEqual},
    {"select", TileOp::Select},
};

}  // namespace

std::optional<TileOp> tile_op(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Named& entry) { return entry.name == name; });
  if (found == std::end(kNames)) return std::nullopt;
  return found->op;
}

std::vector<std::string_view> tile_op_names() {
  std::vector<std::string_view> names;
  for (const Named& entry : kNames) names.push_back(entry.name);
  return names;
}

TileFn tile_function(TileOp op, DType operand_dtype) {
  if (op == TileOp::Select) {
    const TileFn function = select_tile(operand_dtype);
    return function ? function : plain_select_tile(operand_dtype);
  }
  TileFn function =
      is_binary(op) ? float_binary_tile(op, operand_dtype) : float_unary_tile(op, operand_dtype);
  return function ? function : plain_tile(op, operand_dtype);
}

TileFn cast_tile(DType from, DType to) {
  const TileFn function = float_cast_tile(from, to);
  return function ? function : plain_cast_tile(from, to);
}

void convert(TileFn cast, const void* from, void* to, int64_t count) {
  TileArgs args;
  args.operand[0].data = from;
  args.operand[1].data = to;
  args.count = 2;
  cast(args, static_cast<size_t>(count));
}

double tile_cost(TileOp op, DType dtype) {
  const double width = static_cast<double>(size_of(dtype)) / 4;
  switch (op) {
    case TileOp::Sqrt:
    case TileOp::Divide:
    case TileOp::Reciprocal:
      return 0.15 * width;
    case TileOp::Rsqrt:
    case TileOp::Exp:
    case TileOp::Exp2:
    case TileOp::Expm1:
    case TileOp::Log:
    case TileOp::Sigmoid:
    case TileOp::Sin:
    case TileOp::Cos:
    case TileOp::Asin:
    case TileOp::Acos:
    case TileOp::Atan:
    case TileOp::Erf:
      return 0.3 * width;
    case TileOp::Log1p:
    case TileOp::Tan:
    case TileOp::Sinh:
    case TileOp::Cosh:
    case TileOp::Tanh:
      return 0.5 * width;
    case TileOp::Erfc:
    case TileOp::ErfInv:
      return 1.3;
    case TileOp::Power:
    case TileOp::Atan2:
      return 2;
    case TileOp::Mod:
    case TileOp::FloorDivide:
      return is_floating(dtype) ? 0.5 * width : 2;
    default:
      return 0.05 * width;
  }
}

}  // namespace cornu::cpu
