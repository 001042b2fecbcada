// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/parity_elsewhere.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/golden/golden.h"

namespace cornu::test {
namespace {

using Entry = std::pair<const char*, const char*>;

constexpr const char* kSame = "the same name in `cornu`";
constexpr const char* kBase = "the base class for your own is this name followed by `Impl`";
constexpr const char* kInData = "the same name in `cornu::data`";
constexpr const char* kInDataset =
    "the same name in `cornu::datasets`, such as `datasets::mnist::load_data`";
constexpr const char* kPolicy =
    "`set_dtype_policy`, `dtype_policy`, and the option `.dtype` of each layer";
constexpr const char* kEpsilon = "the option `.epsilon` of layers and optimizers";
constexpr const char* kPlaces = "the option `.data_format` of layers";
constexpr const char* kClasses = "`register_serializable`, which holds for the whole program";
constexpr const char* kConfigs =
    "`serialize`, `layer_from_json`, `loss_from_json` and so on; `to_json` for models";
constexpr const char* kBars = "the option `.verbose` of `fit` and others; `logging::set_level`";
constexpr const char* kFused = "a fused kernel is used wherever one applies";
constexpr const char* kErrors = "errors name the layer and the op; there is no traceback to filter";
constexpr const char* kSteps = "the options `.epochs` and `.steps_per_epoch` of `fit`";
constexpr const char* kPolicies = "policies are given by name: `.dtype = \"int8_from_float32\"`";
constexpr const char* kNoPolicy = "only int8 and int4 are available";

// By full name, or by module for names without an entry of their own.
constexpr Entry kEntries[] = {
    {"keras", kSame},
    {"keras.Function", "`Model(inputs, outputs)`"},
    {"keras.Operation", "any function of `ops`; each op applied to a placeholder is one node"},
    {"keras.KerasTensor", "`Tensor`, which `Input` returns"},
    {"keras.InputSpec", "layers check their inputs themselves (`check_input`)"},
    {"keras.FloatDTypePolicy", "`DTypePolicy`"},
    {"keras.StatelessScope",
     "`function`, whose graphs take variables as inputs and return their new values"},
    {"keras.SymbolicScope", "`Layer::compute_output_shape`, which computes shapes only"},
    {"keras.device", "`DeviceScope`"},
    {"keras.name_scope", "`NameScope`"},
    {"keras.version", "`cornu_VERSION`, set by the CMake package"},
    {"keras.Initializer", kBase},
    {"keras.Loss", kBase},
    {"keras.Metric", kBase},
    {"keras.Optimizer", kBase},
    {"keras.Quantizer", kBase},
    {"keras.Regularizer", kBase},
    {"keras.backend.backend", "there is only one backend for all devices"},
    {"keras.backend.clear_session", kSame},
    {"keras.backend.epsilon", kEpsilon},
    {"keras.backend.set_epsilon", kEpsilon},
    {"keras.backend.floatx", kPolicy},
    {"keras.backend.set_floatx", kPolicy},
    {"keras.backend.get_uid",
     "layers are numbered automatically; `clear_session` restarts the numbers"},
    {"keras.backend.image_data_format", kPlaces},
    {"keras.backend.set_image_data_format", kPlaces},
    {"keras.backend.is_float_dtype", "`is_floating`"},
    {"keras.backend.is_int_dtype", "`is_integer`"},
    {"keras.backend.is_keras_tensor", "`tensor.is_symbolic()`"},
    {"keras.backend.result_type", "ops promote dtypes as Keras does"},
    {"keras.backend.standardize_dtype", "`dtype_from_string`"},
    {"keras.config.backend", "there is only one backend for all devices"},
    {"keras.config.set_backend", "there is only one backend for all devices"},
    {"keras.config.is_nnx_enabled", "not applicable: specific to JAX"},
    {"keras.config.disable_flash_attention", kFused},
    {"keras.config.enable_flash_attention", kFused},
    {"keras.config.is_flash_attention_enabled", kFused},
    {"keras.config.disable_interactive_logging", kBars},
    {"keras.config.enable_interactive_logging", kBars},
    {"keras.config.is_interactive_logging_enabled", kBars},
    {"keras.config.disable_traceback_filtering", kErrors},
    {"keras.config.enable_traceback_filtering", kErrors},
    {"keras.config.is_traceback_filtering_enabled", kErrors},
    {"keras.config.enable_unsafe_deserialization", "code in a file is never run"},
    {"keras.config.dtype_policy", kSame},
    {"keras.config.set_dtype_policy", kSame},
    {"keras.config.epsilon", kEpsilon},
    {"keras.config.set_epsilon", kEpsilon},
    {"keras.config.floatx", kPolicy},
    {"keras.config.set_floatx", kPolicy},
    {"keras.config.image_data_format", kPlaces},
    {"keras.config.set_image_data_format", kPlaces},
    {"keras.config.max_epochs", kSteps},
    {"keras.config.max_steps_per_epoch", kSteps},
    {"keras.config.set_max_epochs", kSteps},
    {"keras.config.set_max_steps_per_epoch", kSteps},
    {"keras.datasets.boston_housing", kInDataset},
    {"keras.datasets.california_housing", kInDataset},
    {"keras.datasets.cifar10", kInDataset},
    {"keras.datasets.cifar100", kInDataset},
    {"keras.datasets.fashion_mnist", kInDataset},
    {"keras.datasets.imdb", kInDataset},
    {"keras.datasets.mnist", kInDataset},
    {"keras.datasets.reuters", kInDataset},
    {"keras.distillation", "the same name in `cornu::distillation`"},
    {"keras.distribution",
     "`distribute::MirroredStrategy` and others; they divide data, not models"},
    {"keras.dtype_policies", kPolicies},
    {"keras.dtype_policies.DTypePolicy", kSame},
    {"keras.dtype_policies.FloatDTypePolicy", "`DTypePolicy`"},
    {"keras.dtype_policies.DTypePolicyMap", "the option `.dtype` of each layer"},
    {"keras.dtype_policies.AWQDTypePolicy", kNoPolicy},
    {"keras.dtype_policies.GPTQDTypePolicy", kNoPolicy},
    {"keras.dtype_policies.QuantizedFloat8DTypePolicy", kNoPolicy},
    {"keras.export", "`model.export_`, which writes ONNX"},
    {"keras.mixed_precision", kPolicy},
    {"keras.mixed_precision.DTypePolicy", kSame},
    {"keras.mixed_precision.Policy", "`DTypePolicy`"},
    {"keras.mixed_precision.LossScaleOptimizer", "`optimizers::LossScaleOptimizer`"},
    {"keras.models", kSame},
    {"keras.models.save_model", "`model.save`"},
    {"keras.preprocessing", kInData},
    {"keras.preprocessing.image", kInData},
    {"keras.preprocessing.image.smart_resize",
     "`layers::Resizing({.crop_to_aspect_ratio = true})`"},
    {"keras.preprocessing.sequence", kInData},
    {"keras.saving", kClasses},
    {"keras.saving.KerasFileEditor", kSame},
    {"keras.saving.deserialize_keras_object", kConfigs},
    {"keras.saving.serialize_keras_object", kConfigs},
    {"keras.saving.load_model", kSame},
    {"keras.saving.save_model", "`model.save`"},
    {"keras.saving.load_weights", "`model.load_weights`"},
    {"keras.saving.save_weights", "`model.save_weights`"},
    {"keras.tree",
     "`Tensors` are a list or a dictionary; elements of datasets are `data::Structure`s"},
    {"keras.utils", kInData},
    {"keras.utils.Config", "a struct of options"},
    {"keras.utils.CustomObjectScope", kClasses},
    {"keras.utils.custom_object_scope", kClasses},
    {"keras.utils.get_custom_objects", kClasses},
    {"keras.utils.get_registered_name", kClasses},
    {"keras.utils.get_registered_object", kClasses},
    {"keras.utils.register_keras_serializable", kClasses},
    {"keras.utils.deserialize_keras_object", kConfigs},
    {"keras.utils.serialize_keras_object", kConfigs},
    {"keras.utils.FeatureSpace", "`layers::FeatureSpace`"},
    {"keras.utils.Progbar", kBars},
    {"keras.utils.disable_interactive_logging", kBars},
    {"keras.utils.enable_interactive_logging", kBars},
    {"keras.utils.is_interactive_logging_enabled", kBars},
    {"keras.utils.Sequence", "`data::PyDataset`"},
    {"keras.utils.clear_session", kSame},
    {"keras.utils.get_file", kSame},
    {"keras.utils.get_source_inputs", "`model.inputs()`"},
    {"keras.utils.is_keras_tensor", "`tensor.is_symbolic()`"},
    {"keras.utils.model_to_dot", kSame},
    {"keras.utils.plot_model", kSame},
    {"keras.utils.set_random_seed", kSame},
    {"keras.utils.normalize", "`ops::normalize`"},
    {"keras.utils.pack_x_y_sample_weight", "`Batch`"},
    {"keras.utils.unpack_x_y_sample_weight", "`Batch`"},
    {"keras.utils.standardize_dtype", "`dtype_from_string`"},
    {"keras.utils.bounding_boxes", "the same name in `cornu::bounding_boxes`"},
    {"keras.visualization", "not available; `data::save_img` writes images"},
    {"keras.wrappers", "not applicable: scikit-learn is a Python library"},
};

using Table = std::map<std::string, std::string>;

const Table& table() {
  static const Table entries(std::begin(kEntries), std::end(kEntries));
  return entries;
}

}  // namespace

std::string wrapped(const std::vector<std::string>& words) {
  std::string text, line;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (!line.empty() && line.size() + 1 + word.size() > 100) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + line + "\n";
}

std::string used_here(const std::string& module, const std::string& name) {
  auto found = table().find(module + "." + name);
  if (found == table().end()) found = table().find(module);
  return found == table().end() ? std::string() : found->second;
}

std::string unknown_names() {
  std::set<std::string> known;
  for (const Json& item : golden_cases("namespaces").as_array()) {
    const std::string& module = item.at("name").as_string();
    known.insert(module);
    for (const Json& name : item.at("names").as_array()) {
      known.insert(module + "." + name.as_string());
    }
  }
  std::string unknown;
  for (const auto& [name, text] : table()) {
    if (!known.contains(name)) unknown += name + " ";
  }
  return unknown;
}

std::string elsewhere_section() {
  std::string text =
      "\n## Everything else that Keras makes public\n\nWhat to use instead of each "
      "name.\n";
  for (const Json& item : golden_cases("namespaces").as_array()) {
    const std::string& module = item.at("name").as_string();
    std::map<std::string, std::vector<std::string>> names;  // names by what to use instead
    for (const Json& name : item.at("names").as_array()) {
      names[used_here(module, name.as_string())].push_back("`" + name.as_string() + "`");
    }
    text += fmt::format("\n### {}\n\n", module);
    for (const auto& [used, list] : names) text += "- " + used + ":\n" + wrapped(list);
  }
  return text;
}

}  // namespace cornu::test
