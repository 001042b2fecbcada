// SPDX-License-Identifier: Apache-2.0
// docs/keras_parity.md and docs/ops.md: what Keras has, and how much of it Cornu has. They are
// generated from Keras's public names and signatures, from the registries and headers, and from the
// golden cases; with CORNU_WRITE_DOCS=1 in the environment, this test writes them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/losses/loss.h"
#include "framework/metrics/metric.h"
#include "framework/model/layer_registry.h"
#include "framework/model/parts.h"
#include "framework/train/optimizer.h"
#include "tests/golden/declarations.h"
#include "tests/golden/golden.h"
#include "tests/golden/parity_elsewhere.h"

namespace cornu {
namespace {

using test::Declarations;
using test::Names;
using test::wrapped;
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

const Declarations& declared_in(const std::string& folder) {
  static std::map<std::string, Declarations> read;
  const auto [place, is_new] = read.try_emplace(folder);
  if (is_new) place->second = Declarations(root() / folder);
  return place->second;
}

// The folders of a module's types. A type is looked up in the first folder that has its name.
const std::vector<std::string>& folders_of(const std::string& module) {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"keras.layers", {"layers", "framework/model"}},
      {"keras.losses", {"framework/losses"}},
      {"keras.metrics", {"framework/metrics"}},
      {"keras.optimizers", {"optimizers", "framework/train"}},
      {"keras.optimizers.schedules", {"optimizers/schedules", "framework/train"}},
      {"keras.initializers", {"framework/model"}},
      {"keras.regularizers", {"framework/model"}},
      {"keras.constraints", {"framework/model"}},
      {"keras.quantizers", {"framework/model"}},
      {"keras.callbacks", {"framework/callbacks"}},
  };
  return table.at(module);
}

Names types_of(const std::string& module) {
  Names names;
  for (const std::string& folder : folders_of(module)) {
    names.merge(declared_in(folder).type_names());
  }
  return names;
}

template <class T>
Names registered(const Registry<T>& registry) {
  const std::vector<std::string> names = registry.names();
  return {names.begin(), names.end()};
}

// The names of each Keras module that Cornu has.
std::map<std::string, Names> names_here() {
  const Declarations& ops = declared_in("framework/ops");
  std::map<std::string, Names> here = {
      {"keras.layers", registered(layer_registry())},
      {"keras.losses", registered(loss_registry())},
      {"keras.metrics", registered(metric_registry())},
      {"keras.optimizers", registered(optimizer_registry())},
      {"keras.optimizers.schedules", registered(schedule_registry())},
      {"keras.initializers", registered(initializer_registry())},
      {"keras.regularizers", registered(regularizer_registry())},
      {"keras.constraints", registered(constraint_registry())},
      {"keras.quantizers", registered(quantizer_registry())},
      {"keras.callbacks", {}},
  };
  // Base classes, and classes that aren't stored in files.
  for (auto& [module, names] : here) names.merge(types_of(module));
  here["keras.activations"] = registered(activation_registry());
  here["keras.applications"] = declared_in("applications").functions("cornu::applications");
  here["keras.random"] = ops.functions("cornu::random");
  here["keras.ops"] = ops.functions("cornu::ops");
  here["keras.ops"].merge(Names(declared_in("framework/autodiff").functions("cornu::ops")));
  here["keras.ops.image"] = ops.functions("cornu::ops::image");
  return here;
}

const Reasons& reasons() {
  static const std::string other = "specific to another framework";
  static const std::string complex = "complex dtypes are not supported";
  static const std::string others = "only int8 and int4 are available";
  static const std::string python = "specific to Python; write a template";
  static const Reasons table = {
      {"FlaxLayer", other},
      {"JaxLayer", other},
      {"TFSMLayer", other},
      {"TorchModuleWrapper", other},
      {"OrbaxCheckpoint", other},
      {"AWQConfig", others},
      {"Float8QuantizationConfig", others},
      {"GPTQConfig", others},
      {"InputSpec", "layers check their own inputs (`check_input`)"},
      {"LearningRateSchedule", "the base class is `ScheduleImpl` (`framework/train/optimizer.h`)"},
      {"keras.activations.threshold",
       "`ops::threshold`; its required arguments can't be given by name"},
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
      {"keras.ops.copy", "no op modifies its operands, so copying the handle is enough"},
      {"keras.ops.dtype", "`x.dtype()`"},
      {"keras.ops.size", "`x.size()`"},
  };
  return table;
}

// Returns null when no reason is known.
const std::string* reason_of(const std::string& module, const std::string& name) {
  auto found = reasons().find(module + "." + name);
  if (found == reasons().end()) found = reasons().find(name);
  return found == reasons().end() ? nullptr : &found->second;
}

using Class = std::pair<std::string, std::string>;  // a module and a name in it

// Collects the classes used by the object of a golden case.
void collect_classes(const Json& json, std::set<Class>& found) {
  if (json.is_array()) {
    for (const Json& item : json.as_array()) collect_classes(item, found);
  } else if (json.is_object()) {
    const Json *module = json.find("module"), *name = json.find("class_name");
    if (module && module->is_string() && name && name->is_string()) {
      found.emplace(module->as_string(), name->as_string());
    }
    for (const auto& [key, value] : json.as_object()) collect_classes(value, found);
  }
}

// The golden cases, each as the set of classes that it uses.
std::vector<std::set<Class>> cases_by_classes() {
  std::vector<std::set<Class>> cases;
  for (const char* group :
       {"layers", "image_layers", "preprocessing", "dictionaries", "policies", "losses", "metrics",
        "optimizers", "schedules", "regularizers_constraints_initializers"}) {
    for (const Json& item : test::golden_cases(group).as_array()) {
      collect_classes(item.at("object"), cases.emplace_back());
    }
  }
  for (const Json& item : test::golden_cases("quantization").as_array()) {
    collect_classes(item, cases.emplace_back());
  }
  for (const Json& item : test::golden_cases("activations").as_array()) {
    cases.push_back({{"keras.activations", item.at("activation").as_string()}});
  }
  return cases;
}

// Reasons why a class has fewer than three golden cases.
const Reasons& few_cases() {
  static const std::string base = "a base class";
  static const Reasons table = {
      {"keras.layers.Layer", base},
      {"keras.layers.Wrapper", base},
      {"keras.layers.InputLayer", "it computes nothing, and is part of models in other groups"},
      {"keras.losses.Loss", base},
      {"keras.metrics.Metric", base},
      {"keras.metrics.MeanMetricWrapper", "Python's function can't be rebuilt from a config"},
      {"keras.optimizers.Optimizer", base},
      {"keras.initializers.Initializer", base},
      {"keras.regularizers.Regularizer", base},
      {"keras.constraints.Constraint", base},
      {"keras.quantizers.Quantizer", base},
      {"keras.quantizers.QuantizationConfig", base},
  };
  return table;
}

struct Module {
  std::string name;
  std::vector<std::pair<std::string, int>> present;  // with their number of golden cases
  std::vector<std::string> absent;
  std::vector<std::string> others;  // aliases of present names
  int cases = 0;                    // golden cases that use any of its classes
};

std::vector<Module> modules() {
  const auto here = names_here();
  const auto cases = cases_by_classes();
  std::vector<Module> result;
  for (const Json& item : test::golden_cases("surface").as_array()) {
    Module module;
    module.name = item.at("name").as_string();
    const Names& names = here.at(module.name);
    const auto exists = [&](const std::string& name) {
      return names.contains(name) || names.contains(name + "_");  // a C++ keyword: "switch_"
    };
    for (size_t i = 0; i < item.at("names").size(); ++i) {
      const std::string name = item.at("names")[i].as_string();
      const std::string real = item.at("classes")[i].as_string();
      const auto count =
          std::count_if(cases.begin(), cases.end(), [&](const std::set<Class>& classes) {
            return classes.contains({module.name, name});
          });
      if (real != name && exists(real)) {
        module.others.push_back(name);
      } else if (exists(name)) {
        module.present.emplace_back(name, static_cast<int>(count));
      } else {
        module.absent.push_back(name);
      }
    }
    module.cases = static_cast<int>(
        std::count_if(cases.begin(), cases.end(), [&](const std::set<Class>& classes) {
          return std::any_of(classes.begin(), classes.end(),
                             [&](const Class& one) { return one.first == module.name; });
        }));
    result.push_back(std::move(module));
  }
  return result;
}

std::string absences(const Module& module) {
  if (module.absent.empty()) return {};
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const std::string& name : module.absent) {
    const std::string* reason = reason_of(module.name, name);
    by_reason[reason ? *reason : "not implemented"].push_back("`" + name + "`");
  }
  std::string text = "\nNot available:\n\n";
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
    text += "\nAliases:\n\n" + wrapped(names);
  }
  return text + absences(module);
}

bool of_ops(const Module& module) { return module.name.starts_with("keras.ops"); }
bool has_cases(const Module& module) {
  return module.name != "keras.callbacks" && module.name != "keras.applications" &&
         module.name != "keras.random";
}

std::string summary(const std::vector<Module>& all, bool ops) {
  std::string text = ops ? "| module | names | available |\n|---|---|---|\n"
                         : "| module | names | available | golden cases |\n|---|---|---|---|\n";
  for (const Module& module : all) {
    if (of_ops(module) != ops) continue;
    const size_t here = module.present.size() + module.others.size();
    text += fmt::format("| {} | {} | {} |", module.name, here + module.absent.size(), here);
    if (!ops) text += fmt::format(" {} |", has_cases(module) ? std::to_string(module.cases) : "–");
    text += "\n";
  }
  return text;
}

constexpr const char* kMade =
    "<!-- Made by tests/golden/parity_test.cc: CORNU_WRITE_DOCS=1 ctest -R golden_parity -->\n";

// What to do without an argument, by its name, or by "Class" for all arguments of a class.
const Reasons& argument_reasons() {
  static const Reasons table = {
      {"gptq_unpacked_column_size", "part of `quantization_config`"},
      {"sparse", "sparse tensors are not supported"},
      {"ragged", "ragged tensors are not supported"},
      {"optional", "all inputs are required"},
      {"weights", "use `set_weights`"},
      {"use_cudnn", "`docs/from_keras.md` says when a fused kernel is used"},
      {"flash_attention", "`docs/from_keras.md` says when a fused kernel is used"},
      {"vocabulary_dtype", "integer vocabularies are int64"},
      {"fn", "named `function`"},
      {"QuantizationConfig", "arguments of its subclasses"},
      {"Quantizer", "follows from the arguments"},
      {"CallbackList", "`fit` adds the callbacks it needs"},
      {"InputLayer", "use `Input`"},
      {"Metric", "an argument of `MetricImpl`, the base class of your own metrics"},
  };
  return table;
}

std::string argument_reason(const std::string& class_name, const std::string& argument) {
  for (const std::string& key : {class_name, argument}) {
    const auto found = argument_reasons().find(key);
    if (found != argument_reasons().end()) return " (" + found->second + ")";
  }
  return {};
}

// Returns the arguments of a Keras class, or of Input, that Cornu's counterpart lacks. Python's `*`
// and `**` arguments don't count.
std::vector<std::string> absent_arguments(const std::string& module, const std::string& name,
                                          const Json& arguments) {
  Names here;
  for (const std::string& folder : folders_of(module)) {
    here = declared_in(folder).arguments(name == "Input" ? "InputOptions" : name);
    if (!here.empty()) break;
  }
  std::vector<std::string> absent;
  for (const Json& argument : arguments.as_array()) {
    const std::string& text = argument.as_string();
    if (!here.contains(text) && !here.contains(text + "_")) absent.push_back(text);
  }
  return absent;
}

std::string arguments_section(const std::vector<Module>& all) {
  std::map<std::string, std::vector<std::string>> classes_of;  // by argument and reason
  for (const Json& item : test::golden_cases("signatures").as_array()) {
    const std::string& module = item.at("name").as_string();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Module& one) { return one.name == module; });
    REQUIRE(found != all.end());
    const Json& signatures = item.at("arguments");
    Names names = {module == "keras.layers" ? "Input" : ""};
    for (const auto& [name, count] : found->present) names.insert(name);
    for (const auto& [name, arguments] : signatures.as_object()) {
      if (!names.contains(name)) continue;
      for (const std::string& argument : absent_arguments(module, name, arguments)) {
        classes_of["`" + argument + "`" + argument_reason(name, argument)].push_back("`" + name +
                                                                                     "`");
      }
    }
  }
  std::string text = R"(
## Arguments that are not available

Compared are the arguments of all classes above, and of `Input`, with those declared here.
Arguments that have another form are listed in `docs/from_keras.md`.

)";
  for (const auto& [argument, classes] : classes_of) {
    text += "- " + argument + ":\n" + wrapped(classes);
  }
  return text;
}

std::string parity_document(const std::vector<Module>& all) {
  std::string text = "# Keras's classes, one by one\n\n" + std::string(kMade) + R"(
The public classes of Keras 3 that are available in Cornu. The number after a name says how many
golden cases the class takes part in. Each case compares values, and gradients, weights and states
where there are any, with those computed by Keras itself (`tests/golden`). The number of a module
counts each case once, although several classes may take part in it. Callbacks and applications have
separate tests. `docs/ops.md` is the same document for `keras.ops`.

)";
  text += summary(all, false);
  for (const Module& module : all) {
    if (!of_ops(module)) text += described(module, has_cases(module));
  }
  return text + arguments_section(all) + test::elsewhere_section();
}

std::string ops_document(const std::vector<Module>& all) {
  std::string text = "# keras.ops, function by function\n\n" + std::string(kMade) + R"(
These functions are available in `cornu::ops` under Keras's names; a name that is a C++ keyword ends
in an underscore: `switch_`. `framework/ops/ops.h` includes the headers that declare them, except
for `jvp` (`framework/autodiff/jvp.h`). Images are channels-last; the functions of `ops::image` take
`data_format`.

)";
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

TEST_CASE("what a header declares is told from what it mentions") {
  Declarations declarations;
  declarations.read(R"(
#define mentioned(x) x
namespace cornu {
namespace ops {
// commented(x)
Tensor plain(const Tensor& x, std::optional<int> axis = called());
inline Tensor with_body(const Tensor& x) { return inner(x); }
template <class F> requires std::is_invocable_v<F> std::function<Tensor(int)> of_template(F f);
const auto variable = made(3);
class Only;
struct SomeOptions {
  double rate = 0.5;  // says
  std::string text = "quoted(";
  Size<2> size{};
};
class Base { public: explicit Base(const SomeOptions& options, int64_t units = 3); int member(); };
class Derived : public Base { public: void other(int place); };
namespace internal { void hidden(); }
}  // namespace ops
using Alias = ops::Derived;
}
namespace cornu::ops { Tensor second(); }
)");
  CHECK(declarations.functions("cornu::ops") ==
        Names{"plain", "with_body", "of_template", "second"});
  CHECK(declarations.functions("cornu::ops::internal") == Names{"hidden"});
  CHECK(declarations.functions("cornu").empty());
  CHECK(declarations.type_names() == Names{"Alias", "Base", "Derived", "SomeOptions"});
  const Names arguments = declarations.arguments("Alias");
  for (const char* name : {"rate", "text", "size", "units"}) CHECK(arguments.contains(name));
  for (const char* name : {"place", "member"}) CHECK_FALSE(arguments.contains(name));
  CHECK(declarations.arguments("Nothing").empty());
}

TEST_CASE("every class has at least three golden cases") {
  for (const Module& module : modules()) {
    if (of_ops(module) || !has_cases(module)) continue;
    for (const auto& [name, cases] : module.present) {
      const std::string full = module.name + "." + name;
      const auto count = cases;  // clang 14 can't capture structured bindings
      CAPTURE(full);
      CAPTURE(count);
      const bool enough = count >= 3;
      CHECK(enough != few_cases().contains(full));
    }
  }
}

TEST_CASE("what is no function of ours isn't among what is here") {
  const auto here = names_here();
  CHECK(here.at("keras.ops").contains("concatenate"));
  // Members of tensors, words in comments, and functions of other namespaces.
  for (const char* name : {"copy", "dtype", "size", "is_floating", "resize"}) {
    CAPTURE(name);
    CHECK_FALSE(here.at("keras.ops").contains(name));
  }
}

TEST_CASE("the documents of what is here of Keras are true") {
  const std::vector<Module> all = modules();
  REQUIRE(all.size() == 15);
  int classes = 0;
  for (const Module& module : all) {
    CHECK(!module.present.empty());
    for (const auto& entry : module.present) {
      const std::string& name = entry.first;
      const int count = entry.second;
      classes += count > 0;
      CAPTURE(name);
      CHECK(reason_of(module.name, name) == nullptr);  // a reason for absence, but it is present
    }
  }
  fmt::print("{} of Keras's names are in {} golden cases\n", classes, cases_by_classes().size());
  CHECK(test::unknown_names() == "");
  for (const Json& item : test::golden_cases("namespaces").as_array()) {
    for (const Json& name : item.at("names").as_array()) {
      CAPTURE(name.as_string());
      CHECK(test::used_here(item.at("name").as_string(), name.as_string()) != "");
    }
  }
  check_document("keras_parity.md", parity_document(all));
  check_document("ops.md", ops_document(all));
}

}  // namespace cornu
