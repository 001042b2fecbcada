// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/pipeline.h"

#include "framework/model/layer_registry.h"
#include "layers/keras_layer.h"

namespace cornu::layers {
namespace {

class PipelineLayer : public KerasLayer {
 public:
  PipelineLayer(const std::vector<LayerHandle>& layers, const PipelineOptions& options)
      : KerasLayer("Pipeline", {.name = options.name}), layers_(layers) {
    for (const LayerHandle& layer : layers) {
      require(static_cast<bool>(layer), "expected layers, got none at one place.");
    }
    track("layers", layers_);
  }
  bool autocast() const override { return false; }
  bool training_by_default() const override { return true; }

  Json get_config() const override {
    Json::Array list;
    for (const LayerHandle& layer : layers_) list.push_back(serialize_layer(layer.get()));
    return Json::object({{"layers", std::move(list)}, {"name", name()}});
  }

  void build_list(const std::vector<Shape>&) override {}
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    Tensors x = inputs;
    for (const LayerHandle& layer : layers_) x = layer(x, args);
    return x;
  }

  const std::vector<LayerHandle>& layers() const { return layers_; }

 private:
  std::vector<LayerHandle> layers_;
};

}  // namespace

Pipeline::Pipeline(const std::vector<LayerHandle>& layers, const PipelineOptions& options)
    : LayerHandle(std::make_shared<PipelineLayer>(layers, options)) {}

Pipeline Pipeline::from_config(const Json& config) {
  std::vector<LayerHandle> layers;
  for (const Json& layer : config.at("layers").as_array()) layers.push_back(layer_from_json(layer));
  const Json* name = config.find("name");
  return Pipeline(layers, {.name = name ? name->as_string() : std::string()});
}

std::vector<LayerHandle> Pipeline::layers() const {
  return layer_of<PipelineLayer>(*this).layers();
}

}  // namespace cornu::layers
