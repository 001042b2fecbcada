// SPDX-License-Identifier: Apache-2.0
// State shared by the handles to a layer. Internal: included by framework/model's .cc files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/graph/dispatch.h"
#include "framework/model/layer.h"
#include "framework/model/remat.h"

namespace cornu::internal {

// A process-wide counter that provides layer ids and records the order of operations.
uint64_t next_stamp();

// Throws FailedPrecondition for a layer that is already built: `what` was called to make `of` a
// part of it. This is an error because a call may run many times, and under traces.
void require_unbuilt(const Layer& layer, const char* what, const std::string& of);

// Throws FailedPrecondition when build() has recreated one of the layer's first `made_before` own
// weights.
void require_made_once(const Layer& layer, size_t made_before);

// Runs f eagerly, regardless of any enclosing tracing or recording.
template <class F>
auto outside_of_traces(F f) {
  TracerScope no_tracer(nullptr);
  VariableHooksScope no_hooks(nullptr);
  StopRecordingScope no_recording;
  return f();
}

struct LayerState {
  explicit LayerState(const LayerOptions& options)
      : name(options.name),
        named(!options.name.empty()),
        trainable(options.trainable),
        policy(DTypePolicy::parse(options.dtype)),
        activity_regularizer(options.activity_regularizer) {
    if (const RematScopeOptions* scope = RematScope::current()) remat = *scope;
    check<InvalidArgument>(name.find('/') == std::string::npos,
                           "Layer: expected a name without '/' (it separates the components of "
                           "weight paths in files), got '{}'.",
                           name);
  }

  void add_own(const Variable& weight) {
    own_weights.push_back(weight);
    if (!weight.trainable()) made_frozen.insert(weight.number());
  }

  struct WeightRegularizer {
    Variable variable;
    Regularizer regularizer;
  };

  const uint64_t id = next_stamp();  // never reused, unlike an address
  std::mutex naming;
  std::string name;
  std::atomic<bool> named;
  std::atomic<bool> trainable;
  uint64_t trainable_since = 0;  // the stamp of the last set_trainable
  DTypePolicy policy;
  Regularizer activity_regularizer;
  std::optional<RematScopeOptions> remat;  // from the scope in which the layer was created

  // A build, and the first call of each phase, hold the tracing lock, because a trace may make
  // first calls and a first call may trace functions.
  bool building = false;
  std::atomic<bool> built = false;
  std::vector<Shape> built_shapes;
  std::vector<std::string> built_names;
  std::atomic<unsigned> phases_done = 0;

  std::vector<Variable> own_weights;
  std::unordered_set<uint64_t> made_frozen;  // numbers of the weights created as non-trainable
  std::vector<Variable> own_state;
  std::vector<WeightRegularizer> regularizers;
  std::vector<std::shared_ptr<MetricImpl>> metrics;

  // Guards all members down to `lost`: other threads read them while a first call discovers
  // sub-layers. No other lock is acquired while it is held.
  std::mutex relations;
  // Sub-layers: the first `tracked` were added by track(), the others were discovered by a first
  // call. The latter are in creation order, which doesn't depend on the path taken by the call.
  Layer::NamedLayers children;
  size_t tracked = 0;
  std::unordered_set<uint64_t> known;                // ids of known descendants
  std::vector<std::weak_ptr<LayerState>> borrowers;  // layers that refer to it without owning it
  std::string lost;  // a layer with weights that was destroyed during the first call

  std::atomic<int64_t> nodes_made = 0;
  std::vector<std::weak_ptr<KerasNode>> nodes;
};

// Rolls back what a build has created unless keep() is called, so that a failed build can be
// retried.
class [[nodiscard]] BuildUndo {
 public:
  explicit BuildUndo(LayerState& state);
  ~BuildUndo();
  BuildUndo(const BuildUndo&) = delete;
  BuildUndo& operator=(const BuildUndo&) = delete;
  void keep() { kept_ = true; }

 private:
  LayerState& state_;
  size_t weights_;
  size_t states_;
  size_t regularizers_;
  std::unordered_set<const Layer*> children_;
  bool kept_ = false;
};

}  // namespace cornu::internal
