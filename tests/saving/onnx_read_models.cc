// SPDX-License-Identifier: Apache-2.0
#include "tests/saving/onnx_read_models.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <optional>
#include <set>
#include <vector>

#include "framework/core/strings.h"
#include "framework/train/model.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

// Reads arrays that are stored back to back in a file.
std::vector<Tensor> arrays(const Json& described, const std::string& bytes, size_t& at) {
  std::vector<Tensor> result;
  for (const Json& json : described.as_array()) {
    Tensor x =
        Tensor::empty(json["shape"].as_shape(), dtype_from_string(json["dtype"].as_string()));
    REQUIRE(at + x.bytes() <= bytes.size());
    bytes.copy(reinterpret_cast<char*>(x.mutable_raw()), x.bytes(), at);
    at += x.bytes();
    result.push_back(x);
  }
  return result;
}

struct ImportCase {
  explicit ImportCase(const Json& json)
      : name(json["name"].as_string()),
        path(json["stem"].as_string() + ".onnx"),
        unsaved(json["unsaved"].as_bool()),
        tolerance(json["tolerance"].as_double()),
        operators(json["operators"].as_strings()) {
    if (json["unread"].is_string()) unread = json["unread"].as_string();
    const std::string bytes = contents(json["stem"].as_string() + ".bin");
    size_t at = 0;
    inputs = arrays(json["inputs"], bytes, at);
    outputs = arrays(json["outputs"], bytes, at);
  }

  std::string name, path, unread;  // unread: an operator, "any", or "" if everything is supported
  bool unsaved;                    // some of its ops don't exist in Keras
  double tolerance;
  std::vector<std::string> operators;
  std::vector<Tensor> inputs, outputs;
};

struct Tally {
  int models = 0, unsaved = 0;
  std::vector<std::string> refused;
  std::set<std::string> operators;
  double greatest = 0;
};

std::vector<Tensor> predicted(Model& model, const ImportCase& one) {
  return Tensors(model.predict_on_batch(one.inputs)).list();
}

void compare(const ImportCase& one, const std::vector<Tensor>& found, Tally& tally) {
  REQUIRE(found.size() == one.outputs.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].dtype() == one.outputs[i].dtype());
    REQUIRE(found[i].shape() == one.outputs[i].shape());
    const double off = difference(found[i], one.outputs[i]);
    CHECK(off <= one.tolerance);
    if (one.tolerance <= 1e-5) tally.greatest = std::max(tally.greatest, off);
  }
}

// If all ops exist in Keras, saves the model as .keras, and loads it again.
void compare_saved(const ImportCase& one, Model& model, Tally& tally) {
  const Scratch scratch;
  const std::string path = scratch.path("m.keras");
  if (one.unsaved) {
    CHECK_THROWS_AS(model.save(path), Unimplemented);
    ++tally.unsaved;
    return;
  }
  model.save(path);
  Model again = load_model(path);
  compare(one, predicted(again, one), tally);
}

void check_case(const ImportCase& one, Tally& tally) {
  CAPTURE(one.name);
  CAPTURE(join(one.operators, " "));
  std::optional<Model> model;
  try {
    model = load_model(one.path);
  } catch (const Unimplemented& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(contains(text, one.path));
    CHECK_FALSE(one.unread.empty());
    if (one.unread != "any") CHECK(contains(text, "(" + one.unread + ")"));
    tally.refused.push_back(fmt::format("{}: {}", one.name, text));
    return;
  }
  CHECK(one.unread.empty());
  CHECK_FALSE(model->compiled());
  if (one.outputs.empty()) return;
  compare(one, predicted(*model, one), tally);
  compare_saved(one, *model, tally);
  ++tally.models;
  tally.operators.insert(one.operators.begin(), one.operators.end());
}

}  // namespace

void check_read_models(const std::string& path) {
  const Json cases = Json::parse(contents(path));
  Tally tally;
  for (const Json& json : cases.as_array()) {
    const ImportCase one(json);
    try {
      check_case(one, tally);
    } catch (const Error& error) {
      const std::string text = error.what();
      FAIL_CHECK(one.name << ": " << text);
    }
  }
  std::printf(
      "%d models of %zu operators agree, greatest difference %.1e; %d of them hold ops that Keras "
      "hasn't; %zu are refused\n",
      tally.models, tally.operators.size(), tally.greatest, tally.unsaved, tally.refused.size());
  for (const std::string& text : tally.refused) std::printf("  %s\n", text.c_str());
}

}  // namespace cornu::test
