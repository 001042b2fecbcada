// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/parity_elsewhere.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "tests/golden/golden.h"

namespace cornu::test {
namespace {

using Table = std::map<std::string, std::string>;

// By full name, or by module for the names of it that have no entry.
const Table& table() {
  static const std::string same = "the same in `cornu`";
  static const std::string base =
      "its class with `Impl` behind the name, from which one's own derive";
  static const std::string in_data = "the same in `cornu::data`";
  static const std::string in_dataset = "the same, as `datasets::mnist::load_data` is";
  static const std::string policy = "`set_dtype_policy`, `dtype_policy`, a layer's `.dtype`";
  static const std::string epsilon =
      "`.epsilon`, an option of each layer and optimizer that has one";
  static const std::string places = "`.data_format`, an option of each layer that has one";
  static const std::string classes = "`register_serializable`, for the whole program";
  static const std::string configs =
      "`serialize`, `layer_from_json`, `loss_from_json` and so on; `to_json` of models";
  static const std::string bars = "`.verbose` of `fit` and others; `logging::set_level`";
  static const std::string fused = "a fused kernel is taken wherever one fits";
  static const std::string errors = "errors name the layer and the op; there is no traceback";
  static const std::string steps = "options of `fit`: `.epochs`, `.steps_per_epoch`";
  static const std::string policies = "`.dtype = \"int8_from_float32\"` and others, by name";
  static const std::string no_policy = "int8 and int4 alone are available";
  static const Table entries = {
      {"keras", same},
      {"keras.Function", "`Model` of inputs and outputs"},
      {"keras.Operation", "a function over `ops`; each op on a placeholder is one node"},
      {"keras.KerasTensor", "`Tensor`: what `Input` gives is one"},
      {"keras.InputSpec", "layers check their inputs themselves (`check_input`)"},
      {"keras.FloatDTypePolicy", "`DTypePolicy`"},
      {"keras.StatelessScope", "`function`, whose graphs have variables as states in and out"},
      {"keras.SymbolicScope", "`Layer::compute_output_shape`, which computes with shapes alone"},
      {"keras.device", "`DeviceScope`"},
      {"keras.name_scope", "`NameScope`"},
      {"keras.version", "`cornu_VERSION` of CMake's package"},
      {"keras.Initializer", base},
      {"keras.Loss", base},
      {"keras.Metric", base},
      {"keras.Optimizer", base},
      {"keras.Quantizer", base},
      {"keras.Regularizer", base},
      {"keras.backend.backend", "there is one"},
      {"keras.backend.clear_session", same},
      {"keras.backend.epsilon", epsilon},
      {"keras.backend.set_epsilon", epsilon},
      {"keras.backend.floatx", policy},
      {"keras.backend.set_floatx", policy},
      {"keras.backend.get_uid", "layers number themselves; `clear_session` begins anew"},
      {"keras.backend.image_data_format", places},
      {"keras.backend.set_image_data_format", places},
      {"keras.backend.is_float_dtype", "`is_floating`"},
      {"keras.backend.is_int_dtype", "`is_integer`"},
      {"keras.backend.is_keras_tensor", "`tensor.is_symbolic()`"},
      {"keras.backend.result_type", "ops promote as Keras's do"},
      {"keras.backend.standardize_dtype", "`dtype_from_string`"},
      {"keras.config.backend", "there is one"},
      {"keras.config.set_backend", "there is one"},
      {"keras.config.is_nnx_enabled", "of another framework"},
      {"keras.config.disable_flash_attention", fused},
      {"keras.config.enable_flash_attention", fused},
      {"keras.config.is_flash_attention_enabled", fused},
      {"keras.config.disable_interactive_logging", bars},
      {"keras.config.enable_interactive_logging", bars},
      {"keras.config.is_interactive_logging_enabled", bars},
      {"keras.config.disable_traceback_filtering", errors},
      {"keras.config.enable_traceback_filtering", errors},
      {"keras.config.is_traceback_filtering_enabled", errors},
      {"keras.config.enable_unsafe_deserialization", "nothing that a file holds is ever run"},
      {"keras.config.dtype_policy", same},
      {"keras.config.set_dtype_policy", same},
      {"keras.config.epsilon", epsilon},
      {"keras.config.set_epsilon", epsilon},
      {"keras.config.floatx", policy},
      {"keras.config.set_floatx", policy},
      {"keras.config.image_data_format", places},
      {"keras.config.set_image_data_format", places},
      {"keras.config.max_epochs", steps},
      {"keras.config.max_steps_per_epoch", steps},
      {"keras.config.set_max_epochs", steps},
      {"keras.config.set_max_steps_per_epoch", steps},
      {"keras.datasets.boston_housing", in_dataset},
      {"keras.datasets.california_housing", in_dataset},
      {"keras.datasets.cifar10", in_dataset},
      {"keras.datasets.cifar100", in_dataset},
      {"keras.datasets.fashion_mnist", in_dataset},
      {"keras.datasets.imdb", in_dataset},
      {"keras.datasets.mnist", in_dataset},
      {"keras.datasets.reuters", in_dataset},
      {"keras.distillation", "the same in `cornu::distillation`"},
      {"keras.distribution",
       "`distribute::MirroredStrategy` and others: data is divided, models aren't"},
      {"keras.dtype_policies", policies},
      {"keras.dtype_policies.DTypePolicy", same},
      {"keras.dtype_policies.FloatDTypePolicy", "`DTypePolicy`"},
      {"keras.dtype_policies.DTypePolicyMap", "each layer's own `.dtype`"},
      {"keras.dtype_policies.AWQDTypePolicy", no_policy},
      {"keras.dtype_policies.GPTQDTypePolicy", no_policy},
      {"keras.dtype_policies.QuantizedFloat8DTypePolicy", no_policy},
      {"keras.export", "`model.export_`, which writes ONNX"},
      {"keras.mixed_precision", policy},
      {"keras.mixed_precision.DTypePolicy", same},
      {"keras.mixed_precision.Policy", "`DTypePolicy`"},
      {"keras.mixed_precision.LossScaleOptimizer", "`optimizers::LossScaleOptimizer`"},
      {"keras.models", same},
      {"keras.models.save_model", "`model.save`"},
      {"keras.preprocessing", in_data},
      {"keras.preprocessing.image", in_data},
      {"keras.preprocessing.image.smart_resize",
       "`layers::Resizing({.crop_to_aspect_ratio = true})`"},
      {"keras.preprocessing.sequence", in_data},
      {"keras.saving", classes},
      {"keras.saving.KerasFileEditor", same},
      {"keras.saving.deserialize_keras_object", configs},
      {"keras.saving.serialize_keras_object", configs},
      {"keras.saving.load_model", same},
      {"keras.saving.save_model", "`model.save`"},
      {"keras.saving.load_weights", "`model.load_weights`"},
      {"keras.saving.save_weights", "`model.save_weights`"},
      {"keras.tree",
       "`Tensors` are a list, or have names; elements of datasets are `data::Structure`s"},
      {"keras.utils", in_data},
      {"keras.utils.Config", "a struct of options"},
      {"keras.utils.CustomObjectScope", classes},
      {"keras.utils.custom_object_scope", classes},
      {"keras.utils.get_custom_objects", classes},
      {"keras.utils.get_registered_name", classes},
      {"keras.utils.get_registered_object", classes},
      {"keras.utils.register_keras_serializable", classes},
      {"keras.utils.deserialize_keras_object", configs},
      {"keras.utils.serialize_keras_object", configs},
      {"keras.utils.FeatureSpace", "`layers::FeatureSpace`"},
      {"keras.utils.Progbar", bars},
      {"keras.utils.disable_interactive_logging", bars},
      {"keras.utils.enable_interactive_logging", bars},
      {"keras.utils.is_interactive_logging_enabled", bars},
      {"keras.utils.Sequence", "`data::PyDataset`"},
      {"keras.utils.clear_session", same},
      {"keras.utils.get_file", same},
      {"keras.utils.get_source_inputs", "`model.inputs()`"},
      {"keras.utils.is_keras_tensor", "`tensor.is_symbolic()`"},
      {"keras.utils.model_to_dot", same},
      {"keras.utils.plot_model", same},
      {"keras.utils.set_random_seed", same},
      {"keras.utils.normalize", "`ops::normalize`"},
      {"keras.utils.pack_x_y_sample_weight", "`Batch`"},
      {"keras.utils.unpack_x_y_sample_weight", "`Batch`"},
      {"keras.utils.standardize_dtype", "`dtype_from_string`"},
      {"keras.utils.bounding_boxes", "not written; `layers::MaxNumBoundingBoxes` is here"},
      {"keras.visualization", "not written: `data::save_img` writes pictures"},
      {"keras.wrappers", "of another framework: scikit-learn is Python's"},
  };
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
      "\n## Everything else that Keras makes public\n\nOf each name what is used here in its "
      "stead.\n";
  for (const Json& item : golden_cases("namespaces").as_array()) {
    const std::string& module = item.at("name").as_string();
    std::map<std::string, std::vector<std::string>> names;  // by what is used
    for (const Json& name : item.at("names").as_array()) {
      names[used_here(module, name.as_string())].push_back("`" + name.as_string() + "`");
    }
    text += fmt::format("\n### {}\n\n", module);
    for (const auto& [used, list] : names) text += "- " + used + ":\n" + wrapped(list);
  }
  return text;
}

}  // namespace cornu::test
