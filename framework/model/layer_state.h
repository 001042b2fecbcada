// SPDX-License-Identifier: Apache-2.0
// What the handles of one layer share. Internal: framework/model's .cc files include it.
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

// Counts up over all layers of the process: identities of layers, and the order of what was done.
uint64_t next_stamp();

// Throws FailedPrecondition for a layer that is built: `what` was to make its part `of`. A call may
// run many times, and under traces.
void require_unbuilt(const Layer& layer, const char* what, const std::string& of);

// Throws FailedPrecondition where build() has made a weight that was there: among the first
// `made_before` of the layer's own.
void require_made_once(const Layer& layer, size_t made_before);

// Runs eagerly whatever is being traced or recorded around it.
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
                           "Layer: expected a name without '/', which parts paths of weights in "
                           "files, got '{}'.",
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

  const uint64_t id = next_stamp();  // never used again, as an address would be
  std::mutex naming;
  std::string name;
  std::atomic<bool> named;
  std::atomic<bool> trainable;
  uint64_t trainable_since = 0;  // the stamp of set_trainable
  DTypePolicy policy;
  Regularizer activity_regularizer;
  std::optional<RematScopeOptions> remat;  // of the scope that it was made in

  // A build, and the first call of each phase, hold the lock on tracing: a trace may make
  // first calls, and a first call may trace functions.
  bool building = false;
  std::atomic<bool> built = false;
  std::vector<Shape> built_shapes;
  std::vector<std::string> built_names;
  std::atomic<unsigned> phases_done = 0;

  std::vector<Variable> own_weights;
  std::unordered_set<uint64_t> made_frozen;  // the numbers of those made not to be trained
  std::vector<Variable> own_state;
  std::vector<WeightRegularizer> regularizers;
  std::vector<std::shared_ptr<MetricImpl>> metrics;

  // Of all down to `lost`: other threads read them while a first call finds sub-layers. Nothing
  // else is locked while it is held.
  std::mutex relations;
  // Sub-layers: the first `tracked` ones by track(), the others because a first call came by them,
  // in the order they were made, which doesn't depend on the way a call took.
  Layer::NamedLayers children;
  size_t tracked = 0;
  std::unordered_set<uint64_t> known;                // ids of layers in the tree below
  std::vector<std::weak_ptr<LayerState>> borrowers;  // layers that have this one without owning it
  std::string lost;  // a layer with weights that went away during the first call

  std::atomic<int64_t> nodes_made = 0;
  std::vector<std::weak_ptr<KerasNode>> nodes;
};

// Takes away what a build has made unless it is kept: one that failed may be made again.
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
