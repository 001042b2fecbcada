// SPDX-License-Identifier: Apache-2.0
// Converts models to and from Keras's configs.
#pragma once

#include <string_view>

#include "framework/core/json.h"
#include "framework/model/layer_registry.h"
#include "framework/train/model.h"

namespace cornu {

// Registers "Sequential", "Functional" (also under its old name "Model"), "InputLayer" and
// "Distiller".
void register_models(Registry<LayerFactory>& registry);

// Returns a model's config.json: its serialized form with the compile arguments ({} when not
// compiled or, with a warning, when one of them is a function, which can't be saved).
Json serialize_model(const Model& model);
// As serialize_model, without the compile arguments.
Json serialize_architecture(const Model& model);
// Throws Unimplemented if a layer is quantized whose config isn't part of `config`, e.g. within a
// MultiHeadAttention: a model recreated from the config would differ.
void require_quantization_in_config(const Model& model, const Json& config);
// Converts the compile arguments to and from Keras's compile_config.
Json compile_config(const Model& model);
// As compile_config, but returns {} with a warning if the arguments can't be saved.
Json compile_config_or_none(const Model& model);
// Returns a single compile argument by its name. Throws InvalidArgument for a function, which can't
// be saved.
Json compile_argument(const CompileOptions& options, std::string_view name);
CompileOptions compile_options_from_json(const Json& json);
// As compile_options_from_json, for a model from a file. If its outputs are a dictionary, lists
// with an entry for each output follow its sorted keys, as in Keras.
CompileOptions compile_options_for(const Model& model, Json config);

// Serializes a layer within a model; the layer may itself be a model.
Json serialize_part(const Layer& layer);

// Create a model from the config of its class.
std::shared_ptr<Model> functional_from_config(const Json& config);
std::shared_ptr<Model> sequential_from_config(const Json& config);
// Recreates a model from its serialize_model(), with newly initialized weights; with `compile`, it
// is compiled if the original was.
Model model_from_config(const Json& config, bool compile);

}  // namespace cornu
