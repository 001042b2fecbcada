// SPDX-License-Identifier: Apache-2.0
// Sub-layers: those that are tracked, and those discovered during first calls.
#include <algorithm>
#include <atomic>

#include "framework/core/strings.h"
#include "framework/graph/trace.h"
#include "framework/model/call_frame.h"
#include "framework/model/layer_registry.h"
#include "framework/model/layer_state.h"
#include "framework/model/title.h"

namespace cornu {
namespace internal {

uint64_t next_stamp() {
  static std::atomic<uint64_t> stamp = 0;
  return ++stamp;
}

namespace {

constexpr int kDeepestCall = 256;  // well below what the stack has room for

struct CallContext {
  std::optional<bool> training;
  int depth = 0;  // of calls on values
  int calls = 0;  // nesting depth
  CallFrame* frame = nullptr;
};
thread_local CallContext context;

// Returns a numbered key, based on the layer's class, that is unique among `children`.
std::string numbered_key(const std::string& prefix, const Layer& layer,
                         const Layer::NamedLayers& children, size_t count) {
  const std::string stem = prefix + default_name(layer.class_name());
  auto taken = [&](const std::string& candidate) {
    return std::any_of(children.begin(), children.begin() + static_cast<int64_t>(count),
                       [&](const auto& entry) { return entry.first == candidate; });
  };
  std::string key = stem;
  for (int number = 1; taken(key); ++number) key = stem + "_" + std::to_string(number);
  return key;
}

// Requires the relations lock.
void name_untracked(LayerState& state) {
  for (size_t i = state.tracked; i < state.children.size(); ++i) {
    state.children[i].first = numbered_key("", *state.children[i].second, state.children, i);
  }
}

}  // namespace

CallFrame::CallFrame(Layer& layer, Phase phase)
    : outer_(context.frame), layer_(&layer), phase_(phase) {
  LayerState& state = *layer.state_;
  auto done = [&] { return (state.phases_done & static_cast<unsigned>(phase)) != 0; };
  if (!done()) {
    lock_ = tracing_lock();
    first_ = !done();
    if (first_) {
      const std::lock_guard relations(state.relations);
      state.lost.clear();
    } else {
      lock_.unlock();
    }
  }
  context.frame = this;
}

CallFrame::CallFrame() : outer_(context.frame) { context.frame = this; }

CallFrame::~CallFrame() { context.frame = outer_; }

namespace {

bool has_below(const Layer& layer, uint64_t id, const auto& id_of) {
  const auto children = layer.sublayers();
  return std::any_of(children.begin(), children.end(), [&](const auto& entry) {
    return id_of(*entry.second) == id || has_below(*entry.second, id, id_of);
  });
}

}  // namespace

bool CallFrame::note_call(Layer& callee) {
  CallFrame* const frame = context.frame;
  if (!frame || !frame->layer_) return false;
  const uint64_t id = callee.state_->id;
  LayerState& caller = *frame->layer_->state_;
  if (id == caller.id) return false;
  {
    const std::lock_guard lock(caller.relations);
    if (caller.known.contains(id)) return false;
  }
  if (frame->first_) {
    frame->take_in(callee);
    return false;
  }
  auto id_of = [](const Layer& layer) { return layer.state_->id; };
  for (const CallFrame* outer = frame; outer; outer = outer->outer_) {
    if (outer->layer_ &&
        (outer->layer_->state_->id == id || has_below(*outer->layer_, id, id_of))) {
      return false;
    }
  }
  return true;
}

void CallFrame::take_in(Layer& callee) {
  LayerState& state = *layer_->state_;
  auto id_of = [](const Layer& layer) { return layer.state_->id; };
  const uint64_t id = id_of(callee);
  for (const CallFrame* outer = this; outer; outer = outer->outer_) {
    if (outer->layer_ && id_of(*outer->layer_) == id) return;  // a caller of this layer
  }
  if (!has_below(*layer_, id, id_of)) {
    std::shared_ptr<Layer> child = callee.shared_self();
    if (!child) {  // not owned by a handle: its destructor removes it
      child = std::shared_ptr<Layer>(std::shared_ptr<void>(), &callee);
      const std::lock_guard lock(callee.state_->relations);
      callee.state_->borrowers.push_back(layer_->state_);
    }
    {
      const std::lock_guard lock(state.relations);
      auto& children = state.children;
      const auto place =
          std::find_if(children.begin() + static_cast<int64_t>(state.tracked), children.end(),
                       [&](const auto& entry) { return id_of(*entry.second) > id; });
      children.emplace(place, "", child);
      name_untracked(state);
    }
    if (state.trainable_since > callee.state_->trainable_since) {
      callee.set_trainable_since(state.trainable, state.trainable_since);
    }
    callee.clear_losses();
  }
  const std::lock_guard lock(state.relations);
  state.known.insert(id);
}

void CallFrame::finish() {
  if (!first_) return;
  LayerState& state = *layer_->state_;
  std::string made_within;
  Layer::NamedLayers gone;  // layers kept alive only by the list of sub-layers
  {
    const std::lock_guard lock(state.relations);
    made_within = std::exchange(state.lost, "");
    Layer::NamedLayers kept;
    for (size_t i = 0; i < state.children.size(); ++i) {
      const auto& [key, child] = state.children[i];
      const bool known =
          i < state.tracked || child.use_count() != 1 || child->state_.use_count() != 1;
      if (!known) state.known.erase(child->state_->id);
      (known ? kept : gone).push_back(std::move(state.children[i]));
    }
    state.children = std::move(kept);
    name_untracked(state);
  }
  for (const auto& [key, child] : gone) {
    if (!child->weights().empty() || !child->losses().empty()) made_within = title_of(*child);
  }
  check<FailedPrecondition>(
      made_within.empty(),
      "{}: {} was created during a call, so each call would have new weights that are neither "
      "trained nor saved. Make it a member, and call track(…) on it in the constructor.",
      title_of(*layer_), made_within);
  state.phases_done |= static_cast<unsigned>(phase_);
}

bool CallFrame::has_within(const Layer& whole, const Layer& part) {
  auto id_of = [](const Layer& layer) { return layer.state_->id; };
  return id_of(whole) == id_of(part) || has_below(whole, id_of(part), id_of);
}

void CallFrame::require_nothing_lost(const Layer& stray) {
  if (stray.weights().empty() && stray.losses().empty()) return;
  const Layer& caller = *context.frame->layer_;
  FailedPrecondition error(
      fmt::format("{}: it calls {}, which its first call skipped and which isn't tracked: nothing "
                  "would train or save the weights. Make it a member, and in the constructor of {} "
                  "write track(member).",
                  title_of(caller), title_of(stray), caller.class_name()));
  error.add_place("");  // the caller is already named
  throw error;
}

size_t CallFrame::taken_in(const Layer& layer) {
  const std::lock_guard lock(layer.state_->relations);
  return layer.state_->children.size() - layer.state_->tracked;
}

void CallFrame::take_back(const Layer& gone) {
  std::vector<std::weak_ptr<LayerState>> borrowers;
  {
    const std::lock_guard lock(gone.state_->relations);
    borrowers = gone.state_->borrowers;
  }
  if (borrowers.empty()) return;
  const bool has_weights = !gone.weights().empty();
  for (const auto& borrower : borrowers) {
    const std::shared_ptr<LayerState> state = borrower.lock();
    if (!state) continue;
    const std::lock_guard lock(state->relations);
    auto& children = state->children;
    const auto entry = std::find_if(children.begin(), children.end(),
                                    [&](const auto& child) { return child.second.get() == &gone; });
    if (entry == children.end()) continue;
    const bool tracked = entry - children.begin() < static_cast<int64_t>(state->tracked);
    if (tracked) {
      --state->tracked;
    } else if (state->phases_done == 0 && has_weights) {
      state->lost = fmt::format("'{}'", gone.name());
    }
    children.erase(entry);
    state->known.erase(gone.state_->id);
    name_untracked(*state);
  }
}

CallDepth::CallDepth(const Layer& layer) {
  check<FailedPrecondition>(context.calls < kDeepestCall,
                            "{}: {} calls of layers are within each other here. A layer must not "
                            "call itself, nor a layer that calls it: the calls would never end.",
                            title_of(layer), context.calls);
  ++context.calls;
}

CallDepth::~CallDepth() { --context.calls; }

CallScope::CallScope(const std::optional<bool>& training) : previous_training_(context.training) {
  if (training) context.training = training;
  ++context.depth;
}

CallScope::~CallScope() {
  context.training = previous_training_;
  --context.depth;
}

bool CallScope::outermost() { return context.depth == 0; }

}  // namespace internal

std::optional<bool> current_training() { return internal::context.training; }

void internal::require_outside(const Layer& layer, const Layer& of, const char* what) {
  check<InvalidArgument>(
      !CallFrame::has_within(layer, of),
      "{}: {} got {}, which is this layer or has it within, so that a call would "
      "never end. Make one of other layers.",
      title_of(of), what, title_of(layer));
}

void internal::require_unbuilt(const Layer& layer, const char* what, const std::string& of) {
  check<FailedPrecondition>(!layer.built(),
                            "{}: {} '{}' was called after it was built. Make weights and layers in "
                            "its constructor or in build(), so that they're made once.",
                            title_of(layer), what, of);
}

internal::BuildUndo::BuildUndo(LayerState& state)
    : state_(state),
      weights_(state.own_weights.size()),
      states_(state.own_state.size()),
      regularizers_(state.regularizers.size()) {
  const std::lock_guard lock(state.relations);
  for (const auto& [key, child] : state.children) children_.insert(child.get());
}

internal::BuildUndo::~BuildUndo() {
  if (kept_) return;
  state_.own_weights.resize(weights_);
  state_.own_state.resize(states_);
  state_.regularizers.resize(regularizers_);
  state_.built_names.clear();
  Layer::NamedLayers before;  // then holds removed layers, destroyed after unlocking
  const std::lock_guard lock(state_.relations);
  size_t tracked = 0;
  for (size_t i = 0; i < state_.children.size(); ++i) {
    if (!children_.contains(state_.children[i].second.get())) continue;
    before.push_back(state_.children[i]);
    if (i < state_.tracked) ++tracked;
  }
  state_.children.swap(before);
  state_.tracked = tracked;
  state_.known.clear();  // later calls fill it again
  name_untracked(state_);
}

void internal::require_made_once(const Layer& layer, size_t made_before) {
  const std::vector<Variable>& all = layer.own_weights();
  const auto middle = all.begin() + static_cast<int64_t>(made_before);
  for (auto made = middle; made != all.end(); ++made) {
    const std::string& of = made->name();
    const bool again =
        of != WeightOptions().name &&
        std::any_of(all.begin(), middle, [&](const Variable& first) { return first.name() == of; });
    check<FailedPrecondition>(
        !again,
        "{}: build made the weight '{}' twice. It was called by itself before: "
        "call ensure_built({{shape}}), or the layer, which remember it.",
        title_of(layer), of);
  }
}

Layer::NamedLayers Layer::tracked() const {
  const std::lock_guard lock(state_->relations);
  return state_->children;
}

Layer::NamedLayers Layer::sublayers() const { return Layer::tracked(); }

void Layer::track_layer(const std::string& attribute, Layer& layer) {
  internal::LayerState& state = *state_;
  const NamedLayers known = Layer::tracked();
  const auto begin = known.begin();
  const auto end = begin + static_cast<int64_t>(state.tracked);
  const bool numbered = attribute.empty() || attribute.back() == '/';
  auto is_same = [&](const Layer& other) { return other.state_->id == layer.state_->id; };
  const bool again = std::any_of(begin, end, [&](const auto& entry) {
    return is_same(*entry.second) && (attribute.empty() || entry.first == attribute);
  });
  if (again) return;
  std::string key = attribute;
  if (numbered) key = internal::numbered_key(attribute, layer, known, state.tracked);
  internal::require_unbuilt(*this, "track", key);
  const bool taken = std::any_of(begin, end, [&](const auto& entry) { return entry.first == key; });
  check<AlreadyExists>(!taken,
                       "{} '{}': it tracks another layer as '{}'. Give this one a name of "
                       "its own.",
                       class_name(), name(), key);
  check<InvalidArgument>(key != "layers" || !saved_list(),
                         "{} '{}': files keep all layers of a model as 'layers'. Track this one "
                         "under another name.",
                         class_name(), name());
  internal::require_outside(layer, *this, "track");
  std::shared_ptr<Layer> child = layer.shared_self();
  if (!child) {
    child = std::shared_ptr<Layer>(std::shared_ptr<void>(), &layer);
    const std::lock_guard lock(layer.state_->relations);
    layer.state_->borrowers.push_back(state_);
  }
  std::shared_ptr<Layer> before;  // an untracked entry for the same layer, now renamed
  const std::lock_guard lock(state.relations);
  auto& children = state.children;
  const auto place = children.begin() + static_cast<int64_t>(state.tracked++);
  const auto rest = children.emplace(place, std::move(key), std::move(child)) + 1;
  state.known.insert(layer.state_->id);
  const auto found =
      std::find_if(rest, children.end(), [&](const auto& entry) { return is_same(*entry.second); });
  if (found != children.end()) {
    before = std::move(found->second);
    children.erase(found);
  }
  internal::name_untracked(state);
}

void Layer::track_variable(const std::string& attribute, const Variable& variable) {
  check<InvalidArgument>(!attribute.empty(),
                         "{} '{}': track expected a name for the variable, as in "
                         "track(\"scale\", scale_).",
                         class_name(), name());
  internal::require_unbuilt(*this, "track", attribute);
  const auto is_it = [&](const Variable& own) { return own.id() == variable.id(); };
  const bool is_own = std::ranges::any_of(own_weights(), is_it);  // made by add_weight
  std::string path = variable.path();
  if (is_own && path.ends_with("/" + variable.name())) {
    path.replace(path.size() - variable.name().size(), std::string::npos, attribute);
  } else {
    path = name() + "/" + attribute;
  }
  variable.set_path(std::move(path));
  if (!is_own) state_->add_own(variable);
}

void Layer::track_metric(std::shared_ptr<MetricImpl> metric) {
  auto& metrics = state_->metrics;
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
    metrics.push_back(std::move(metric));
  }
}

const std::vector<std::shared_ptr<MetricImpl>>& Layer::tracked_metrics() const {
  return state_->metrics;
}

}  // namespace cornu
