// SPDX-License-Identifier: Apache-2.0
// Ops in files whose configs and arguments are damaged or hostile: each part of a valid one is
// replaced by something that doesn't belong there, or removed. The result must be a model that
// runs, or a typed error.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "framework/saving/op_layers.h"
#include "framework/train/model_config.h"
#include "tests/golden/layer_case.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

Json deep_list() {
  Json list = Json::array();
  for (int i = 0; i < 100; ++i) list = Json::array({list});
  return list;
}

const std::vector<Json>& hostile_values() {
  constexpr int64_t kHuge = 1'000'000'000'000;
  static const std::vector<Json> values = {
      Json(),
      true,
      -1,
      0,
      7,
      kHuge,
      -kHuge,
      std::numeric_limits<int64_t>::max(),
      std::numeric_limits<int64_t>::min(),
      0.5,
      1e300,
      std::nan(""),
      "",
      "axis",
      Json::array(),
      Json::array({Json::array()}),
      Json::array({kHuge, kHuge, kHuge}),
      Json::array({Json::array({1, 2}), 3}),
      Json::array({"x", Json()}),
      Json::object(),
      Json::object({{"class_name", "__tensor__"}, {"config", Json::object({{"value", 3}})}}),
      Json::object({{"__operand__", kHuge}}),
      deep_list(),
  };
  return values;
}

bool is_reference(const Json& value) {
  const Json* kind = value.is_object() ? value.find("class_name") : nullptr;
  return kind && *kind == Json("__keras_tensor__");
}

// Calls f with copies of `value` in which one part, or all of it, is replaced or removed.
void each_change(const Json& value, const std::function<void(const Json&)>& f) {
  for (const Json& other : hostile_values()) f(other);
  if (is_reference(value)) return;
  if (value.is_array()) {
    const Json::Array& list = value.as_array();
    if (list.empty()) return;
    f(Json::Array(list.begin() + 1, list.end()));
    each_change(list[0], [&](const Json& part) {
      Json::Array changed = list;
      changed[0] = part;
      f(changed);
    });
  } else if (value.is_object()) {
    const Json::Object& members = value.as_object();
    for (size_t i = 0; i < members.size(); ++i) {
      Json::Object fewer = members;
      fewer.erase(fewer.begin() + static_cast<int64_t>(i));
      f(Json::of_members(std::move(fewer)));
      each_change(members[i].second, [&](const Json& part) {
        Json::Object changed = members;
        changed[i].second = part;
        f(Json::of_members(std::move(changed)));
      });
    }
  }
}

bool is_op(const Json& entry) {
  const Json* module = entry.find("module");
  return module && module->is_string() && module->as_string().starts_with("keras.src.ops.");
}

int64_t largest_output(const Model& model) {
  int64_t most = 0;
  for (const Tensor& output : model.outputs()) {
    if (output.shape().is_static()) most = std::max(most, output.shape().num_elements());
  }
  return most;
}

// Describes what is wrong with the outcome for a changed config; empty for a model, and for a typed
// error.
std::string wrong_end(const Json& config, const std::vector<Tensor>& inputs) {
  constexpr int64_t kMaxElements = 1 << 20;
  try {
    Model model = Model::from_config(config);
    if (largest_output(model) <= kMaxElements) model(Tensors(inputs));
    return {};
  } catch (const Error& error) {
    if (error.code() != StatusCode::Internal) return {};
    return fmt::format("{}: {}", to_string(error.code()), error.what());
  } catch (const std::exception& error) {
    return fmt::format("an untyped exception: {}", error.what());
  }
}

int64_t most_memory = 3000;  // MiB

int64_t most_memory_in_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// ---- valid calls ----

// Parses text with "$x" and "$y" for two inputs of shape (2, 3, 4).
Json with_references(const Json& value) {
  if (value.is_string() && value.as_string().starts_with('$')) {
    return Json::object(
        {{"class_name", "__keras_tensor__"},
         {"config",
          Json::object({{"shape", Json::array({2, 3, 4})},
                        {"dtype", "float32"},
                        {"keras_history", Json::array({value.as_string().substr(1), 0, 0})}})}});
  }
  if (!value.is_array()) return value;
  Json::Array list;
  for (const Json& element : value.as_array()) list.push_back(with_references(element));
  return list;
}

struct Call {
  std::string config = "{}";
  std::string arguments = R"(["$x"])";
};

// Calls of the ops for which tests/golden has no models.
std::map<std::string, Call> more_calls() {
  std::map<std::string, Call> calls = {
      {"AdaptiveAveragePool", {R"({"output_size": [2], "data_format": "channels_last"})"}},
      {"AdaptiveMaxPool", {R"({"output_size": [2], "data_format": "channels_last"})"}},
      {"Argpartition", {R"({"kth": 1, "axis": -1})"}},
      {"BroadcastTo", {R"({"shape": [2, 2, 3, 4]})"}},
      {"Cast", {R"({"dtype": "int32"})"}},
      {"Clip", {R"({"x_min": 0, "x_max": 1})"}},
      {"Concatenate", {R"({"axis": 1})", R"([["$x", "$y"]])"}},
      {"ConvTranspose",
       {R"({"strides": 2, "padding": "valid", "output_padding": null, "dilation_rate": 1,
            "data_format": "channels_last"})",
        R"(["$x", "$y"])"}},
      {"ConvertToTensor", {R"({"dtype": "float32"})"}},
      {"Full", {R"({"shape": [2, 3, 4], "dtype": "float32"})"}},
      {"FullLike", {R"({"dtype": "float32"})", R"(["$x", 3.0])"}},
      {"GetItem",
       {"{}", R"(["$x", [{"class_name": "__slice__", "config": {"start": 0, "stop": 2, "step": 1}},
                         1, null]])"}},
      {"Geomspace", {R"({"num": 5, "endpoint": true, "axis": 0})", R"(["$x", "$y"])"}},
      {"Linspace",
       {R"({"num": 5, "endpoint": true, "retstep": false, "axis": 0, "dtype": "float32"})",
        R"([1, "$y"])"}},
      {"Logspace", {R"({"num": 5, "endpoint": true, "base": 10, "axis": 0})", R"(["$x", "$y"])"}},
      {"Matmul", {"{}", R"(["$x", {"class_name": "__tensor__",
                         "config": {"value": [[1, 2], [3, 4], [5, 6], [7, 8]],
                                    "dtype": "float32"}}])"}},
      {"Prod", {R"({"axis": 1, "keepdims": true, "dtype": "float32"})"}},
      {"Qr", {R"({"mode": "reduced"})"}},
      {"Reshape", {R"({"newshape": [2, 12]})"}},
      {"Select", {"{}", R"([["$x"], ["$y"], 0])"}},
      {"Split", {R"({"indices_or_sections": 3, "axis": 1})"}},
      {"Stack", {R"({"axis": 1})", R"([["$x", "$y"]])"}},
      {"Swapaxes", {R"({"axis1": 0, "axis2": 1})"}},
      {"Take", {R"({"axis": 1})", R"(["$x", [0, 2]])"}},
      {"Transpose", {R"({"axes": [2, 0, 1]})"}},
      {"Where", {"{}", R"(["$x", "$x", "$y"])"}},
  };
  for (const char* op : {"Arctan2",    "Divide",       "DivideNoNan", "Equal",     "FloorDivide",
                         "Greater",    "GreaterEqual", "Less",        "LessEqual", "Logaddexp",
                         "LogicalAnd", "LogicalOr",    "LogicalXor",  "Maximum",   "Minimum",
                         "Mod",        "Multiply",     "NotEqual",    "Power",     "TrueDivide"}) {
    calls[op] = {"{}", R"(["$x", "$y"])"};
  }
  // Ops with one operand, and at most an axis and numeric options.
  for (const std::string& op : keras_op_names()) {
    calls.emplace(op, Call{R"({"axis": 1, "keepdims": true, "decimals": 1, "alpha": 0.1,
                               "negative_slope": 0.1, "approximate": true})"});
  }
  return calls;
}

Json model_of(const std::string& op, const Call& call) {
  Json::Array layers;
  for (const char* name : {"x", "y"}) {
    layers.push_back(Json::object({{"module", "keras.layers"},
                                   {"class_name", "InputLayer"},
                                   {"config", Json::object({{"batch_shape", Json::array({2, 3, 4})},
                                                            {"dtype", "float32"},
                                                            {"name", name}})},
                                   {"name", name},
                                   {"inbound_nodes", Json::array()}}));
  }
  const Json arguments = Json::parse(call.arguments);
  layers.push_back(Json::object(
      {{"module", "keras.src.ops.numpy"},
       {"class_name", op},
       {"config", Json::parse(call.config)},
       {"name", "op"},
       {"inbound_nodes", Json::array({Json::object({{"args", with_references(arguments)},
                                                    {"kwargs", Json::object()}})})}}));
  return Json::object(
      {{"name", "hostile"},
       {"layers", std::move(layers)},
       {"input_layers", Json::array({Json::array({"x", 0, 0}), Json::array({"y", 0, 0})})},
       {"output_layers", Json::array({"op", 0, 0})}});
}

// ---- changed calls ----

// Tries all changes of a valid model's ops that aren't in `seen` yet, and adds these ops to it.
// Returns the number of changes.
int try_changes(const Json& config, const std::vector<Tensor>& inputs,
                std::set<std::string>& seen) {
  int changes = 0;
  const Json::Array& layers = config.at("layers").as_array();
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!is_op(layers[i])) continue;
    const std::string& op = layers[i].at("class_name").as_string();
    if (!seen.insert(op).second) continue;
    for (const char* part : {"config", "inbound_nodes"}) {
      each_change(layers[i].at(part), [&](const Json& changed) {
        // Only every fifth under sanitizers, which make each one slow; there are 23 values, so each
        // place gets different ones.
        if (++changes % testing::cases(1, 5) != 0) return;
        Json::Array all = layers;
        all[i].set(part, changed);
        Json whole = config;
        whole.set("layers", std::move(all));
        const std::string wrong = wrong_end(whole, inputs);
        if (!wrong.empty()) FAIL_CHECK(op << ": " << changed.dump() << ": " << wrong);
        const int64_t memory = most_memory_in_mib();
        if (memory > most_memory) FAIL_CHECK(op << ": " << changed.dump() << " takes " << memory);
        most_memory = std::max(most_memory, memory);
      });
    }
  }
  return changes;
}

TEST_CASE("absurd counts are refused by name, before anything of their size is made") {
  const auto refusal = [](const std::string& op, const Call& call) {
    return test::error_of([&] { Model::from_config(model_of(op, call)); });
  };
  const std::string space = R"({"num": 1000000000000, "endpoint": true, "axis": 0})";
  for (const char* op : {"Linspace", "Logspace", "Geomspace"}) {
    CHECK(test::contains(refusal(op, {space, R"([1.0, "$y"])"}),
                         "would have the shape (1000000000000, 2, 3, 4), 96000000000000 bytes."));
  }
  CHECK(
      refusal("BroadcastTo", {R"({"shape": [1000000000000, 2, 3, 4]})"}) ==
      "ResourceExhausted: Model::from_config: Functional: the result of its layer 'op' would have "
      "the shape (1000000000000, 2, 3, 4), 96000000000000 bytes.");
  CHECK(test::contains(refusal("ArraySplit", {R"({"indices_or_sections": 1000000000000})"}),
                       "array_split: expected at most 1048576 parts, got 1000000000000."));
}

TEST_CASE("ops of files survive hostile configs and arguments") {
  std::set<std::string> seen;
  int changes = 0;
  for (const Json& item : test::golden_cases("op_models").as_array()) {
    changes +=
        try_changes(item.at("model").at("config"), test::golden_tensors(item.at("inputs")), seen);
  }
  const Tensor x = Tensor::from(std::vector<float>(24, 0.5F), {2, 3, 4});
  for (const auto& entry : more_calls()) {
    const std::string op = entry.first;
    CAPTURE(op);
    if (seen.contains(op)) continue;
    const Json config = model_of(op, entry.second);
    const bool fits = op != "LuFactor" && op != "Squeeze";  // these require other shapes
    if (fits) CHECK_NOTHROW(Model::from_config(config));
    changes += try_changes(config, {x, x}, seen);
  }
  CHECK(changes > 10'000);
  for (const std::string& op : keras_op_names()) CHECK(seen.contains(op));
}

}  // namespace
}  // namespace cornu
