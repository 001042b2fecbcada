// SPDX-License-Identifier: Apache-2.0
#include "cornu/autodiff/gradient_tape.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "cornu/autodiff/control_vjps.h"
#include "cornu/graph/dispatch.h"
#include "cornu/ops/ops.h"

namespace cornu {

// What a tape remembers: ops with a watched input, in order, and which tensors variables were read
// as. Tensors are kept, so that their identities stay theirs.
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

  void on_apply(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                const std::vector<Tensor>& outputs) override {
    if (!op.traits.differentiable) return;
    const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const Tensor& input) { return is_watched(input); });
    if (!depends) return;
    for (const Tensor& output : outputs) {
      if (is_floating(output.dtype())) watch(output);
    }
    records.push_back({&op, inputs, attributes, outputs});
  }

  void on_read(const Variable& variable, const Tensor& value) override {
    const bool wanted = options.watch_accessed_variables && variable.trainable();
    const bool asked = std::any_of(explicitly.begin(), explicitly.end(), [&](const Variable& v) {
      return v.id() == variable.id();
    });
    if ((!wanted && !asked) || !is_floating(value.dtype())) return;
    watch(value);
    std::vector<Tensor>& reads = reads_of[variable.id()];
    if (reads.empty()) variables.push_back(variable);
    const bool known = std::any_of(reads.begin(), reads.end(), [&](const Tensor& read) {
      return key(read) == key(value);
    });
    if (!known) reads.push_back(value);
  }

  // Symbols are the same when owner and number are; values when the handle's object is.
  using Key = std::pair<const void*, int64_t>;
  static Key key(const Tensor& tensor) {
    if (tensor.is_symbolic()) return {tensor.symbol_owner().get(), tensor.symbol_id()};
    return {tensor.id(), -1};
  }
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<int64_t>()(key.second);
    }
  };

  bool is_watched(const Tensor& tensor) const { return watched.count(key(tensor)) > 0; }
  void watch(const Tensor& tensor) { watched.emplace(key(tensor), tensor); }

  struct Record {
    const OpDef* op;
    std::vector<Tensor> inputs;
    Attributes attributes;
    std::vector<Tensor> outputs;
  };
  using Gradients = std::unordered_map<Key, Tensor, KeyHash>;

  // Gradients of everything that `targets` depend on.
  Gradients backward(const Tensors& targets, const Tensors& output_gradients) const;

  GradientTapeOptions options;
  bool recording = false;
  bool used_up = false;
  std::vector<Record> records;
  std::unordered_map<Key, Tensor, KeyHash> watched;
  std::unordered_map<const void*, std::vector<Tensor>> reads_of;
  std::vector<Variable> variables;   // in order of first reads
  std::vector<Variable> explicitly;  // given to watch()
};

namespace {

void accumulate(Tensor& into, const Tensor& gradient) {
  into = into.defined() ? into + gradient : gradient;
}

}  // namespace

GradientTape::Recorder::Gradients GradientTape::Recorder::backward(
    const Tensors& targets, const Tensors& output_gradients) const {
  Gradients gradients;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = targets[i];
    check<InvalidArgument>(is_floating(target.dtype()),
                           "GradientTape: expected a target of a floating-point dtype, got {}.",
                           target.dtype());
    const Tensor seed = i < output_gradients.size() && output_gradients[i].defined()
                            ? output_gradients[i]
                            : ops::ones_like(target);
    check<InvalidArgument>(seed.shape() == target.shape(),
                           "GradientTape: expected an output gradient of shape {}, got {}.",
                           target.shape(), seed.shape());
    accumulate(gradients[key(target)], seed);
  }
  const size_t count = records.size();  // a persistent tape may record more meanwhile
  for (size_t r = count; r-- > 0;) {
    const Record record = records[r];
    std::vector<Tensor> of_outputs;
    bool any = false;
    for (const Tensor& output : record.outputs) {
      const auto it = gradients.find(key(output));
      of_outputs.push_back(it == gradients.end() ? Tensor() : it->second);
      any = any || of_outputs.back().defined();
    }
    if (!any) continue;
    std::vector<bool> needed;
    for (const Tensor& input : record.inputs) needed.push_back(is_watched(input));
    check<Unimplemented>(static_cast<bool>(record.op->vjp),
                         "GradientTape: the op '{}' has no gradient. Keep it off the way from the "
                         "sources to the target, or put ops::stop_gradient around it.",
                         record.op->name);
    const VjpContext context{record.inputs, record.outputs, of_outputs, record.attributes, needed};
    const std::vector<Tensor> of_inputs = record.op->vjp(context);
    for (size_t i = 0; i < of_inputs.size(); ++i) {
      if (!needed[i] || !of_inputs[i].defined()) continue;
      accumulate(gradients[key(record.inputs[i])], of_inputs[i]);
    }
  }
  return gradients;
}

GradientTape::GradientTape(const GradientTapeOptions& options) {
  static std::once_flag once;
  std::call_once(once, register_control_vjps);
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

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           const std::vector<Tensor>& sources,
                                           const GradientOptions& options) {
  Recorder& recorder = *recorder_;
  check<FailedPrecondition>(!recorder.used_up,
                            "GradientTape: its gradient was taken already. Make it persistent to "
                            "take several.");
  const bool was_recording = recorder.recording;
  if (!recorder.options.persistent) {
    recorder.used_up = true;
    recorder.stop();
  }
  const Recorder::Gradients gradients = recorder.backward(target, options.output_gradients);
  std::vector<Tensor> result;
  for (const Tensor& source : sources) {
    const auto it = source.defined() ? gradients.find(Recorder::key(source)) : gradients.end();
    result.push_back(it == gradients.end() ? Tensor() : it->second);
    if (!result.back().defined() && source.defined() &&
        options.unconnected_gradients == UnconnectedGradients::Zero) {
      result.back() = ops::zeros_like(source);
    }
  }
  if (!recorder.options.persistent && was_recording) recorder.records.clear();
  return result;
}

std::vector<Tensor> GradientTape::gradient(const Tensors& target,
                                           const std::vector<Variable>& sources,
                                           const GradientOptions& options) {
  std::vector<Tensor> reads;
  std::vector<size_t> owner;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto it = recorder_->reads_of.find(sources[i].id());
    if (it == recorder_->reads_of.end()) continue;
    for (const Tensor& read : it->second) {
      reads.push_back(read);
      owner.push_back(i);
    }
  }
  GradientOptions inner = options;
  inner.unconnected_gradients = UnconnectedGradients::None;
  const std::vector<Tensor> of_reads = gradient(target, reads, inner);
  std::vector<Tensor> result(sources.size());
  for (size_t i = 0; i < reads.size(); ++i) {
    if (of_reads[i].defined()) accumulate(result[owner[i]], of_reads[i]);
  }
  if (options.unconnected_gradients == UnconnectedGradients::Zero) {
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!result[i].defined()) result[i] = ops::zeros(sources[i].shape(), sources[i].dtype());
    }
  }
  return result;
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

GradientTape::StopRecording::StopRecording(GradientTape& tape) : tape_(tape) {
  tape_.recorder_->stop();
}
GradientTape::StopRecording::~StopRecording() {
  if (!tape_.recorder_->used_up) tape_.recorder_->start();
}

void GradientTape::reset() {
  Recorder& recorder = *recorder_;
  recorder.records.clear();
  recorder.watched.clear();
  recorder.reads_of.clear();
  recorder.variables.clear();
  recorder.used_up = false;
  recorder.start();
}

std::vector<Variable> GradientTape::watched_variables() const { return recorder_->variables; }

}  // namespace cornu
