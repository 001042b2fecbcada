// SPDX-License-Identifier: Apache-2.0
// Configs of whole models in HDF5 files written by Keras 3 and Keras 2. Reference:
// keras/src/legacy/saving/legacy_h5_format.py.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "framework/core/ascii.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/legacy_format.h"
#include "framework/saving/weights_file.h"

namespace cornu {
namespace {

// Converts a reference to an output, which Keras 2 writes as [layer, call, output, further
// arguments].
Json tensor_reference(const Json& history) {
  return Json::object(
      {{"class_name", "__keras_tensor__"},
       {"config",
        Json::object({{"keras_history", Json::array({history[0], history[1], history[2]})}})}});
}

bool is_history(const Json& json) {
  return json.is_array() && json.size() >= 3 && json[0].is_string() && json[1].is_int() &&
         json[2].is_int();
}

// Converts further arguments: outputs of other calls are referenced like inputs.
Json keyword_arguments(const Json& json) {
  Json result = Json::object();
  for (const auto& [key, value] : json.as_object()) {
    result.set(key, is_history(value) ? tensor_reference(value) : value);
  }
  return result;
}

// Converts a call of a layer, whose inputs are a list or a single one.
Json modern_call(const Json& call) {
  if (!call.is_array()) return call;
  if (is_history(call)) return modern_call(Json::array({call}));
  Json::Array inputs;
  Json keywords = Json::object();
  for (const Json& input : call.as_array()) {
    check<InvalidArgument>(is_history(input),
                           "Functional: expected inbound_nodes of [layer, call, output], got {}.",
                           printable(input.dump()));
    inputs.push_back(tensor_reference(input));
    if (input.size() > 3 && input[3].is_object()) keywords.merge(keyword_arguments(input[3]));
  }
  Json::Array arguments = {inputs.size() == 1 ? inputs[0] : Json(inputs)};
  return Json::object({{"args", std::move(arguments)}, {"kwargs", std::move(keywords)}});
}

// Nested models with inputs of their own: Keras 2 counts their construction as their first call.
// Returns whether they are sequential, by their names.
std::map<std::string, bool> models_in(const Json& layers) {
  std::map<std::string, bool> names;
  for (const Json& entry : layers.as_array()) {
    const Json* name = entry.find("name");
    const Json* config = entry.find("config");
    const Json* inner = config && config->is_object() ? config->find("layers") : nullptr;
    if (!name || !name->is_string() || !inner || !inner->is_array()) continue;
    const Json* first = inner->size() > 0 ? (*inner)[0].find("class_name") : nullptr;
    if (inner->size() == 0 || (first && *first == Json("InputLayer"))) {
      const Json* class_name = entry.find("class_name");
      names[name->as_string()] = class_name && *class_name == Json("Sequential");
    }
  }
  return names;
}

// Converts references to outputs, in lists and objects, so that calls of `models` count from 0.
Json with_calls_from_0(const Json& json, const std::map<std::string, bool>& models) {
  if (json.is_object()) {
    Json::Object members;
    for (const auto& [key, value] : json.as_object()) {
      members.emplace_back(key, with_calls_from_0(value, models));
    }
    return Json::of_members(std::move(members));
  }
  if (!json.is_array()) return json;
  Json::Array list;
  for (const Json& element : json.as_array()) list.push_back(with_calls_from_0(element, models));
  if (is_history(json) && json[1].as_int() > 0 && models.contains(json[0].as_string())) {
    list[1] = json[1].as_int() - 1;
  }
  return list;
}

// Whether a graph is in the Keras 2 form.
bool has_legacy_calls(const Json& layers) {
  return std::ranges::any_of(layers.as_array(), [](const Json& entry) {
    const Json* nodes = entry.find("inbound_nodes");
    return nodes && nodes->is_array() && nodes->size() > 0 && (*nodes)[0].is_array();
  });
}

// In Keras 3, references to the model's own inputs and outputs still count a functional model's
// calls in this way, and a sequential one's from 0.
void count_calls_from_0(Json& config) {
  const Json* layers = config.find("layers");
  if (!layers || !layers->is_array() || !has_legacy_calls(*layers)) return;
  std::map<std::string, bool> models = models_in(*layers);
  if (models.empty()) return;
  Json::Array counted;
  for (Json entry : layers->as_array()) {
    if (const Json* nodes = entry.find("inbound_nodes")) {
      entry.set("inbound_nodes", with_calls_from_0(Json(*nodes), models));
    }
    counted.push_back(std::move(entry));
  }
  config.set("layers", std::move(counted));
  std::erase_if(models, [](const auto& model) { return !model.second; });
  for (const char* ends : {"input_layers", "output_layers"}) {
    if (const Json* found = config.find(ends)) {
      config.set(ends, with_calls_from_0(Json(*found), models));
    }
  }
}

// Converts a layer's options, some of which have another name or form in Keras 2.
Json modern_options(const std::string& class_name, const Json& config) {
  Json result = Json::object();
  for (const auto& [key, value] : config.as_object()) {
    if (key == "batch_input_shape") {
      if (class_name == "InputLayer") result.set("batch_shape", value);
    } else if (key == "alpha" && class_name == "LeakyReLU") {
      result.set("negative_slope", value);
    } else if (key == "axis" && class_name == "BatchNormalization" && value.is_array() &&
               value.size() == 1) {
      result.set("axis", value[0]);
    } else {
      result.set(key, value);
    }
  }
  return result;
}

// Keras 2 makes a layer of an op of TensorFlow that is applied to an input of a model.
void reject_ops(const Json& entry) {
  const Json* class_name = entry.find("class_name");
  const Json* config = entry.find("config");
  if (!class_name || !class_name->is_string() || !config || !config->is_object()) return;
  const std::string& name = class_name->as_string();
  if (name != "TFOpLambda" && name != "SlicingOpLambda" && name != "TensorFlowOpLayer") return;
  const Json* function = config->find("function");
  raise<Unimplemented>(
      "The model applies an op of TensorFlow to its tensors outside of layers, {} (class {}), "
      "which neither Keras 3 nor Cornu reads. In Python, replace it by a layer (Add, Rescaling, "
      "Activation, …) and save the model again; or make the model here, and load its weights.",
      function && function->is_string() ? fmt::format("tf.{}", printable(function->as_string()))
                                        : std::string("unnamed"),
      name);
}

// Converts a layer and the layers within it.
Json modern_layer(const Json& entry) {
  reject_ops(entry);
  Json result = entry;
  const Json* found = entry.find("config");
  if (found && found->is_object()) {
    Json config = modern_options(entry.at("class_name").as_string(), *found);
    count_calls_from_0(config);
    if (const Json* layers = config.find("layers"); layers && layers->is_array()) {
      Json::Array modern;
      for (const Json& layer : layers->as_array()) modern.push_back(modern_layer(layer));
      config.set("layers", std::move(modern));
    }
    for (const char* inner : {"layer", "backward_layer", "activation", "recurrent_activation"}) {
      const Json* layer = config.find(inner);
      if (layer && layer->is_object()) config.set(inner, modern_layer(Json(*layer)));
    }
    result.set("config", std::move(config));
  }
  if (const Json* nodes = entry.find("inbound_nodes"); nodes && nodes->is_array()) {
    Json::Array calls;
    for (const Json& call : nodes->as_array()) calls.push_back(modern_call(call));
    result.set("inbound_nodes", std::move(calls));
  }
  return result;
}

// Adds the names of a model and of the layers within it.
void collect_names(const Json& entry, std::set<std::string>& names) {
  const Json* config = entry.is_object() ? entry.find("config") : nullptr;
  if (!config || !config->is_object()) return;
  for (const Json* part : {&entry, config}) {
    const Json* name = part->find("name");
    if (name && name->is_string()) names.insert(name->as_string());
  }
  if (const Json* layer = config->find("layer")) collect_names(*layer, names);
  const Json* layers = config->find("layers");
  if (!layers || !layers->is_array()) return;
  for (const Json& layer : layers->as_array()) collect_names(layer, names);
}

// Replaces names, also those of members (losses of outputs).
Json renamed(const Json& json, const std::map<std::string, std::string>& names) {
  const auto new_name = [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  };
  if (json.is_string()) return new_name(json.as_string());
  if (json.is_array()) {
    Json::Array list;
    for (const Json& element : json.as_array()) list.push_back(renamed(element, names));
    return list;
  }
  if (!json.is_object()) return json;
  Json::Object members;
  for (const auto& [key, value] : json.as_object()) {
    const std::string modern = new_name(key);
    const bool taken = modern != key && json.contains(modern);
    members.emplace_back(taken ? key : modern, renamed(value, names));
  }
  return Json::of_members(std::move(members));
}

// Gives layers, and all that refers to them, names that Keras 3 allows.
Json without_slashes(const Json& config) {
  std::set<std::string> names;
  collect_names(config, names);
  std::map<std::string, std::string> replaced;
  for (const std::string& name : names) {
    if (name.find('/') == std::string::npos) continue;
    std::string modern = legacy::modern_name(name);
    while (names.contains(modern)) modern += '_';
    names.insert(modern);
    replaced.emplace(name, std::move(modern));
  }
  return replaced.empty() ? config : renamed(config, replaced);
}

// The name in Keras 3 of a loss function.
Json modern_function(const Json& name) {
  static const std::map<std::string, const char*, std::less<>> names = {
      {"huber_loss", "huber"},
      {"kullback_leibler_divergence", "kl_divergence"},
      {"logcosh", "log_cosh"}};
  const auto found = names.find(name.as_string());
  return found == names.end() ? name : Json(found->second);
}

// "mean_squared_error" -> "MeanSquaredError".
std::string class_of_function(const std::string& name) {
  std::string result;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') result += begins ? ascii::to_upper(c) : c;
    begins = c == '_';
  }
  return result;
}

// Replaces metrics that wrap a function by those of that name, in lists of any depth.
Json modern_metrics(const Json& json) {
  if (json.is_array()) {
    Json::Array list;
    for (const Json& element : json.as_array()) list.push_back(modern_metrics(element));
    return list.size() == 1 && list[0].is_array() ? list[0] : Json(std::move(list));
  }
  if (json.is_string()) return modern_function(json);
  const Json* config = json.is_object() ? json.find("config") : nullptr;
  const Json* function = config && config->is_object() ? config->find("fn") : nullptr;
  if (!function || !function->is_string()) return json;
  Json named = Json::object();
  if (const Json* name = config->find("name")) named.set("name", *name);
  return Json::object({{"class_name", class_of_function(modern_function(*function).as_string())},
                       {"config", std::move(named)}});
}

// Losses of Keras 2, by name or in lists, have a reduction that corresponds to Keras 3's default.
Json modern_losses(const Json& json) {
  if (json.is_array()) {
    Json::Array list;
    for (const Json& element : json.as_array()) list.push_back(modern_losses(element));
    return list;
  }
  if (json.is_string()) return modern_function(json);
  if (!json.is_object()) return json;
  Json::Object members;
  for (const auto& [key, value] : json.as_object()) {
    const bool automatic = key == "reduction" && value == Json("auto");
    members.emplace_back(key, automatic ? Json("sum_over_batch_size") : modern_losses(value));
  }
  return Json::of_members(std::move(members));
}

// The learning rate of an optimizer that divides it by 1 + decay * iterations, as those before
// Keras 2.11 do: as a schedule.
Json decaying_rate(const Json& rate, double decay) {
  return Json::object({{"module", "keras.optimizers.schedules"},
                       {"class_name", "InverseTimeDecay"},
                       {"config", Json::object({{"initial_learning_rate", rate},
                                                {"decay_steps", 1},
                                                {"decay_rate", decay},
                                                {"staircase", false},
                                                {"name", "InverseTimeDecay"}})},
                       {"registered_name", nullptr}});
}

Json modern_optimizer(const Json& json);

// Converts the config of an optimizer that scales losses by a factor, of Keras 2.
Json modern_loss_scale(const Json& config) {
  // A scale that isn't dynamic never grows.
  constexpr int64_t kNever = int64_t{1} << 53;
  const Json* dynamic = config.find("dynamic");
  const Json* steps = config.find("dynamic_growth_steps");
  const bool grows = dynamic && dynamic->is_bool() && dynamic->as_bool() && steps;
  return Json::object({{"inner_optimizer", modern_optimizer(config.at("inner_optimizer"))},
                       {"initial_scale", config.at("initial_scale")},
                       {"dynamic_growth_steps", grows ? *steps : Json(kNever)}});
}

// Converts an optimizer to the common form: "Custom>Adam" is Keras 2's own Adam.
Json modern_optimizer(const Json& json) {
  constexpr std::string_view kOwn = "Custom>";
  const Json* class_name = json.is_object() ? json.find("class_name") : nullptr;
  const Json* config = json.is_object() ? json.find("config") : nullptr;
  if (!class_name || !class_name->is_string() || !config || !config->is_object()) return json;
  std::string name = class_name->as_string();
  if (name.starts_with(kOwn)) name.erase(0, kOwn.size());
  Json options = *config;
  if (name.starts_with("LossScaleOptimizer") && options.contains("dynamic")) {
    return Json::object(
        {{"class_name", "LossScaleOptimizer"}, {"config", modern_loss_scale(options)}});
  }
  const Json* decay = options.find("decay");
  const Json* rate = options.find("learning_rate");
  // Nadam's is that of its momentum.
  if (decay && decay->is_number() && decay->as_double() != 0 && rate && rate->is_number() &&
      name != "Nadam") {
    options.set("learning_rate", decaying_rate(Json(*rate), decay->as_double()));
  }
  Json result = json;
  result.set("class_name", name);
  result.set("config", std::move(options));
  return result;
}

// Converts Keras 2's training_config to a compile_config.
Json compile_arguments(const Json& training) {
  Json result = Json::object();
  for (const auto& [key, value] : training.as_object()) {
    if (key == "optimizer_config" || key == "optimizer") {
      result.set("optimizer", modern_optimizer(value));
    } else if (key == "metrics" || key == "weighted_metrics") {
      result.set(key, modern_metrics(value));
    } else {
      result.set(key, key == "loss" ? modern_losses(value) : value);
    }
  }
  return result;
}

// Parses and converts an attribute's JSON; errors say where they occur.
template <class F>
Json converted(const std::string& text, const std::string& path, const char* attribute, F convert) {
  const std::string place = fmt::format("{}: {}", path, attribute);
  try {
    return convert(Json::parse(text));
  } catch (const NotFound& error) {  // a missing key
    raise<DataLoss>("{}: {}", place, error.what());
  } catch (Error& error) {
    error.add_place(place);
    throw;
  }
}

// ---- to files ----

// {"class_name", "config"}; users' classes are identified by their registered names.
Json legacy_object(const Json& object) {
  const Json* registered = object.find("registered_name");
  const bool named = registered && registered->is_string();
  return Json::object({{"class_name", named ? *registered : object.at("class_name")},
                       {"config", object.at("config")}});
}

bool is_object_of_class(const Json& json) {
  return json.is_object() && json.contains("class_name") && json.contains("config");
}

// Keras writes short names of losses but doesn't read them here.
Json full_name(const Json& name) {
  static const std::map<std::string, const char*, std::less<>> names = {
      {"bce", "binary_crossentropy"}, {"kld", "kl_divergence"},
      {"mae", "mean_absolute_error"}, {"mape", "mean_absolute_percentage_error"},
      {"mse", "mean_squared_error"},  {"msle", "mean_squared_logarithmic_error"}};
  const auto found = names.find(lower_case(name.as_string()));
  return found == names.end() ? name : Json(found->second);
}

// Converts losses or metrics, in lists or by name; `names` converts those given as a name.
Json legacy_objects(const Json& value, Json (*names)(const Json&)) {
  if (value.is_string()) return names(value);
  if (value.is_array()) {
    Json::Array list;
    for (const Json& element : value.as_array()) list.push_back(legacy_objects(element, names));
    return list;
  }
  if (!value.is_object()) return value;
  if (is_object_of_class(value)) return legacy_object(value);
  Json::Object members;
  for (const auto& [key, member] : value.as_object()) {
    members.emplace_back(key, legacy_objects(member, names));
  }
  return Json::of_members(std::move(members));
}

// For a Keras 2 file.
void warn_of_hard_sigmoid(const Json& json) {
  if (json.is_array()) {
    for (const Json& element : json.as_array()) warn_of_hard_sigmoid(element);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.as_object()) {
    if (key.ends_with("activation") && value == Json("hard_sigmoid")) {
      const Json* name = json.find("name");
      logging::warn(fmt::format(
          "Layer '{}' of a file of Keras 2: its {}, \"hard_sigmoid\", is taken as Keras 3 takes "
          "it, "
          "relu6(x + 3) / 6, where Keras 2 computes 0.2 x + 0.5 between 0 and 1. Numbers differ.",
          name && name->is_string() ? name->as_string() : "", key));
    }
    warn_of_hard_sigmoid(value);
  }
}

}  // namespace

std::string legacy::modern_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Json legacy::modern_config(const Json& config) {
  warn_of_hard_sigmoid(config);
  Json result = modern_layer(config);
  const Json* training = config.find("compile_config");
  if (training && training->is_object()) {
    result.set("compile_config", compile_arguments(*training));
  }
  return without_slashes(result);
}

legacy::Configs legacy::configs_of(const Json& config) {
  Configs result{legacy_object(config), {}};
  const Json* arguments = config.find("compile_config");
  if (!arguments || !arguments->is_object() || arguments->size() == 0) return result;
  Json training = Json::object();
  for (const auto& [key, value] : arguments->as_object()) {
    if (key == "loss") {
      training.set(key, legacy_objects(value, full_name));
    } else if (key == "metrics" || key == "weighted_metrics") {
      training.set(key, legacy_objects(value, [](const Json& name) { return name; }));
    } else if (key != "optimizer") {
      training.set(key, value);
    }
  }
  training.set("optimizer_config", legacy_object(arguments->at("optimizer")));
  result.training = std::move(training);
  return result;
}

Json read_legacy_config(const std::string& path) {
  const Hdf5Reader reader = Hdf5Reader::open(path);
  const auto text = reader.string_attribute("", "model_config");
  check<InvalidArgument>(text.has_value(),
                         "{} has no model, which would be the attribute 'model_config'. Weights "
                         "alone are loaded into a model with load_weights.",
                         path);
  Json config = converted(*text, path, "model_config", modern_layer);
  const auto version = reader.string_attribute("", "keras_version");
  if (version && version->starts_with("2.")) warn_of_hard_sigmoid(config);
  if (const auto training = reader.string_attribute("", "training_config")) {
    config.set("compile_config", converted(*training, path, "training_config", compile_arguments));
  }
  return without_slashes(config);
}

}  // namespace cornu
