// SPDX-License-Identifier: Apache-2.0
#include "framework/model/remat.h"

#include <algorithm>

#include "framework/core/strings.h"
#include "framework/model/remat_call.h"

namespace cornu {
namespace {

thread_local const RematScopeOptions* innermost = nullptr;
thread_local bool covers = false;

}  // namespace

RematScope::RematScope(const RematScopeOptions& options) : options_(options), outer_(innermost) {
  static const std::vector<std::string> modes = {"full", "activations", "larger_than",
                                                 "list_of_layers"};
  check<InvalidArgument>(!options.mode || std::ranges::find(modes, *options.mode) != modes.end(),
                         "RematScope: unknown mode '{}'.{}", options.mode.value_or(""),
                         did_you_mean(options.mode.value_or(""), modes));
  innermost = &options_;
}
RematScope::~RematScope() { innermost = outer_; }

const RematScopeOptions* RematScope::current() {
  return innermost && innermost->mode ? innermost : nullptr;
}

namespace internal {

RematCall::RematCall(const Layer& layer, const std::optional<RematScopeOptions>& made_in)
    : outer_covers_(covers) {
  const std::string mode = made_in ? *made_in->mode : "";
  covers = mode == "activations";
  const auto is_listed = [&] {
    return std::ranges::find(made_in->layer_names, layer.name()) != made_in->layer_names.end();
  };
  if (!layer.is_remat_region()) return;
  if (mode == "larger_than") threshold_ = made_in->output_size_threshold;
  if (mode == "full" || threshold_ || (mode == "list_of_layers" && is_listed())) region_.emplace();
}
RematCall::~RematCall() { covers = outer_covers_; }

void RematCall::finish(const Tensors& outputs) {
  if (!threshold_) return;
  int64_t elements = 0;
  for (const Tensor& output : outputs) elements += output.num_elements();
  if (elements <= *threshold_) region_->give_up();
}

bool RematCall::covers_activations() { return covers; }

}  // namespace internal

Tensor Activation::operator()(const Tensor& x) const {
  if (!impl_) return x;
  std::optional<RematRegion> region;
  if (internal::RematCall::covers_activations()) region.emplace();
  const Tensor result = impl_->function(x);
  check<Unimplemented>(
      !impl_->layer || impl_->layer->weights().empty(),
      "Activation: {} '{}' has weights, which a layer that it is the activation of "
      "doesn't keep. Call it on that layer's output.",
      impl_->layer ? impl_->layer->class_name() : "", impl_->layer ? impl_->layer->name() : "");
  return result;
}

}  // namespace cornu
