// SPDX-License-Identifier: Apache-2.0
// Models to Keras's configs and back.
#pragma once

#include <string_view>

#include "framework/core/json.h"
#include "framework/model/layer_registry.h"
#include "framework/train/model.h"

namespace cornu {

// "Sequential", "Functional" (also by its old name "Model") and "InputLayer".
void register_models(Registry<LayerFactory>& registry);

// A model's config.json: its serialized form with the compile arguments ({} when not compiled, and
// with a warning when one of them is a function, which has no form in files).
Json serialize_model(const Model& model);
// The same without the compile arguments.
Json serialize_architecture(const Model& model);
// Unimplemented where a layer is quantized whose config isn't part of `config`, as within a
// MultiHeadAttention: a model that is made of it would be another one.
void require_quantization_in_config(const Model& model, const Json& config);
// The compile arguments, as Keras's compile_config has them, and back.
Json compile_config(const Model& model);
// The same where it can be written; {} elsewhere, with a warning.
Json compile_config_or_none(const Model& model);
// One of them by its name there. InvalidArgument for a function, which has no form in files.
Json compile_argument(const CompileOptions& options, std::string_view name);
CompileOptions compile_options_from_json(const Json& json);

// A layer's serialized form within a model, which may be a model itself.
Json serialize_part(const Layer& layer);

// Makes a model from the config of its class.
std::shared_ptr<Model> functional_from_config(const Json& config);
// The model that serialize_model() of one tells of, with fresh weights; compiled where it was.
Model model_from_config(const Json& config, bool compile);
std::shared_ptr<Model> sequential_from_config(const Json& config);

}  // namespace cornu
