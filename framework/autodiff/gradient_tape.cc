// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/gradient_tape.h"

#include <algorithm>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "framework/autodiff/graph_vjp.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/remat_region.h"
#include "framework/ops/ops.h"

namespace cornu {

// The contents of a tape: ops with a watched input, in order, and the tensors that variables were
// read as. Tensors are kept alive so that their identities aren't reused.
class GradientTape::Recorder : public OpObserver, public VariableReadObserver {
 public:
  explicit Recorder(const GradientTapeOptions& options) : options(options) { start(); }
  ~Recorder() override { stop(); }

  void start() {
    if (recording) return;
    recording = true;
    add_op_observer(this);
    add_read_observer(this);
  }
  void stop() {
    if (!recording) return;
    recording = false;
    remove_op_observer(this);
    remove_read_observer(this);
  }

  void forget() {
    records.clear();
    watched.clear();
    reads_of.clear();
  }

  void on_apply(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                const std::vector<Tensor>& outputs) override {
    if (!op.traits.differentiable) return;
    const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const Tensor& input) { return is_watched(input); });
    if (!depends) return;
    for (const Tensor& output : outputs) {
      if (is_floating(output.dtype())) watch(output);
    }
    records.push_back({&op, inputs, attributes, outputs, NameScope::current()});
  }

  bool follows(std::span<const Tensor> tensors, std::span<const Variable> read) const override {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const Tensor& tensor) { return is_watched(tensor); }) ||
           std::any_of(read.begin(), read.end(),
                       [&](const Variable& variable) { return is_watched(variable); });
  }

  void on_read(const Variable& variable, const Tensor& value) override {
    if (!is_watched(variable)) return;
    watch(value);
    std::vector<Tensor>& reads = reads_of[variable.id()];
    if (reads.empty()) variables.push_back(variable);
    const bool known = std::any_of(reads.begin(), reads.end(),
                                   [&](const Tensor& read) { return read.id() == value.id(); });
    if (!known) reads.push_back(value);
  }

  bool is_watched(const Tensor& tensor) const { return watched.count(tensor.id()) > 0; }
  bool is_watched(const Variable& variable) const {
    if (!is_floating(variable.dtype())) return false;
    return (options.watch_accessed_variables && variable.trainable()) ||
           std::any_of(explicitly.begin(), explicitly.end(),
                       [&](const Variable& v) { return v.id() == variable.id(); });
  }
  void watch(const Tensor& tensor) { watched.emplace(tensor.id(), tensor); }

  struct Record {
    const OpDef* op;
    std::vector<Tensor> inputs;
    Attributes attributes;
    std::vector<Tensor> outputs;
    std::string scope;  // of the layer that applied it
  };
  using Ids = std::unordered_set<const void*>;
  using Gradients = std::unordered_map<const void*, Tensor>;  // by Tensor::id()

  // The gradients of the sources that the targets depend on.
  Gradients backward(const Tensors& targets, const Tensors& output_gradients,
                     const std::vector<Tensor>& sources) const;

  // The gradients of `sources` in their order; `unconnected` applies to sources that no target
  // depends on.
  std::vector<Tensor> gradients(const Tensors& targets, const Tensors& output_gradients,
                                const std::vector<Tensor>& sources,
                                UnconnectedGradients unconnected) const;
  std::vector<Tensor> gradients(const Tensors& targets, const Tensors& output_gradients,
                                const std::vector<Variable>& sources,
                                UnconnectedGradients unconnected) const;

  // These enclose an operation that uses the tape up, unless it is persistent.
  void begin_gradient() {
    check<FailedPrecondition>(owner == std::this_thread::get_id(),
                              "GradientTape: expected its gradient to be taken on the thread that "
                              "made it, got another thread. Make a tape on each thread.");
    check<FailedPrecondition>(!used_up,
                              "GradientTape: its gradient was taken already. Make it persistent to "
                              "take several.");
    if (options.persistent) return;
    used_up = true;
    stop();
  }
  void end_gradient() {
    if (!options.persistent) forget();
  }

  GradientTapeOptions options;
  const std::thread::id owner = std::this_thread::get_id();
  bool recording = false;
  bool used_up = false;
  std::vector<Record> records;
  std::unordered_map<const void*, Tensor> watched;
  std::unordered_map<const void*, std::vector<Tensor>> reads_of;
  std::vector<Variable> variables;   // in order of first reads
  std::vector<Variable> explicitly;  // passed to watch()
};

namespace {

void accumulate(Tensor& into, const Tensor& gradient) {
  into = into.defined() ? into + gradient : gradient;
}

Tensor seed_of(const Tensor& target, const Tensor& given) {
  check<InvalidArgument>(is_floating(target.dtype()),
                         "GradientTape: expected a target of a floating-point dtype, got {}.",
                         target.dtype());
  if (!given.defined()) return ops::ones_like(target);
  check<InvalidArgument>(given.shape() == target.shape(),
                         "GradientTape: expected an output gradient of its target's shape {}, got "
                         "{}.",
                         target.shape(), given.shape());
  return ops::cast(given, target.dtype());
}

}  // namespace

GradientTape::Recorder::Gradients GradientTape::Recorder::backward(
    const Tensors& targets, const Tensors& output_gradients,
    const std::vector<Tensor>& sources) const {
  const GradientScope computing;
  check<InvalidArgument>(output_gradients.empty() || output_gradients.size() == targets.size(),
                         "GradientTape: expected one output gradient for each of {} targets, got "
                         "{}.",
                         targets.size(), output_gradients.size());
  // Values that depend on a source: only their gradients are computed.
  Ids wanted;
  for (const Tensor& source : sources) wanted.insert(source.id());
  Ids dependent = wanted;
  auto depends = [&](const Tensor& tensor) { return dependent.count(tensor.id()) > 0; };
  const size_t count = records.size();  // a persistent tape may record more in the meantime
  for (const Record& record : records) {
    if (!std::any_of(record.inputs.begin(), record.inputs.end(), depends)) continue;
    for (const Tensor& output : record.outputs) {
      if (is_floating(output.dtype())) dependent.insert(output.id());
    }
  }
  Gradients gradients;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor seed =
        seed_of(targets[i], output_gradients.empty() ? Tensor() : output_gradients[i]);
    if (depends(targets[i])) accumulate(gradients[targets[i].id()], seed);
  }
  for (size_t r = count; r-- > 0;) {
    const Record record = records[r];  // a copy: `records` may grow
    std::vector<Tensor> of_outputs;
    bool any = false;
    for (const Tensor& output : record.outputs) {
      const auto it = gradients.find(output.id());
      of_outputs.push_back(it == gradients.end() ? Tensor() : it->second);
      any = any || of_outputs.back().defined();
      if (it != gradients.end() && !wanted.count(output.id())) gradients.erase(it);
    }
    std::vector<bool> needed;
    for (const Tensor& input : record.inputs) needed.push_back(depends(input));
    if (!any || std::find(needed.begin(), needed.end(), true) == needed.end()) continue;
    const NameScope scope(record.scope.empty() ? "gradients" : "gradients/" + record.scope);
    const std::vector<Tensor> of_inputs = apply_vjp(
        *record.op, {record.inputs, record.outputs, of_outputs, record.attributes, needed});
    for (size_t i = 0; i < of_inputs.size(); ++i) {
      if (!needed[i] || !of_inputs[i].defined()) continue;
      accumulate(gradients[record.inputs[i].id()], of_inputs[i]);
    }
  }
  return gradients;
}

GradientTape::GradientTape(const GradientTapeOptions& options) {
  recorder_ = std::make_unique<Recorder>(options);
}

GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& tensor) {
  check<InvalidArgument>(is_floating(tensor.dtype()),
                         "GradientTape: expected a floating-point tensor to watch, got {}.",
                         tensor.dtype());
  recorder_->watch(tensor);
}

void GradientTape::watch(const Variable& variable) {
  check<InvalidArgument>(is_floating(variable.dtype()),
                         "GradientTape: expected a floating-point variable to watch, got {}.",
                         variable.dtype());
  recorder_->explicitly.push_back(variable);
}

std::vector<Tensor> GradientTape::Recorder::gradients(const Tensors& targets,
                                                      const Tensors& output_gradients,
                                                      const std::vector<Tensor>& sources,
                                                      UnconnectedGradients unconnected) const {
  const Gradients found = backward(targets, output_gradients, sources);
  std::vector<Tensor> result;
  for (const Tensor& source : sources) {
    const auto it = found.find(source.id());
    if (it != found.end()) {
      result.push_back(it->second);
    } else {
      const bool zero = unconnected == UnconnectedGradients::Zero;
      result.push_back(zero ? ops::zeros_like(source) : Tensor());
    }
  }
  return result;
}

std::vector<Tensor> GradientTape::Recorder::gradients(const Tensors& targets,
                                                      const Tensors& output_gradients,
                                                      const std::vector<Variable>& sources,
                                                      UnconnectedGradients unconnected) const {
  std::vector<Tensor> reads;
  std::vector<size_t> owner;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto it = reads_of.find(sources[i].id());
    if (it == reads_of.end()) continue;
    for (const Tensor& read : it->second) {
      reads.push_back(read);
      owner.push_back(i);
    }
  }
  const std::vector<Tensor> of_reads =
      gradients(targets, output_gradients, reads, UnconnectedGradients::None);
  std::vector<Tensor> result(sources.size());
  for (size_t i = 0; i < reads.size(); ++i) {
    if (of_reads[i].defined()) accumulate(result[owner[i]], of_reads[i]);
  }
  if (unconnected == UnconnectedGradients::Zero) {
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!result[i].defined()) result[i] = ops::zeros(sources[i].shape(), sources[i].dtype());
    }
  }
  return result;
}

template <class Source>
std::vector<Tensor> GradientTape::take_gradients(const Tensors& target,
                                                 const std::vector<Source>& sources,
                                                 const GradientOptions& options) {
  recorder_->begin_gradient();
  std::vector<Tensor> result = recorder_->gradients(target, options.output_gradients, sources,
                                                    options.unconnected_gradients);
  recorder_->end_gradient();
  return result;
}

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           const std::vector<Tensor>& sources,
                                           const GradientOptions& options) {
  return take_gradients(target, sources, options);
}

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           const std::vector<Variable>& sources,
                                           const GradientOptions& options) {
  return take_gradients(target, sources, options);
}

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           std::initializer_list<Variable> sources,
                                           const GradientOptions& options) {
  return gradient(target, std::vector<Variable>(sources), options);
}

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           std::initializer_list<Tensor> sources,
                                           const GradientOptions& options) {
  return gradient(target, std::vector<Tensor>(sources), options);
}

Tensor GradientTape::gradient(const Tensors& target, const Variable& source,
                              const GradientOptions& options) {
  return gradient(target, std::vector<Variable>{source}, options).front();
}

Tensor GradientTape::gradient(const Tensors& target, const Tensor& source,
                              const GradientOptions& options) {
  return gradient(target, std::vector<Tensor>{source}, options).front();
}

namespace {

// A tensor of `shape` that is 1 at one index of the flattened tensor, and 0 elsewhere.
Tensor unit(const Shape& shape, int64_t place, DType dtype) {
  const Tensor row = ops::one_hot(Tensor::scalar(place), shape.num_elements(), -1, dtype);
  return ops::reshape(row, shape);
}

}  // namespace

template <class Source>
std::vector<Tensor> GradientTape::take_jacobians(const Tensor& target,
                                                 const std::vector<Source>& sources,
                                                 UnconnectedGradients unconnected) {
  check<InvalidArgument>(target.shape().is_static(),
                         "GradientTape: expected a target whose sizes are known, got shape {}.",
                         target.shape());
  recorder_->begin_gradient();
  const int64_t count = target.num_elements();
  std::vector<std::vector<Tensor>> rows(sources.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor seed = unit(target.shape(), i, target.dtype());
    const std::vector<Tensor> row =
        recorder_->gradients(Tensors(target), Tensors(seed), sources, unconnected);
    for (size_t s = 0; s < sources.size(); ++s) rows[s].push_back(row[s]);
  }
  recorder_->end_gradient();
  std::vector<Tensor> result(sources.size());
  for (size_t s = 0; s < sources.size(); ++s) {
    const Shape shape = target.shape().concat(sources[s].shape());
    if (count == 0) {
      result[s] = ops::zeros(shape, sources[s].dtype());
    } else if (rows[s][0].defined()) {
      result[s] = ops::reshape(ops::stack(rows[s]), shape);
    }
  }
  return result;
}

std::vector<Tensor> GradientTape::jacobian(const Tensor& target, const std::vector<Tensor>& sources,
                                           UnconnectedGradients unconnected_gradients) {
  return take_jacobians(target, sources, unconnected_gradients);
}
std::vector<Tensor> GradientTape::jacobian(const Tensor& target,
                                           const std::vector<Variable>& sources,
                                           UnconnectedGradients unconnected_gradients) {
  return take_jacobians(target, sources, unconnected_gradients);
}
Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source,
                              UnconnectedGradients unconnected_gradients) {
  return take_jacobians(target, std::vector<Tensor>{source}, unconnected_gradients).front();
}
Tensor GradientTape::jacobian(const Tensor& target, const Variable& source,
                              UnconnectedGradients unconnected_gradients) {
  return take_jacobians(target, std::vector<Variable>{source}, unconnected_gradients).front();
}

Tensor GradientTape::batch_jacobian(const Tensor& target, const Tensor& source,
                                    UnconnectedGradients unconnected_gradients) {
  check<InvalidArgument>(target.shape().is_static() && target.rank() >= 1 && source.rank() >= 1 &&
                             target.shape().front() == source.shape().front(),
                         "GradientTape: batch_jacobian expects a target and a source of one batch "
                         "size (axis 0), got shapes {} and {}.",
                         target.shape(), source.shape());
  recorder_->begin_gradient();
  const Shape inner = target.shape().slice(1);
  std::vector<Tensor> columns;
  for (int64_t i = 0; i < inner.num_elements(); ++i) {
    const Tensor seed = ops::broadcast_to(unit(inner, i, target.dtype()), target.shape());
    columns.push_back(recorder_
                          ->gradients(Tensors(target), Tensors(seed), std::vector<Tensor>{source},
                                      unconnected_gradients)
                          .front());
  }
  recorder_->end_gradient();
  const Shape shape = target.shape().concat(source.shape().slice(1));
  if (columns.empty()) return ops::zeros(shape, source.dtype());
  if (!columns[0].defined()) return Tensor();
  return ops::reshape(ops::stack(columns, 1), shape);
}

GradientTape::StopRecording::StopRecording(GradientTape& tape)
    : tape_(tape), was_recording_(tape.recorder_->recording) {
  tape_.recorder_->stop();
}
GradientTape::StopRecording::~StopRecording() {
  if (was_recording_ && !tape_.recorder_->used_up) tape_.recorder_->start();
}

void GradientTape::reset() {
  recorder_->forget();
  recorder_->variables.clear();
  recorder_->explicitly.clear();
  recorder_->used_up = false;
  recorder_->start();
}

std::vector<Variable> GradientTape::watched_variables() const { return recorder_->variables; }

}  // namespace cornu
