// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/control_vjps.h"

#include <span>
#include <utility>

#include "framework/autodiff/gradient_tape.h"
#include "framework/autodiff/graph_vjp.h"
#include "framework/graph/trace.h"
#include "framework/ops/loop_ops.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

std::vector<Tensor> cond_vjp(const VjpContext& c) {
  const std::vector<Tensor> operands(c.inputs.begin() + 1, c.inputs.end());
  const std::vector<bool> needed(c.needed.begin() + 1, c.needed.end());
  auto branch = [&](const char* name) {
    return [&, name] {
      return replayed_gradients(c.attributes.get_graph(name), operands, c.output_gradients, needed,
                                UnconnectedGradients::Zero);
    };
  };
  const std::function<std::vector<Tensor>()> then = branch("then");
  const std::function<std::vector<Tensor>()> otherwise = branch("else");
  std::vector<Tensor> result = by_operand(ops::cond(c.in(0), then, otherwise), needed);
  result.insert(result.begin(), Tensor());  // the condition
  return result;
}

// The view of a loop that its gradient has.
struct LoopRecord {
  const Graph& body;
  std::span<const Tensor> inputs;           // carries, xs, captures
  const std::vector<bool>& needed;          // by input
  std::span<const Tensor> ys;               // of a loop that saves values
  std::span<const Tensor> carry_gradients;  // of the final carries
  std::vector<Tensor> y_gradients;          // undefined: zero
  size_t carries;
  size_t xs;
  ops::internal::ScanPlan plan;  // of the gradient loop: length, reverse, count
};

// The gradient of a loop is another loop over the iterations in reverse order. It carries the
// gradients of the carries backwards, and accumulates those of the captures.
class LoopGradient {
 public:
  explicit LoopGradient(LoopRecord record) : record_(std::move(record)) {
    find_dependent();
    for (size_t i = 0; i < inputs(); ++i) {
      if (!is_dependent(record_.body.inputs[i])) continue;
      if (i < record_.carries) {
        carried_.push_back(i);
      } else {
        (i < first_capture() ? sliced_ : summed_).push_back(i);
      }
    }
  }

  // Returns the gradients by input of the loop.
  std::vector<Tensor> run() {
    ops::internal::ScanPlan& plan = record_.plan;
    for (size_t i : carried_) {
      const Tensor& given = record_.carry_gradients[i];
      plan.init.push_back(given.defined() ? given : ops::zeros_like(record_.inputs[i]));
    }
    for (size_t i : summed_) plan.init.push_back(ops::zeros_like(record_.inputs[i]));
    plan.xs.assign(record_.ys.begin(), record_.ys.end());
    const std::span<const Tensor> xs = record_.inputs.subspan(record_.carries, record_.xs);
    plan.xs.insert(plan.xs.end(), xs.begin(), xs.end());
    for (const Tensor& gradient : record_.y_gradients) {
      if (gradient.defined()) plan.xs.push_back(gradient);
    }
    plan.who = "gradient of a loop";
    const ops::internal::ScanResult result = ops::internal::traced_scan(
        [&](const std::vector<Tensor>& carries, const std::vector<Tensor>& slices) {
          return turn(carries, slices);
        },
        plan);
    std::vector<Tensor> gradients(inputs());
    for (size_t i = 0; i < carried_.size(); ++i) gradients[carried_[i]] = result.carries[i];
    for (size_t i = 0; i < summed_.size(); ++i) {
      gradients[summed_[i]] = result.carries[carried_.size() + i];
    }
    for (size_t i = 0; i < sliced_.size(); ++i) gradients[sliced_[i]] = result.ys[i];
    return gradients;
  }

 private:
  size_t inputs() const { return record_.body.inputs.size(); }
  size_t first_capture() const { return record_.carries + record_.xs; }
  bool is_dependent(ValueId id) const { return dependent_[static_cast<size_t>(id)]; }

  // A carry also depends on everything that its value in the previous iteration depends on.
  void find_dependent() {
    const Graph& body = record_.body;
    std::vector<ValueId> sources;
    for (size_t i = 0; i < inputs(); ++i) {
      if (record_.needed[i]) sources.push_back(body.inputs[i]);
    }
    for (size_t known = 0; known != sources.size();) {
      known = sources.size();
      dependent_ = dependent_values(body, sources);
      for (size_t i = 0; i < record_.carries; ++i) {
        if (is_dependent(body.outputs[i]) && !is_dependent(body.inputs[i])) {
          sources.push_back(body.inputs[i]);
        }
      }
    }
    if (dependent_.empty()) dependent_.resize(body.types.size(), false);
  }

  // The values of the body in this iteration: saved, or recomputed.
  std::vector<Tensor> values_of_turn(const std::vector<Tensor>& slices) const {
    const Graph& body = record_.body;
    std::vector<Tensor> values(body.types.size());
    auto at = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
    for (size_t i = 0; i < record_.ys.size(); ++i)
      at(body.outputs[record_.carries + i]) = slices[i];
    for (size_t i = 0; i < record_.xs; ++i) {
      at(body.inputs[record_.carries + i]) = slices[record_.ys.size() + i];
    }
    for (size_t i = first_capture(); i < inputs(); ++i) at(body.inputs[i]) = record_.inputs[i];
    const std::vector<bool> recomputed = ops::internal::recomputed_nodes(body);
    for (size_t n = 0; n < body.nodes.size(); ++n) {
      const Node& node = body.nodes[n];
      if (!recomputed[n]) continue;
      std::vector<Tensor> arguments;
      for (ValueId id : node.inputs) arguments.push_back(at(id));
      const std::vector<Tensor> results = node.is("constant")
                                              ? std::vector{node.attributes.get_tensor("value")}
                                              : apply(*node.op, arguments, node.attributes);
      for (size_t i = 0; i < results.size(); ++i) at(node.outputs[i]) = results[i];
    }
    return values;
  }

  ops::internal::ScanResult turn(const std::vector<Tensor>& carries,
                                 const std::vector<Tensor>& slices) const {
    const Graph& body = record_.body;
    std::vector<Tensor> of_outputs(body.outputs.size());
    for (size_t i = 0; i < carried_.size(); ++i) of_outputs[carried_[i]] = carries[i];
    size_t next = record_.ys.size() + record_.xs;
    for (size_t i = 0; i < record_.y_gradients.size(); ++i) {
      if (record_.y_gradients[i].defined()) of_outputs[record_.carries + i] = slices[next++];
    }
    const std::vector<Tensor> gradients =
        graph_vjp(body, values_of_turn(slices), of_outputs, dependent_);
    auto gradient = [&](size_t input) {
      const ValueId id = body.inputs[input];
      const Tensor& found = gradients[static_cast<size_t>(id)];
      return found.defined() ? found : ops::zeros(body.type(id).shape, body.type(id).dtype);
    };
    ops::internal::ScanResult result;
    for (size_t i : carried_) result.carries.push_back(gradient(i));
    for (size_t i = 0; i < summed_.size(); ++i) {
      result.carries.push_back(carries[carried_.size() + i] + gradient(summed_[i]));
    }
    for (size_t i : sliced_) result.ys.push_back(gradient(i));
    return result;
  }

  LoopRecord record_;
  std::vector<bool> dependent_;  // by value of the body
  std::vector<size_t> carried_;  // inputs whose gradients are carried, summed up, or stacked
  std::vector<size_t> summed_;
  std::vector<size_t> sliced_;
};

// The outputs and attributes of a loop that saves its values: those of this loop, or of the loop
// applied again (if it was traced while nothing followed it).
struct SavedLoop {
  SavedLoop(const VjpContext& c, std::string_view op)
      : attributes(c.attributes), outputs(c.outputs), gradients(c.output_gradients) {
    if (attributes.get_bool("saves")) return;
    attributes = ops::internal::saving(attributes);
    outputs = apply(OpRegistry::global().at(op), c.inputs, attributes);
    gradients.resize(outputs.size());
  }
  Attributes attributes;
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
};

std::vector<Tensor> loop_vjp(const VjpContext& c, const SavedLoop& loop, size_t xs, size_t first_y,
                             const ops::internal::ScanPlan& plan) {
  const Graph& body = loop.attributes.get_graph("body");
  const auto carries = static_cast<size_t>(loop.attributes.get_int("carries"));
  const std::span outputs(loop.outputs);
  const std::span gradients(loop.gradients);
  std::vector<Tensor> result =
      LoopGradient(
          {.body = body,
           .inputs = std::span(c.inputs).first(body.inputs.size()),
           .needed = c.needed,
           .ys = outputs.subspan(first_y),
           .carry_gradients = gradients.first(carries),
           .y_gradients = {gradients.begin() + static_cast<int64_t>(first_y), gradients.end()},
           .carries = carries,
           .xs = xs,
           .plan = plan})
          .run();
  result.resize(c.inputs.size());
  return result;
}

std::vector<Tensor> scan_vjp(const VjpContext& c) {
  const SavedLoop loop(c, "scan");
  const auto carries = static_cast<size_t>(c.attributes.get_int("carries"));
  return loop_vjp(c, loop, static_cast<size_t>(c.attributes.get_int("xs")), carries,
                  {.init = {},
                   .xs = {},
                   .length = c.attributes.get_int("length"),
                   .reverse = !c.attributes.get_bool("reverse"),
                   .count = c.attributes.get_bool("counted") ? c.inputs.back() : Tensor()});
}

std::vector<Tensor> while_vjp(const VjpContext& c) {
  const int64_t maximum = c.attributes.get_int("maximum");
  check<Unimplemented>(
      maximum >= 0,
      "while_loop: a traced loop has no gradient unless its number of iterations is "
      "bounded. Give it maximum_iterations (a fori_loop: bounds with values).");
  const SavedLoop loop(c, "while");
  const auto carries = static_cast<size_t>(c.attributes.get_int("carries"));
  return loop_vjp(
      c, loop, 0, carries + 1,
      {.init = {}, .xs = {}, .length = maximum, .reverse = true, .count = loop.outputs[carries]});
}

}  // namespace

void register_control_vjps(OpRegistry& registry) {
  registry.set_vjp("cond", cond_vjp);
  registry.set_vjp("scan", scan_vjp);
  registry.set_vjp("while", while_vjp);
}

}  // namespace cornu
