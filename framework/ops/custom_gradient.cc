// SPDX-License-Identifier: Apache-2.0
// A call becomes the ops of f, whose results pass through the op "custom_gradient": it returns its
// first inputs unchanged, and holds the gradient as a graph of the upstream gradients and of the
// values that the user's function captured, which are its last inputs.
#include "framework/ops/custom_gradient.h"

#include <optional>

#include "framework/core/user_code.h"
#include "framework/core/variable.h"
#include "framework/graph/trace.h"
#include "framework/ops/arguments.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// The number of inputs that are outputs and arguments; the rest are captures.
struct Layout {
  Layout(const Attributes& attributes, size_t inputs)
      : outputs(static_cast<size_t>(attributes.get_int("outputs"))),
        arguments(static_cast<size_t>(attributes.get_int("arguments"))),
        captures(inputs - outputs - arguments) {}
  size_t outputs;
  size_t arguments;
  size_t captures;
};

Types infer_custom_gradient(TypeSpan inputs, const Attributes& attributes) {
  const int64_t outputs = attributes.get_int("outputs");
  const int64_t arguments = attributes.get_int("arguments");
  const auto count = static_cast<int64_t>(inputs.size());
  const Graph& backward = attributes.get_graph("backward");
  check<InvalidArgument>(
      outputs >= 1 && arguments >= 0 && outputs <= count && arguments <= count - outputs &&
          static_cast<int64_t>(backward.inputs.size()) == count - arguments &&
          static_cast<int64_t>(backward.outputs.size()) == arguments,
      "custom_gradient: expected a gradient that takes {} outputs' gradients and its captures, and "
      "gives {}, got one from {} to {}.",
      outputs, arguments, backward.inputs.size(), backward.outputs.size());
  return {inputs.begin(), inputs.begin() + outputs};
}

Gradients vjp_custom_gradient(const VjpContext& c) {
  const Layout layout(c.attributes, c.inputs.size());
  std::vector<Tensor> operands;
  for (size_t i = 0; i < layout.outputs; ++i) {
    const Tensor& upstream = c.gradient(i);
    operands.push_back(upstream.defined() ? upstream : zeros_like(c.out(i)));
  }
  operands.insert(operands.end(), c.inputs.end() - static_cast<int64_t>(layout.captures),
                  c.inputs.end());
  const std::vector<Tensor> gradients = replay(c.attributes.get_graph("backward"), operands);
  Gradients result(c.inputs.size());
  for (size_t i = 0; i < layout.arguments; ++i) result[layout.outputs + i] = gradients[i];
  return result;
}

// Records the first trainable variable that is read while this is alive.
class VariableWatch : public VariableReadObserver {
 public:
  VariableWatch() { add_read_observer(this); }
  ~VariableWatch() override { remove_read_observer(this); }
  void on_read(const Variable& variable, const Tensor&) override {
    if (variable.trainable() && !found_) found_ = variable;
  }
  const std::optional<Variable>& found() const { return found_; }

 private:
  std::optional<Variable> found_;
};

// The gradient as a graph of the upstream gradients and of all its captures.
TracedGraph trace_gradient(const WithGradient& computed, const std::vector<Tensor>& arguments) {
  std::vector<TensorType> types;
  for (const Tensor& output : computed.outputs) types.push_back(type_of(output));
  StopRecordingScope quiet;
  return trace(
      types,
      [&](const std::vector<Tensor>& upstream) {
        std::vector<Tensor> gradients = computed.gradient(upstream);
        check<InvalidArgument>(gradients.size() == arguments.size(),
                               "custom_gradient: expected one gradient for each of {} arguments, "
                               "got {}.",
                               arguments.size(), gradients.size());
        for (size_t i = 0; i < gradients.size(); ++i) {
          if (!gradients[i].defined()) gradients[i] = zeros_like(arguments[i]);
          gradients[i] = cast(gradients[i], arguments[i].dtype());
          check<InvalidArgument>(gradients[i].shape() == arguments[i].shape(),
                                 "custom_gradient: expected a gradient of its argument's shape {}, "
                                 "got {} for argument {}.",
                                 arguments[i].shape(), gradients[i].shape(), i);
        }
        return gradients;
      },
      {.name = "custom_gradient", .allow_state = false, .capture_values = true});
}

}  // namespace

namespace internal {

std::vector<Tensor> apply_custom_gradient(
    const std::function<WithGradient(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& given) {
  given_function(f, "custom_gradient");
  std::vector<Tensor> arguments;
  for (const Tensor& argument : given) {
    check<FailedPrecondition>(
        !argument.is_symbolic() || current_tracer() != nullptr,
        "custom_gradient: it can't be called on a placeholder of shape {}. Call it within a layer "
        "(in its call method).",
        argument.shape());
    arguments.push_back(argument.strong());
  }
  WithGradient computed;
  {
    const VariableWatch watch;
    computed = f(arguments);
    check<FailedPrecondition>(!watch.found(),
                              "custom_gradient: its function reads the trainable variable '{}', "
                              "which its gradient doesn't reach. Pass it as an argument.",
                              watch.found() ? watch.found()->path() : "");
  }
  check<InvalidArgument>(!computed.outputs.empty() && computed.gradient != nullptr,
                         "custom_gradient: expected a function that returns outputs and their "
                         "gradient.");
  for (Tensor& output : computed.outputs) output = output.strong();
  const TracedGraph backward = trace_gradient(computed, arguments);
  std::vector<Tensor> inputs = computed.outputs;
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  if (backward.has_key) inputs.push_back(Seed().key());  // the key for random ops in the gradient
  inputs.insert(inputs.end(), backward.captures.begin(), backward.captures.end());
  return apply(op<"custom_gradient">(), inputs,
               {{"outputs", static_cast<int64_t>(computed.outputs.size())},
                {"arguments", static_cast<int64_t>(arguments.size())},
                {"backward", std::make_shared<const Graph>(backward.graph)}});
}

}  // namespace internal

void register_custom_gradient(OpRegistry& registry) {
  registry.add({.name = "custom_gradient",
                .infer = infer_custom_gradient,
                .vjp = vjp_custom_gradient,
                .traits = {}});
}

}  // namespace cornu::ops
