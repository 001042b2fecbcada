// SPDX-License-Identifier: Apache-2.0
// What published advisories about Keras's loader describe, each as a file: it is refused, nothing
// in it is executed, and no other file is opened.
#include <doctest/doctest.h>

#include <filesystem>

#include "framework/io/archive.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/saving/models.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::Foreign;
using test::Scratch;

// A .keras file of a Sequential model whose only layer is this, beside these weights.
std::string keras_file(const Scratch& scratch, const std::string& layer,
                       const std::vector<std::byte>& weights) {
  const std::string path = scratch.path("model.keras");
  const std::string config =
      R"({"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [)"
      R"({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 3],)"
      R"( "dtype": "float32", "name": "input"}, "registered_name": null}, )" +
      layer + R"(]}, "registered_name": null})";
  const ArchiveMember members[] = {{"config.json", std::as_bytes(std::span(config))},
                                   {"model.weights.h5", weights}};
  write_archive(path, members);
  return path;
}

std::vector<std::byte> no_weights() {
  Foreign file(false);
  file.add_group("layers");
  return file.take_bytes();
}

// The error's kind and text.
std::string refusal(const std::string& path) {
  try {
    load_model(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was loaded";
}

std::string layer_of(const std::string& module, const std::string& class_name,
                     const std::string& config) {
  return R"({"module": ")" + module + R"(", "class_name": ")" + class_name + R"(", "config": )" +
         config + R"(, "registered_name": null})";
}

// A function as Python Keras writes it: marshalled bytecode in base64.
constexpr char kBytecode[] =
    R"({"class_name": "__lambda__", "config": {"code": "4wEAAAAAAAAA", "defaults": null, )"
    R"("closure": null}})";

TEST_CASE("CVE-2024-3660: bytecode of a Lambda layer") {
  const Scratch scratch;
  const std::string text = refusal(
      keras_file(scratch,
                 layer_of("keras.layers", "Lambda",
                          R"({"name": "l", "trainable": true, "dtype": "float32", "function": )" +
                              std::string(kBytecode) + "}"),
                 no_weights()));
  CAPTURE(text);
  CHECK(contains(text, "Lambda 'l': its function is Python bytecode, which is never executed."));
  CHECK(contains(text, "register_keras_serializable"));
}

TEST_CASE("CVE-2025-9905: the same in a whole-model HDF5 file") {
  const Scratch scratch;
  Foreign file(false);
  file.add_group("model_weights");
  file.add_fixed_string(
      ".", "model_config",
      R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "Lambda", )"
      R"("config": {"name": "l", "function": ["4wEAAAAAAAAA", null, null], "function_type": "lambda"}}]}})");
  const std::string path = scratch.path("model.h5");
  write_file_atomically(path, file.take_bytes());
  const std::string text = refusal(path);
  CAPTURE(text);
  CHECK(contains(text, "Lambda 'l': its function is Python bytecode, which is never executed."));
}

TEST_CASE("whole models in HDF5 files that aren't") {
  const Scratch scratch;
  const std::string path = scratch.path("model.h5");
  const auto refusal_of = [&](const char* config) {
    Foreign file(false);
    if (config) file.add_fixed_string(".", "model_config", config);
    write_file_atomically(path, file.take_bytes());
    return refusal(path);
  };
  CHECK(contains(refusal_of(nullptr),
                 "it has no model, which would be the attribute 'model_config'. Weights alone are "
                 "loaded into a model with load_weights."));
  for (const char* config :
       {"[", "[]", "3", "{}", R"({"class_name": 3, "config": {}})",
        R"({"class_name": "Functional", "config": 3})",
        R"({"class_name": "Functional", "config": {"layers": 3}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [3], "input_layers": [],)"
        R"( "output_layers": []}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [{"class_name": "Dense",)"
        R"( "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[["a"]]]}],)"
        R"( "input_layers": [["a", 0, 0]], "output_layers": [["d", 0, 0]]}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [{"class_name": "Add",)"
        R"( "name": "d", "config": {}, "inbound_nodes": [[["d", 0, 0, 5], ["e", -1, 7, {}]]]}],)"
        R"( "input_layers": [["d", 0, 0]], "output_layers": [["d", 9, 0]]}})"}) {
    const std::string text = refusal_of(config);
    CAPTURE(std::string(config));
    CHECK(text != "it was loaded");
    CHECK(contains(text, path));
  }
}

TEST_CASE("CVE-2025-1550 and CVE-2025-8747: functions of any module in a config") {
  const Scratch scratch;
  for (const auto& [module, name] : {std::pair{"os", "system"},
                                     {"subprocess", "Popen"},
                                     {"keras.utils", "get_file"},
                                     {"builtins", "eval"}}) {
    const std::string text = refusal(keras_file(
        scratch, layer_of(module, name, R"({"name": "x", "args": ["touch /tmp/owned"]})"),
        no_weights()));
    CAPTURE(text);
    CHECK(contains(text, std::string("Unknown layer '") + name));
    // As an activation, and as an initializer.
    const std::string function = R"({"module": ")" + std::string(module) +
                                 R"(", "class_name": "function", "config": ")" + name +
                                 R"(", "registered_name": "function"})";
    const std::string dense = R"({"name": "d", "units": 2, "activation": )" + function + "}";
    CHECK(contains(
        refusal(keras_file(scratch, layer_of("keras.layers", "Dense", dense), no_weights())),
        name));
    const std::string started =
        R"({"name": "d", "units": 2, "kernel_initializer": )" + function + "}";
    CHECK(contains(
        refusal(keras_file(scratch, layer_of("keras.layers", "Dense", started), no_weights())),
        "nitializer"));
  }
}

TEST_CASE("CVE-2025-9906: a config that switches safety off") {
  const Scratch scratch;
  const std::string text = refusal(keras_file(
      scratch, layer_of("keras.config", "enable_unsafe_deserialization", R"({"name": "x"})"),
      no_weights()));
  CHECK(contains(text, "Unknown layer 'enable_unsafe_deserialization'"));
}

TEST_CASE("CVE-2025-12058: a vocabulary that is another file, or an address") {
  const Scratch scratch;
  for (const char* place : {"/etc/passwd", "http://localhost:1/secrets"}) {
    const std::string text = refusal(
        keras_file(scratch,
                   layer_of("keras.layers", "StringLookup",
                            R"({"name": "l", "vocabulary": ")" + std::string(place) + R"("})"),
                   no_weights()));
    CAPTURE(text);
    CHECK(contains(text, place));
    CHECK_FALSE(contains(text, "root:"));
  }
}

TEST_CASE("CVE-2025-12060: members of an archive that lie outside of it") {
  const Scratch scratch;
  const std::string path =
      keras_file(scratch, layer_of("keras.layers", "Identity", R"({"name": "i"})"), no_weights());
  const ArchiveReader archive(path);
  const auto config = archive.read("config.json", size_t{1} << 20);
  const auto weights = archive.read("model.weights.h5", size_t{1} << 20);
  const std::string outside = scratch.path("models/../../owned");
  const ArchiveMember members[] = {
      {"config.json", config}, {"model.weights.h5", weights}, {"assets/../../owned", config}};
  bool written = true;
  try {
    write_archive(path, members);
  } catch (const Error&) {
    written = false;  // such a name isn't even written
  }
  if (written) refusal(path);
  CHECK_FALSE(std::filesystem::exists(scratch.path("../owned")));
  CHECK_FALSE(std::filesystem::exists(outside));
}

TEST_CASE("CVE-2026-1462: a layer that loads another model") {
  const Scratch scratch;
  const std::string text = refusal(
      keras_file(scratch,
                 layer_of("keras.layers", "TFSMLayer",
                          R"({"name": "t", "filepath": "/tmp/model", "call_endpoint": "serve"})"),
                 no_weights()));
  CHECK(contains(text, "Unknown layer 'TFSMLayer'"));
}

TEST_CASE("CVE-2026-1669: weights that lie in another file") {
  const Scratch scratch;
  for (const bool link : {false, true}) {
    Foreign file(false);
    if (link) {
      file.add_external_link("layers/dense/vars/0", "/etc/passwd", "/x");
    } else {
      file.add_external_data("layers/dense/vars/0", "/etc/passwd");
    }
    const std::string text = refusal(keras_file(
        scratch,
        layer_of("keras.layers", "Dense", R"({"name": "d", "units": 2, "use_bias": false})"),
        file.take_bytes()));
    CAPTURE(text);
    CHECK((contains(text, "is a link to another place") ||
           contains(text, "its elements are in other files")));
  }
}

TEST_CASE("CVE-2026-0897: weights that claim to be huge") {
  const Scratch scratch;
  Foreign file(false);
  file.add_huge("layers/dense/vars/0");
  const std::string text = refusal(keras_file(
      scratch, layer_of("keras.layers", "Dense", R"({"name": "d", "units": 2, "use_bias": false})"),
      file.take_bytes()));
  CAPTURE(text);
  CHECK(contains(text, "(3, 2)"));
}

}  // namespace
}  // namespace cornu
