// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/bidirectional.h"

#include "framework/core/strings.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields&, BidirectionalOptions&) {}

namespace {

// Returns a copy of `layer` with another name, which outputs zeros at masked steps of sequences.
LayerHandle like(const LayerHandle& layer, const std::string& prefix, bool backwards) {
  Json json = serialize_layer(layer.get());
  Json config = json.at("config");
  const std::string& name = layer.name();
  config.set("name", name.starts_with(prefix) ? name : prefix + name);
  const LoopOptions& loop = as_recurrent(layer, "Bidirectional").loop();
  config.set("zero_output_for_mask", loop.return_sequences);
  config.set("go_backwards", loop.go_backwards || backwards);
  json.set("config", std::move(config));
  return layer_from_json(json);
}

class BidirectionalLayer : public KerasLayer {
 public:
  BidirectionalLayer(const LayerHandle& layer, const BidirectionalOptions& options)
      : KerasLayer("Bidirectional", base_options(options)), merge_mode_(options.merge_mode) {
    const std::vector<std::string> modes = {"concat", "sum", "mul", "ave", ""};
    require(std::find(modes.begin(), modes.end(), merge_mode_) != modes.end(),
            "expected merge_mode \"concat\", \"sum\", \"mul\", \"ave\" or \"\" (None), got "
            "\"{}\".{}",
            merge_mode_, did_you_mean(merge_mode_, modes));
    as_recurrent(layer, label());
    forward_ = track("forward_layer", like(layer, "forward_", false));
    const LayerHandle& given = options.backward_layer;
    if (given) as_recurrent(given, label());
    backward_ =
        track("backward_layer", given ? like(given, "", false) : like(layer, "backward_", true));
    check_pair();
  }

  const CallSignature& call_signature() const override { return forward_.get().call_signature(); }
  bool supports_masking() const override { return true; }
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }
  void build_list(const std::vector<Shape>& shapes) override {
    forward_.get().ensure_built({shapes.at(0)});
    backward_.get().ensure_built({shapes[0]});
  }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    const std::vector<Tensor> states(inputs.begin() + 1, inputs.end());
    require(states.size() % 2 == 0,
            "expected as many initial states for both directions, got {} in all.", states.size());
    const auto half = states.begin() + static_cast<std::ptrdiff_t>(states.size() / 2);
    const auto run = [&](const LayerHandle& layer, std::vector<Tensor> given) {
      given.insert(given.begin(), inputs[0]);
      CallOptions options = args;
      if (args.mask_given) {
        std::vector<Tensor> masks(given.size());
        masks[0] = inputs[0].mask();
        options.mask = masks;
      }
      return layer(Tensors(std::move(given)), options).list();
    };
    const std::vector<Tensor> forward = run(forward_, {states.begin(), half});
    const std::vector<Tensor> backward = run(backward_, {half, states.end()});
    const bool sequences = recurrent().loop().return_sequences;
    std::vector<Tensor> outputs =
        merged(forward[0], sequences ? ops::flip(backward[0], 1) : backward[0]);
    if (sequences && inputs[0].mask().defined()) {
      for (Tensor& output : outputs) output = output.with_mask(inputs[0].mask());
    }
    outputs.insert(outputs.end(), forward.begin() + 1, forward.end());
    outputs.insert(outputs.end(), backward.begin() + 1, backward.end());
    return outputs;
  }

  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("merge_mode", merge_mode_.empty() ? Json() : Json(merge_mode_));
    config.set("layer", serialize_layer(forward_.get()));
    config.set("backward_layer", serialize_layer(backward_.get()));
    return config;
  }

  void reset_state() {
    as_recurrent(forward_, label()).reset_state();
    as_recurrent(backward_, label()).reset_state();
  }

 private:
  const RecurrentLayer& recurrent() const { return as_recurrent(forward_, label()); }

  void check_pair() const {
    const LoopOptions& forward = recurrent().loop();
    const LoopOptions& backward = as_recurrent(backward_, label()).loop();
    require(forward.go_backwards != backward.go_backwards,
            "expected one layer that goes backwards and one that doesn't, got go_backwards {} of "
            "both.",
            forward.go_backwards);
    require(forward.return_sequences == backward.return_sequences &&
                forward.return_state == backward.return_state &&
                forward.stateful == backward.stateful,
            "expected layers with the same return_sequences, return_state and stateful, got {}, "
            "{}, {} and {}, {}, {}.",
            forward.return_sequences, forward.return_state, forward.stateful,
            backward.return_sequences, backward.return_state, backward.stateful);
  }

  std::vector<Tensor> merged(const Tensor& forward, const Tensor& backward) const {
    const Tensor y = ops::cast(forward, compute_dtype());
    const Tensor reversed = ops::cast(backward, compute_dtype());
    if (merge_mode_.empty()) return {y, reversed};
    if (merge_mode_ == "concat") return {ops::concatenate({y, reversed}, -1)};
    if (merge_mode_ == "mul") return {y * reversed};
    const Tensor sum = y + reversed;
    return {merge_mode_ == "ave" ? sum / 2 : sum};
  }

  std::string merge_mode_;
  LayerHandle forward_;
  LayerHandle backward_;
};

}  // namespace

Bidirectional::Bidirectional(const LayerHandle& layer, const BidirectionalOptions& options)
    : LayerHandle(std::make_shared<BidirectionalLayer>(layer, options)) {}

Bidirectional Bidirectional::from_config(const Json& config) {
  auto options = read_layer_options<BidirectionalOptions>(config);
  if (const Json* mode = config.find("merge_mode")) {
    options.merge_mode = mode->is_null() ? "" : mode->as_string();
  }
  const Json* backward = config.find("backward_layer");
  if (backward && !backward->is_null()) options.backward_layer = layer_from_json(*backward);
  return Bidirectional(layer_from_json(config.at("layer")), options);
}

void Bidirectional::reset_state() const { dynamic_cast<BidirectionalLayer&>(get()).reset_state(); }

}  // namespace cornu::layers
