// SPDX-License-Identifier: Apache-2.0
#include "framework/train/model_config.h"

#include <algorithm>
#include <utility>

#include "framework/core/logging.h"
#include "framework/model/dictionary_paths.h"
#include "framework/model/functional.h"
#include "framework/model/layer_sharing.h"
#include "framework/model/own_classes.h"
#include "framework/saving/functional_config.h"
#include "framework/saving/keras_op.h"
#include "framework/saving/op_layers.h"
#include "framework/train/body.h"
#include "framework/train/distiller.h"
#include "framework/train/per_output.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

// ---- compile arguments ----

Json metrics_to_json(const MetricsArgument& metrics) {
  if (metrics.empty()) return nullptr;
  Json::Array list;
  Json named = Json::object();
  for (const MetricsArgument::Entry& entry : metrics.entries()) {
    Json::Array part;
    for (const Metric& metric : entry.list) part.push_back(serialize(metric));
    if (!entry.output.empty()) {
      named.set(entry.output, Json(std::move(part)));
    } else if (part.size() == 1) {
      list.push_back(part[0]);
    } else {
      list.emplace_back(std::move(part));
    }
  }
  return list.empty() ? named : Json(std::move(list));
}

std::vector<Metric> metric_list(const Json& json) {
  std::vector<Metric> result;
  if (json.is_null()) return result;
  if (!json.is_array()) return {metric_from_json(json)};
  for (const Json& element : json.as_array()) result.push_back(metric_from_json(element));
  return result;
}

MetricsArgument metrics_from_json(const Json* json) {
  if (!json || json->is_null()) return {};
  std::vector<MetricsArgument::Entry> entries;
  if (json->is_object() && !is_serialized_object(*json)) {
    for (const auto& [name, list] : json->as_object())
      entries.emplace_back(name, metric_list(list));
  } else if (json->is_array()) {
    for (const Json& element : json->as_array()) entries.emplace_back(metric_list(element));
  } else {
    entries.emplace_back(metric_list(*json));
  }
  return entries;
}

// The arguments with a value, or a list of values, for each output.
constexpr const char* kPerOutput[] = {"loss", "loss_weights", "metrics", "weighted_metrics"};

// The keys of outputs that are a dictionary, in its order; empty for other outputs.
std::vector<std::string> output_keys(const Model& model) {
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (!graph) return {};
  std::vector<std::string> keys = graph->outputs().names();
  const bool nested = std::ranges::any_of(
      keys, [](const std::string& key) { return key.find('/') != std::string::npos; });
  return nested ? std::vector<std::string>() : keys;
}

// A list with an entry for each key as an object; anything else as it is.
Json by_key(const Json& argument, const std::vector<std::string>& keys) {
  if (!argument.is_array() || keys.size() < 2 || argument.size() != keys.size()) return argument;
  Json named = Json::object();
  for (size_t i = 0; i < keys.size(); ++i) named.set(keys[i], argument[i]);
  return named;
}

// ---- models ----

Json build_config(const Model& model) {
  if (model.class_name() == "Functional") return Json::object({{"input_shape", nullptr}});
  const auto& shapes = model.built_shapes();
  if (shapes.empty()) return nullptr;
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (shapes.size() == 1 && !(graph && model.inputs().has_names())) {
    return Json::object({{"input_shape", graph ? graph->inputs()[0].shape() : shapes[0]}});
  }
  Json of_inputs = Json(Json::Array(shapes.begin(), shapes.end()));
  if (const auto& names = model.built_names(); !names.empty()) {
    of_inputs = nested_object(names, {shapes.begin(), shapes.end()});
  }
  return Json::object({{"input_shape", std::move(of_inputs)}});
}

LayerHandle input_layer_from_config(const Json& config) {
  const Json* shape = config.find("batch_shape");
  if (!shape) shape = config.find("batch_input_shape");  // in Keras 2
  check<InvalidArgument>(shape != nullptr, "InputLayer: its config has no 'batch_shape'.");
  const Json* dtype = config.find("dtype");
  const Json* name = config.find("name");
  return LayerHandle(std::make_shared<InputLayer>(
      shape->as_shape(),
      dtype && dtype->is_string() ? dtype_from_string(dtype->as_string()) : DType::Float32,
      name ? name->as_string() : std::string()));
}

}  // namespace

Json serialize_part(const Layer& layer) {
  if (const auto* model = dynamic_cast<const Model*>(&layer)) return serialize_model(*model);
  if (const auto* op = dynamic_cast<const OpLayer*>(&layer)) {
    const Json entry = op->keras_entry();
    return entry.is_null() ? serialize_op(*op) : entry;
  }
  if (const auto* op = dynamic_cast<const KerasOp*>(&layer)) return op->entry();
  return serialize_layer(layer);
}

namespace {

Json serialized_architecture(const Model& model) {
  const ClassMembers of = class_members(model.module(), model.class_name());
  Json json = Json::object({{"module", of.module},
                            {"class_name", of.class_name},
                            {"config", model.get_config()},
                            {"registered_name", of.registered_name}});
  if (Json build = build_config(model); !build.is_null()) json.set("build_config", build);
  return json;
}

}  // namespace

Json serialize_architecture(const Model& model) {
  return internal::serialize_with_sharing(model, [&] { return serialized_architecture(model); });
}

Json serialize_model(const Model& model) {
  return internal::serialize_with_sharing(model, [&] {
    Json json = serialized_architecture(model);
    json.set("compile_config", compile_config_or_none(model));
    return json;
  });
}

Json compile_config_or_none(const Model& model) {
  try {
    return compile_config(model);
  } catch (const InvalidArgument& error) {  // a function: still save the weights
    logging::warn(fmt::format(
        "{} '{}': saved without its compile arguments, to be given again after loading. {}",
        model.class_name(), model.name(), error.what()));
    return Json::object();
  }
}

Json compile_argument(const CompileOptions& options, std::string_view name) {
  if (name == "optimizer") return serialize(options.optimizer);
  if (name == "loss") {
    return per_output_to_json(options.loss, [](const Loss& x) { return serialize(x); });
  }
  if (name == "loss_weights") {
    return per_output_to_json(options.loss_weights, [](double x) { return Json(x); });
  }
  if (name == "metrics") return metrics_to_json(options.metrics);
  if (name == "weighted_metrics") return metrics_to_json(options.weighted_metrics);
  if (name == "run_eagerly") return options.run_eagerly;
  if (name == "steps_per_execution") return options.steps_per_execution;
  CORNU_ASSERT(name, ==, "jit_compile");
  return "auto";
}

Json compile_config(const Model& model) {
  Json config = Json::object();
  if (!model.compiled()) return config;
  for (const char* name : {"optimizer", "loss", "loss_weights", "metrics", "weighted_metrics",
                           "run_eagerly", "steps_per_execution", "jit_compile"}) {
    config.set(name, compile_argument(model.trainer().options(), name));
  }
  // Keras sorts the keys of a dictionary before it matches them with a list.
  for (const char* name : kPerOutput) config.set(name, by_key(config[name], output_keys(model)));
  return config;
}

CompileOptions compile_options_for(const Model& model, Json config) {
  std::vector<std::string> keys = output_keys(model);
  std::ranges::sort(keys);
  for (const char* name : kPerOutput) {
    if (const Json* argument = config.find(name)) config.set(name, by_key(*argument, keys));
  }
  return compile_options_from_json(config);
}

CompileOptions compile_options_from_json(const Json& json) {
  CompileOptions options;
  if (const Json* optimizer = json.find("optimizer"); optimizer && !optimizer->is_null()) {
    options.optimizer = optimizer_from_json(*optimizer);
  }
  options.loss = per_output_from_json<Loss>(json.find("loss"), loss_from_json);
  options.loss_weights = per_output_from_json<double>(json.find("loss_weights"),
                                                      [](const Json& x) { return x.as_double(); });
  options.metrics = metrics_from_json(json.find("metrics"));
  options.weighted_metrics = metrics_from_json(json.find("weighted_metrics"));
  // Keras's default on a CPU is no jit_compile; here the option selects graph passes, so it stays
  // on. Keras 2 writes null for omitted arguments.
  const auto given = [&](const char* name) {
    const Json* value = json.find(name);
    return value && !value->is_null() ? value : nullptr;
  };
  if (const Json* eager = given("run_eagerly")) options.run_eagerly = eager->as_bool();
  if (const Json* steps = given("steps_per_execution")) {
    options.steps_per_execution = steps->as_int();
  }
  return options;
}

std::shared_ptr<Model> sequential_from_config(const Json& config) {
  ModelOptions options;
  if (const Json* name = config.find("name")) options.name = name->as_string();
  if (const Json* trainable = config.find("trainable")) options.trainable = trainable->as_bool();
  auto model = std::make_shared<Sequential>(options);
  for (const Json& entry : config.at("layers").as_array()) model->add(layer_from_json(entry));
  const Json* shape = config.find("build_input_shape");
  if (shape && shape->is_array() && !model->layers().empty()) {
    model->ensure_built({shape->as_shape()});
  }
  return model;
}

Json FunctionalBody::get_config(const Model& model) const {
  Json config = Json::object({{"name", model.name()}, {"trainable", model.trainable()}});
  write_graph(config, graph_, serialize_part);
  return config;
}

std::shared_ptr<Model> functional_from_config(const Json& config) {
  const GraphEnds ends = read_graph(config);
  ModelOptions options;
  if (const Json* name = config.find("name")) options.name = name->as_string();
  if (const Json* trainable = config.find("trainable")) options.trainable = trainable->as_bool();
  return std::make_shared<Model>(ends.inputs, ends.outputs, options);
}

void register_models(Registry<LayerFactory>& registry) {
  registry.add("Functional", [](const Json& config) -> LayerHandle {
    return LayerHandle(functional_from_config(config));
  });
  registry.add_alias("Model", "Functional");
  registry.add("Sequential", [](const Json& config) -> LayerHandle {
    return LayerHandle(sequential_from_config(config));
  });
  registry.add("InputLayer", input_layer_from_config);
  registry.add("Distiller", distillation::distiller_from_config);
}

}  // namespace cornu
