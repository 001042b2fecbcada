// SPDX-License-Identifier: Apache-2.0
// Bodies of "fused" nodes for tests, and their results when each op runs by itself.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {

inline const KernelRunner& elementwise_kernels() {
  static const KernelRunner runner(register_elementwise_kernels);
  return runner;
}

class BodyBuilder {
 public:
  ValueId input(const TensorType& type) {
    const ValueId id = body_.add_value(type);
    body_.inputs.push_back(id);
    return id;
  }
  ValueId constant(const Tensor& value) {
    return node("constant", {}, type_of(value), {{"value", value}});
  }
  ValueId op(const std::string& name, const std::vector<ValueId>& inputs) {
    TensorType type = body_.type(inputs.back());
    for (const ValueId id : inputs) {
      type.shape = broadcast_shapes(type.shape, body_.type(id).shape, name);
    }
    const bool compares = name.rfind("less", 0) == 0 || name.rfind("greater", 0) == 0 ||
                          name == "equal" || name == "not_equal" || name.rfind("is_", 0) == 0;
    if (compares) type.dtype = DType::Bool;
    return node(name, inputs, type, {});
  }
  ValueId cast(ValueId input, DType dtype) {
    return node("cast", {input}, {dtype, body_.type(input).shape}, {{"dtype", dtype}});
  }
  // Sums over all axes but the last, or over all.
  ValueId sum(ValueId input, bool all = false) {
    const Shape& from = body_.type(input).shape;
    Shape to = all ? Shape{} : Shape{from.back()};
    std::vector<int64_t> axes(static_cast<size_t>(from.rank() - to.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    return node("reduce_sum", {input}, {body_.type(input).dtype, to},
                {{"axes", axes}, {"keepdims", false}});
  }
  void output(ValueId id) { body_.outputs.push_back(id); }
  const Graph& body() const { return body_; }
  const Shape& shape(ValueId id) const { return body_.type(id).shape; }
  DType dtype(ValueId id) const { return body_.type(id).dtype; }

  Attributes attributes() const { return {{"body", std::make_shared<const Graph>(body_)}}; }
  std::vector<TensorType> output_types() const {
    std::vector<TensorType> types;
    for (const ValueId id : body_.outputs) types.push_back(body_.type(id));
    return types;
  }

 private:
  ValueId node(const std::string& name, const std::vector<ValueId>& inputs, const TensorType& type,
               const Attributes& attributes) {
    static std::map<std::string, OpDef> definitions;
    OpDef& definition = definitions[name];
    definition.name = name;
    const ValueId id = body_.add_value(type);
    Node made;
    made.op = &definition;
    made.inputs = inputs;
    made.outputs = {id};
    made.attributes = attributes;
    body_.nodes.push_back(made);
    return id;
  }

  Graph body_;
};

// The outputs when each op is run by its own kernel.
inline std::vector<Tensor> run_one_by_one(const Graph& body, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(body.types.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[size_t(body.inputs[i])] = inputs[i];
  for (const Node& node : body.nodes) {
    Tensor& result = values[size_t(node.outputs[0])];
    if (node.is("constant")) {
      result = node.attributes.get_tensor("value");
      continue;
    }
    std::vector<Tensor> operands;
    for (const ValueId id : node.inputs) operands.push_back(values[size_t(id)]);
    result = elementwise_kernels().run(node.op->name, operands, node.attributes,
                                       {body.type(node.outputs[0])})[0];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : body.outputs) outputs.push_back(values[size_t(id)]);
  return outputs;
}

inline void check_same_bits(const std::vector<Tensor>& results,
                            const std::vector<Tensor>& expected) {
  REQUIRE(results.size() == expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    REQUIRE(results[i].bytes() == expected[i].bytes());
    const int difference = std::memcmp(results[i].raw(), expected[i].raw(), results[i].bytes());
    CHECK(difference == 0);
  }
}

// Runs the body as one kernel on 1, 2 and 3 threads: the bits must equal those of its ops one by
// one.
inline void check_fused(const BodyBuilder& builder, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = run_one_by_one(builder.body(), inputs);
  for (int threads = 1; threads <= 3; ++threads) {
    const ComputeThreadsScope scope(threads);
    check_same_bits(
        elementwise_kernels().run("fused", inputs, builder.attributes(), builder.output_types()),
        expected);
  }
}

}  // namespace cornu::cpu::testing
