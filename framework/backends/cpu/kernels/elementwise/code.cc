// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/code.h"

#include <algorithm>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/chain.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/graph/graph.h"
#include "framework/graph/passes/elementwise_groups.h"

namespace cornu::cpu {
namespace {

// A graph value in tile code. A 16-bit floating-point value may have two forms: as stored, and as
// float32; for others both are the same value.
struct Forms {
  DType dtype = DType::Float32;
  int stored = -1;
  int wide = -1;
};

// The value of a constant of one element.
std::optional<double> constant_of(const TileCode& code, int value) {
  const TileValue& constant = code.values[size_t(value)];
  if (constant.source != TileValue::Source::Constant) return std::nullopt;
  const Tensor& tensor = code.constants[size_t(constant.index)];
  if (tensor.num_elements() != 1) return std::nullopt;
  return tensor.item<double>();
}

class Lowering {
 public:
  Forms input(int index, DType dtype) {
    return ordinary(dtype,
                    code_.add_value({TileValue::Source::Input, index, dtype, TileStage::Tile}));
  }

  // Returns false if the node has no tile function. `read`: whether other nodes, which compute in
  // float32, read the result.
  bool node(const OpDef& op, const Attributes& attributes, bool read, std::span<Forms> in,
            Forms& out) {
    if (op.name == "constant") {
      const Tensor& value = attributes.get_tensor("value");
      out = ordinary(value.dtype(), code_.add_constant(value));
      return true;
    }
    if (op.name == "cast") {
      out = cast(in[0], attributes.get_dtype("dtype"));
      return true;
    }
    const std::optional<TileOp> tile = tile_op(op.name);
    if (!tile) return false;
    if (*tile == TileOp::Copy) {
      out = in[0];
      return true;
    }
    if (*tile == TileOp::Select && !read && is_stored_half(in[1]) && is_stored_half(in[2])) {
      const int chosen = emit(*tile, {in[0].stored, in[1].stored, in[2].stored});
      out = {in[1].dtype, chosen, -1};
      return true;
    }
    std::vector<int> operands;
    for (Forms& form : in) operands.push_back(wide(form));
    const int result = emit(simplified(*tile, operands), operands);
    if (result < 0) return false;
    const DType dtype = gives_bool(*tile) ? DType::Bool : in.back().dtype;
    out = is_half(dtype) ? Forms{dtype, -1, result} : Forms{dtype, result, result};
    return true;
  }

  void output(Forms& form) {
    int value = stored(form);
    if (code_.values[size_t(value)].source != TileValue::Source::Instruction ||
        code_.is_output(value)) {
      std::vector<int> operands = {value};
      value = emit(TileOp::Copy, operands);
    }
    code_.outputs.push_back(value);
    code_.accumulators.push_back(-1);
  }

  // Adds a sum, of float32 or float64.
  void sum(const Forms& of) {
    const auto index = static_cast<int>(code_.outputs.size());
    const int accumulator =
        code_.add_value({TileValue::Source::Accumulator, index, of.dtype, TileStage::Tile});
    const std::vector<int> operands = {accumulator, of.stored};
    code_.outputs.push_back(emit(TileOp::Add, operands));
    code_.accumulators.push_back(accumulator);
  }

  TileCode take() { return std::move(code_); }

 private:
  static Forms ordinary(DType dtype, int value) {
    return {dtype, value, is_half(dtype) ? -1 : value};
  }

  static bool is_stored_half(const Forms& form) { return is_half(form.dtype) && form.stored >= 0; }

  DType dtype_of_value(int value) const { return code_.values[size_t(value)].dtype; }

  int emit_cast(int value, DType to) {
    const DType from = dtype_of_value(value);
    const int out = code_.add_value({TileValue::Source::Instruction, -1, to, TileStage::Tile});
    code_.instructions.push_back({cast_tile(from, to), {}, from, {value}, out, 0.05, {}});
    return out;
  }

  int wide(Forms& form) {
    if (form.wide < 0) form.wide = emit_cast(form.stored, DType::Float32);
    return form.wide;
  }
  int stored(Forms& form) {
    if (form.stored < 0) form.stored = emit_cast(form.wide, form.dtype);
    return form.stored;
  }

  Forms cast(Forms& from, DType to) {
    if (from.dtype == to) return from;
    const int value = wide(from);
    if (is_half(to)) {
      const bool is_float32 = dtype_of_value(value) == DType::Float32;
      const int as_float32 = is_float32 ? value : emit_cast(value, DType::Float32);
      return {to, emit_cast(as_float32, to), -1};
    }
    const int result = dtype_of_value(value) == to ? value : emit_cast(value, to);
    return {to, result, result};
  }

  // Simplifies powers with a small constant exponent. `operands` keeps those of the new operation.
  TileOp simplified(TileOp op, std::vector<int>& operands) const {
    if (op != TileOp::Power || !is_floating(dtype_of_value(operands[1]))) return op;
    const auto value = constant_of(code_, operands[1]);
    if (value != 1 && value != 2 && value != -1) return op;
    operands.pop_back();
    return value == 1 ? TileOp::Copy : value == 2 ? TileOp::Square : TileOp::Reciprocal;
  }

  // Returns -1 when there is no tile function.
  int emit(TileOp op, const std::vector<int>& operands) {
    const DType operand_dtype = dtype_of_value(operands.back());
    const TileFn function = tile_function(op, operand_dtype);
    if (!function) return -1;
    const DType dtype = gives_bool(op) ? DType::Bool : operand_dtype;
    const int out = code_.add_value({TileValue::Source::Instruction, -1, dtype, TileStage::Tile});
    code_.instructions.push_back(
        {function, op, operand_dtype, operands, out, tile_cost(op, operand_dtype), {}});
    return out;
  }

  TileCode code_;
};

// Lowers a body; false when it has an op without a tile function.
bool lower_body(Lowering& lowering, const Graph& body) {
  std::vector<Forms> forms(body.types.size());
  std::vector<ValueId> summed(body.types.size(), -1);
  std::vector<bool> read(body.types.size());
  for (const Node& node : body.nodes) {
    for (const ValueId id : node.inputs) read[size_t(id)] = true;
  }
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const ValueId id = body.inputs[i];
    forms[size_t(id)] = lowering.input(static_cast<int>(i), body.type(id).dtype);
  }
  for (const Node& node : body.nodes) {
    if (node.is("reduce_sum")) {
      summed[size_t(node.outputs[0])] = node.inputs[0];
      continue;
    }
    std::vector<Forms> in;
    for (const ValueId id : node.inputs) in.push_back(forms[size_t(id)]);
    const auto out = static_cast<size_t>(node.outputs[0]);
    if (!lowering.node(*node.op, node.attributes, read[out], in, forms[out])) return false;
    // Keeps conversions for later readers.
    for (size_t i = 0; i < in.size(); ++i) forms[size_t(node.inputs[i])] = in[i];
  }
  for (const ValueId id : body.outputs) {
    if (const ValueId of = summed[size_t(id)]; of >= 0) {
      lowering.sum(forms[size_t(of)]);
    } else {
      lowering.output(forms[size_t(id)]);
    }
  }
  return true;
}

// Sets the shape of a body's arrays and the columns of its sums; false where shapes differ.
bool find_shape(TileCode& code, const Graph& body) {
  bool known = false;
  auto same = [&](const Shape& shape) {
    if (!std::exchange(known, true)) code.shape = shape;
    return code.shape == shape;
  };
  for (const Node& node : body.nodes) {
    if (!node.is("reduce_sum")) continue;
    const TensorType& type = body.type(node.inputs[0]);
    const auto columns = passes::summed_columns(type.shape, node.attributes.get_ints("axes"));
    if (!columns || !has_chains(type.dtype) || !same(type.shape)) return false;
    code.columns = std::max(code.columns, *columns);
  }
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (!code.is_sum(i) && !same(body.type(body.outputs[i]).shape)) return false;
  }
  return true;
}

// By value: how many instructions and outputs read it.
std::vector<int> count_uses(const TileCode& code) {
  std::vector<int> uses(code.values.size());
  for (const TileInstruction& instruction : code.instructions) {
    for (const int value : instruction.in) ++uses[size_t(value)];
  }
  for (const int value : code.outputs) ++uses[size_t(value)];
  return uses;
}

void remove_dead(TileCode& code) {
  std::vector<int> uses = count_uses(code);
  std::vector<TileInstruction> kept;
  for (size_t i = code.instructions.size(); i-- > 0;) {
    TileInstruction& instruction = code.instructions[i];
    if (uses[size_t(instruction.out)] > 0) {
      kept.push_back(std::move(instruction));
    } else {
      for (const int value : instruction.in) --uses[size_t(value)];
    }
  }
  std::reverse(kept.begin(), kept.end());
  code.instructions = std::move(kept);
}

// Turns a select, or a cast to a floating dtype, of a comparison of that dtype into
// select(compare(a, b), c, d).
void join_comparison(TileCode& code, TileInstruction& user, const TileInstruction& comparison) {
  const DType dtype = code.values[size_t(user.out)].dtype;
  if (!comparison.op || !is_compare(*comparison.op) || comparison.operand_dtype != dtype) return;
  if (dtype != DType::Float32 && dtype != DType::Float64) return;
  std::vector<int> in = comparison.in;
  if (user.op == TileOp::Select) {
    in.insert(in.end(), user.in.begin() + 1, user.in.end());
  } else if (!user.op) {
    const bool is_double = dtype == DType::Float64;
    for (const int number : {1, 0}) {
      in.push_back(code.add_constant(is_double ? Tensor::scalar<double>(number)
                                               : Tensor::scalar(static_cast<float>(number))));
      code.values.back().stage = TileStage::Run;
    }
  } else {
    return;
  }
  user = {nullptr, TileOp::Select, dtype, std::move(in), user.out, 2 * user.cost, comparison.op};
}

// Whether an element of relu's result compares with `limit` as the element of its operand does.
bool sees_through_relu(TileOp compare, bool relu_first, double limit) {
  if (compare == TileOp::Equal || compare == TileOp::NotEqual) return false;
  const bool zero_differs = compare == (relu_first ? TileOp::Less : TileOp::LessEqual) ||
                            compare == (relu_first ? TileOp::GreaterEqual : TileOp::Greater);
  return limit > 0 || (limit == 0 && !zero_differs);
}

// Makes a comparison read relu's operand instead of its result, if the outcome is the same.
void compare_before_relu(const TileCode& code, std::span<const int> producers,
                         TileInstruction& comparison) {
  if (!comparison.op || !is_compare(*comparison.op)) return;
  for (const size_t k : {0, 1}) {
    const int producer = producers[size_t(comparison.in[k])];
    const auto limit = constant_of(code, comparison.in[1 - k]);
    if (producer < 0 || !limit) continue;
    const TileInstruction& relu = code.instructions[size_t(producer)];
    if (relu.op != TileOp::Relu || !sees_through_relu(*comparison.op, k == 0, *limit)) continue;
    comparison.in[k] = relu.in[0];
    return;
  }
}

// select(a > b, select(a <= c, d, b), b), whose second select nothing else reads.
void join_selects(TileInstruction& outer, const TileInstruction& inner) {
  if (outer.compare != TileOp::Greater || inner.compare != TileOp::LessEqual) return;
  if (inner.within || outer.in[0] != inner.in[0]) return;
  if (outer.in[1] != outer.in[3] || outer.in[1] != inner.in[3]) return;
  outer.in = {inner.in[0], outer.in[1], inner.in[1], inner.in[2]};
  outer.within = true;
}

}  // namespace

int TileCode::add_value(TileValue value) {
  values.push_back(value);
  return static_cast<int>(values.size()) - 1;
}

int TileCode::add_constant(const Tensor& tensor) {
  constants.push_back(tensor);
  return add_value({TileValue::Source::Constant, static_cast<int>(constants.size()) - 1,
                    tensor.dtype(), TileStage::Tile});
}

bool TileCode::is_output(int value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

std::optional<TileCode> tile_code(const KernelSpec& spec) {
  Lowering lowering;
  if (spec.op.name == "fused") {
    const Graph& body = spec.attributes.get_graph("body");
    if (!lower_body(lowering, body)) return std::nullopt;
    TileCode code = lowering.take();
    if (!find_shape(code, body)) return std::nullopt;
    return code;
  } else {
    std::vector<Forms> in;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      in.push_back(lowering.input(static_cast<int>(i), spec.inputs[i].dtype));
    }
    Forms out;
    if (!lowering.node(spec.op, spec.attributes, false, in, out)) return std::nullopt;
    lowering.output(out);
    TileCode code = lowering.take();
    code.shape = spec.outputs[0].shape;
    return code;
  }
}

void simplify(TileCode& code) {
  remove_dead(code);
  std::vector<int> producers(code.values.size(), -1);
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    compare_before_relu(code, producers, code.instructions[i]);
    producers[size_t(code.instructions[i].out)] = static_cast<int>(i);
  }
  propagate_stages(code);
  const std::vector<int> uses = count_uses(code);
  // Returns the instruction that computes, for every tile, a value with a single reader.
  const auto made_for_one = [&](int value) -> const TileInstruction* {
    const auto at = static_cast<size_t>(value);
    if (at >= uses.size() || producers[at] < 0 || uses[at] != 1) return nullptr;
    if (code.values[at].stage != TileStage::Tile) return nullptr;
    return &code.instructions[size_t(producers[at])];
  };
  for (TileInstruction& user : code.instructions) {
    if (code.values[size_t(user.out)].stage != TileStage::Tile) continue;
    if (const auto* comparison = made_for_one(user.in[0])) join_comparison(code, user, *comparison);
    if (user.op != TileOp::Select || !user.compare) continue;
    if (const auto* inner = made_for_one(user.in[2])) join_selects(user, *inner);
  }
  remove_dead(code);
}

void propagate_stages(TileCode& code) {
  for (const TileInstruction& instruction : code.instructions) {
    TileStage stage = TileStage::Run;
    for (const int value : instruction.in) {
      stage = std::max(stage, code.values[size_t(value)].stage);
    }
    code.values[size_t(instruction.out)].stage =
        code.is_output(instruction.out) ? TileStage::Tile : stage;
  }
}

}  // namespace cornu::cpu
