// SPDX-License-Identifier: Apache-2.0
// docs/keras_parity.md and docs/ops.md: what Keras has, and what of it is here. They are made from
// Keras's public names, from the registries and headers, and from the golden cases; with
// CORNU_WRITE_DOCS=1 in the environment this test writes them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "framework/losses/loss.h"
#include "framework/metrics/metric.h"
#include "framework/model/layer_registry.h"
#include "framework/model/parts.h"
#include "framework/train/optimizer.h"
#include "tests/golden/golden.h"

namespace cornu {
namespace {

using Names = std::set<std::string, std::less<>>;
using Reasons = std::map<std::string, std::string, std::less<>>;

std::filesystem::path root() {
  const char* data = std::getenv("CORNU_TEST_DATA");
  REQUIRE(data != nullptr);
  return std::filesystem::path(data) / "../../..";
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The names that the headers of a folder declare by this pattern.
Names declared(const std::string& folder, const std::string& pattern) {
  const std::regex comment("//[^\n]*"), declaration(pattern);
  Names names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / folder)) {
    if (entry.path().extension() != ".h") continue;
    const std::string code = std::regex_replace(text_of(entry.path()), comment, "");
    for (std::sregex_iterator it(code.begin(), code.end(), declaration), end; it != end; ++it) {
      names.insert((*it)[1]);
    }
  }
  return names;
}

Names functions_of(const std::string& folder) {
  return declared(folder, "\\b([A-Za-z_][A-Za-z0-9_]*)\\(");
}
Names classes_of(const std::string& folder) {
  return declared(folder,
                  "\\b(?:class|struct|using) (?:\\[\\[nodiscard\\]\\] )?([A-Z][A-Za-z0-9]*)");
}

template <class T>
Names registered(const Registry<T>& registry, const std::string& folder) {
  Names names = classes_of(folder);  // base classes, and those that no file holds
  for (const std::string& name : registry.names()) names.insert(name);
  return names;
}

// What is here of each module of Keras.
std::map<std::string, Names> names_here() {
  std::map<std::string, Names> here = {
      {"keras.layers", registered(layer_registry(), "framework/model")},
      {"keras.losses", registered(loss_registry(), "framework/losses")},
      {"keras.metrics", registered(metric_registry(), "framework/metrics")},
      {"keras.optimizers", registered(optimizer_registry(), "framework/train")},
      {"keras.optimizers.schedules", registered(schedule_registry(), "framework/train")},
      {"keras.initializers", registered(initializer_registry(), "framework/model")},
      {"keras.regularizers", registered(regularizer_registry(), "framework/model")},
      {"keras.constraints", registered(constraint_registry(), "framework/model")},
      {"keras.callbacks", classes_of("framework/callbacks")},
      {"keras.applications", functions_of("applications")},
      {"keras.random", functions_of("framework/ops")},
      {"keras.ops", functions_of("framework/ops")},
      {"keras.ops.image", functions_of("framework/ops")},
  };
  for (const std::string& name : activation_registry().names()) {
    here["keras.activations"].insert(name);
  }
  here["keras.layers"].merge(classes_of("layers"));
  here["keras.optimizers"].merge(classes_of("optimizers"));
  return here;
}

const Reasons& reasons() {
  static const std::string other = "of another framework";
  static const std::string complex = "there are no complex dtypes";
  static const std::string python = "of Python: functions of functions are templates";
  static const Reasons table = {
      {"FlaxLayer", other},
      {"JaxLayer", other},
      {"TFSMLayer", other},
      {"TorchModuleWrapper", other},
      {"OrbaxCheckpoint", other},
      {"InputSpec", "layers check their inputs themselves (check_input)"},
      {"LearningRateSchedule", "ScheduleImpl in framework/train/optimizer.h"},
      {"keras.activations.threshold", "ops::threshold: it takes arguments, which a name can't"},
      {"angle", complex},
      {"conj", complex},
      {"conjugate", complex},
      {"eig", complex},
      {"imag", complex},
      {"isreal", complex},
      {"polar", complex},
      {"real", complex},
      {"view_as_complex", complex},
      {"view_as_real", complex},
      {"vectorize", python},
      {"jvp", python},
  };
  return table;
}

// Null for what nothing is said of.
const std::string* reason_of(const std::string& module, const std::string& name) {
  auto found = reasons().find(module + "." + name);
  if (found == reasons().end()) found = reasons().find(name);
  return found == reasons().end() ? nullptr : &found->second;
}

// How many golden cases have each class, anywhere in what they make.
void count_classes(const Json& json, std::set<std::string>& found) {
  if (json.is_array()) {
    for (const Json& item : json.as_array()) count_classes(item, found);
  } else if (json.is_object()) {
    if (const Json* name = json.find("class_name"); name && name->is_string()) {
      found.insert(name->as_string());
    }
    for (const auto& [key, value] : json.as_object()) count_classes(value, found);
  }
}

std::map<std::string, int> golden_counts() {
  std::map<std::string, int> counts;
  for (const char* group :
       {"layers", "image_layers", "preprocessing", "dictionaries", "losses", "metrics",
        "optimizers", "schedules", "regularizers_constraints_initializers"}) {
    for (const Json& item : test::golden_cases(group).as_array()) {
      std::set<std::string> found;
      count_classes(item.at("object"), found);
      for (const std::string& name : found) ++counts[name];
    }
  }
  for (const Json& item : test::golden_cases("activations").as_array()) {
    ++counts[item.at("activation").as_string()];
  }
  for (const Json& item : test::golden_cases("ops").as_array()) ++counts[item.at("op").as_string()];
  return counts;
}

struct Module {
  std::string name;
  std::vector<std::pair<std::string, int>> present;  // with golden cases
  std::vector<std::string> absent;
  std::vector<std::string> others;  // second names of present ones
};

std::vector<Module> modules() {
  const auto here = names_here();
  const auto counts = golden_counts();
  std::vector<Module> result;
  for (const Json& item : test::golden_cases("surface").as_array()) {
    Module module;
    module.name = item.at("name").as_string();
    const Names& names = here.at(module.name);
    const auto exists = [&](const std::string& name) {
      return names.contains(name) || names.contains(name + "_");  // a word of C++: "switch_"
    };
    for (size_t i = 0; i < item.at("names").size(); ++i) {
      const std::string name = item.at("names")[i].as_string();
      const std::string real = item.at("classes")[i].as_string();
      const auto count = counts.find(name);
      if (real != name && exists(real)) {
        module.others.push_back(name);
      } else if (exists(name)) {
        module.present.emplace_back(name, count == counts.end() ? 0 : count->second);
      } else {
        module.absent.push_back(name);
      }
    }
    result.push_back(std::move(module));
  }
  return result;
}

// Words with commas between them, in lines of up to 100 characters.
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

std::string absences(const Module& module) {
  if (module.absent.empty()) return {};
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const std::string& name : module.absent) {
    const std::string* reason = reason_of(module.name, name);
    by_reason[reason ? *reason : "not written yet"].push_back("`" + name + "`");
  }
  std::string text = "\nNot here:\n\n";
  for (const auto& [reason, names] : by_reason) text += "- " + reason + ":\n" + wrapped(names);
  return text;
}

std::string described(const Module& module, bool counted) {
  std::string text = fmt::format("\n## {}\n\n", module.name);
  std::vector<std::string> words;
  for (const auto& [name, count] : module.present) {
    words.push_back(counted ? fmt::format("`{}` {}", name, count) : "`" + name + "`");
  }
  text += wrapped(words);
  if (!module.others.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : module.others) names.push_back("`" + name + "`");
    text += "\nSecond names:\n\n" + wrapped(names);
  }
  return text + absences(module);
}

bool of_ops(const Module& module) { return module.name.starts_with("keras.ops"); }
bool has_cases(const Module& module) {
  return module.name != "keras.callbacks" && module.name != "keras.applications" &&
         module.name != "keras.random";
}

std::string summary(const std::vector<Module>& all, bool ops) {
  std::string text = ops ? "| module | names | here |\n|---|---|---|\n"
                         : "| module | names | here | golden cases |\n|---|---|---|---|\n";
  for (const Module& module : all) {
    if (of_ops(module) != ops) continue;
    int cases = 0;
    for (const auto& [name, count] : module.present) cases += count;
    const size_t here = module.present.size() + module.others.size();
    text += fmt::format("| {} | {} | {} |", module.name, here + module.absent.size(), here);
    if (!ops) text += fmt::format(" {} |", has_cases(module) ? std::to_string(cases) : "–");
    text += "\n";
  }
  return text;
}

constexpr const char* kMade =
    "<!-- Made by tests/golden/parity_test.cc: CORNU_WRITE_DOCS=1 ctest -R golden_parity -->\n";

constexpr const char* kArguments =
    "\n## Arguments that aren't here\n\n"
    "- `quantization_config` of `Dense`, `EinsumDense`, `Embedding` and `ReversibleEmbedding`: a "
    "file with one\n  is refused\n\n"
    "`docs/from_keras.md` says more of these, and of others that have another form here.\n";

std::string parity_document(const std::vector<Module>& all) {
  std::string text =
      "# Keras's classes, one by one\n\n" + std::string(kMade) +
      "\nThe public classes of Keras 3, and what of them is here. The number behind a name: in how "
      "many\ngolden cases it takes part, each of which compares values, and where there are any "
      "gradients,\nweights and states, with those of real Keras (tests/golden). Callbacks and "
      "applications have\ntests of their own. `docs/ops.md` is the same for `keras.ops`.\n\n";
  text += summary(all, false);
  for (const Module& module : all) {
    if (!of_ops(module)) text += described(module, has_cases(module));
  }
  return text + kArguments;
}

std::string ops_document(const std::vector<Module>& all) {
  std::string text =
      "# keras.ops, function by function\n\n" + std::string(kMade) +
      "\n`cornu::ops` has what is named here, under Keras's names (a word of C++ has an underscore "
      "behind\nit: `switch_`); `framework/ops/ops.h` leads to the declarations. Layout is "
      "channels-last; `ops::image` takes `data_format`.\n\n";
  text += summary(all, true);
  for (const Module& module : all) {
    if (of_ops(module)) text += described(module, false);
  }
  return text;
}

void check_document(const std::string& name, const std::string& text) {
  const std::filesystem::path path = root() / "docs" / name;
  if (const char* write = std::getenv("CORNU_WRITE_DOCS"); write && *write == '1') {
    std::ofstream(path) << text;
  }
  INFO("docs/" << name << " is not what is here: CORNU_WRITE_DOCS=1 ctest -R golden_parity");
  const bool same = text_of(path) == text;
  CHECK(same);
}

}  // namespace

TEST_CASE("the documents of what is here of Keras are true") {
  const std::vector<Module> all = modules();
  REQUIRE(all.size() == 14);
  int classes = 0, cases = 0;
  for (const Module& module : all) {
    CHECK(!module.present.empty());
    for (const auto& entry : module.present) {
      const std::string& name = entry.first;
      const int count = entry.second;
      classes += count > 0;
      cases += count;
      CAPTURE(name);
      CHECK(reason_of(module.name, name) == nullptr);  // why it is absent, but it isn't
    }
  }
  fmt::print("{} of Keras's names are in {} golden cases\n", classes, cases);
  check_document("keras_parity.md", parity_document(all));
  check_document("ops.md", ops_document(all));
}

}  // namespace cornu
