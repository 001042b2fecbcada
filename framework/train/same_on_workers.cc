// SPDX-License-Identifier: Apache-2.0
#include "framework/train/same_on_workers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/hash.h"
#include "framework/strategy/strategy.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

// ---- where two values differ ----

struct Difference {
  std::string path;  // "config.layers[1].config.units"; empty: the whole
  std::string ours;
  std::string theirs;
  bool counts = false;  // the values are element counts
};

std::string count_text(const Json& list) {
  return fmt::format("{} element{}", list.size(), list.size() == 1 ? "" : "s");
}

// Returns an excerpt of `text` around the first difference from `other`.
std::string part_of(const std::string& text, const std::string& other) {
  constexpr size_t kBefore = 40;
  constexpr size_t kMax = 120;
  const auto first = static_cast<size_t>(std::ranges::mismatch(text, other).in1 - text.begin());
  const size_t begin = text.size() <= kMax || first <= kBefore ? 0 : first - kBefore;
  const std::string part = printable(text.substr(begin, kMax));
  return fmt::format("{}{}{}", begin > 0 ? "…" : "", part, begin + kMax < text.size() ? "…" : "");
}

std::string with_member(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::optional<Difference> first_difference(const Json& ours, const Json& theirs,
                                           const std::string& path) {
  if (ours.is_object() && theirs.is_object()) {
    for (const auto& [name, value] : ours.as_object()) {
      const Json* other = theirs.find(name);
      if (!other) return Difference{with_member(path, name), value.excerpt(), "nothing"};
      if (auto found = first_difference(value, *other, with_member(path, name))) return found;
    }
    for (const auto& [name, value] : theirs.as_object()) {
      if (!ours.find(name)) {
        return Difference{with_member(path, name), "nothing", value.excerpt()};
      }
    }
    return {};
  }
  if (ours.is_array() && theirs.is_array()) {
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      if (auto found = first_difference(ours[i], theirs[i], fmt::format("{}[{}]", path, i))) {
        return found;
      }
    }
    if (ours.size() == theirs.size()) return {};
    return Difference{path, count_text(ours), count_text(theirs), true};
  }
  const std::string own = ours.dump();
  const std::string other = theirs.dump();
  if (own == other) return {};
  return Difference{path, part_of(own, other), part_of(other, own)};
}

void add_differences(std::vector<std::string>& found, const Json& first, const Json& other,
                     size_t worker) {
  for (const FactDifference& difference : differences_of_facts(other, first)) {
    const auto& [name, where, ours, theirs] = difference;
    found.push_back(where.empty() ? fmt::format("the {} of worker {} is {}, that of worker 0 is {}",
                                                name, worker, ours, theirs)
                                  : fmt::format("worker {} has {} {} the {}, worker 0 has {}",
                                                worker, ours, where, name, theirs));
  }
}

// ---- models ----

// Removes from a config whatever may differ between models that compute the same.
class Canonical {
 public:
  Json of(const Json& json) {
    if (json.is_array()) {
      Json::Array elements;
      for (const Json& element : json.as_array()) elements.push_back(of(element));
      return elements;
    }
    if (!json.is_object()) return json;
    // Shapes exist once a model is built, which may happen only in its first call.
    static const std::set<std::string_view> kLeftOut = {"build_config", "build_input_shape",
                                                        "shared_object_id"};
    static const std::set<std::string_view> kNames = {"name", "keras_history", "input_layers",
                                                      "output_layers"};
    Json::Object members;
    for (const auto& [name, value] : json.as_object()) {
      if (kLeftOut.contains(name)) continue;
      members.emplace_back(name, kNames.contains(name) ? numbered(value) : of(value));
    }
    return Json::of_members(std::move(members));
  }

 private:
  Json numbered(const Json& json) {
    if (json.is_string()) {
      const auto number = numbers_.emplace(json.as_string(), numbers_.size()).first->second;
      return fmt::format("#{}", number);
    }
    if (!json.is_array()) return of(json);
    Json::Array elements;
    for (const Json& element : json.as_array()) elements.push_back(numbered(element));
    return elements;
  }

  std::map<std::string, size_t> numbers_;
};

Json names_of(const MetricsArgument& metrics) {
  Json::Array names;
  for (const MetricsArgument::Entry& entry : metrics.entries()) {
    for (const Metric& metric : entry.list) names.emplace_back(metric.name());
  }
  return names;
}

// The initial rates: callbacks change the current ones, on which fit agrees in each epoch.
Json first_rates(const Optimizer& optimizer) {
  const auto parts = optimizer.impl().parts();
  Json::Array rates;
  for (const auto& part : parts) rates.push_back(first_rates(part.second));
  return parts.empty() ? config_value(optimizer.impl().options().learning_rate) : Json(rates);
}

Json without_rates(const Json& config) {
  if (!config.is_object()) return config;
  Json::Object members;
  for (const auto& [name, value] : config.as_object()) {
    if (name != "learning_rate" || !value.is_number()) {
      members.emplace_back(name, without_rates(value));
    }
  }
  return Json::of_members(std::move(members));
}

void add_compile_argument(Json& facts, const CompileOptions& options, const char* name) {
  try {
    Json argument = compile_argument(options, name);
    if (std::string_view(name) == "optimizer") {
      argument = Canonical().of(without_rates(argument));
      facts.set("learning rate", first_rates(options.optimizer));
    }
    facts.set(name, std::move(argument));
  } catch (const Error&) {  // contains a function or a user-defined schedule
    const std::string_view which(name);
    if (which == "metrics") facts.set("names of metrics", names_of(options.metrics));
    if (which == "weighted_metrics") {
      facts.set("names of weighted metrics", names_of(options.weighted_metrics));
    }
  }
}

}  // namespace

Json facts_of_model(const Model& model, bool trains) {
  Json facts = Json::object();
  // A model may already be built or not yet built without being a different model.
  const char* built = model.built() ? "model" : "model that isn't built";
  try {
    facts.set(built, Canonical().of(serialize_architecture(model)));
  } catch (const Error&) {  // a user-defined class without a config
  }
  if (model.built()) facts.set("number of weights", model.count_params());
  const CompileOptions& options = model.trainer().options();
  for (const char* name : {"loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly",
                           "steps_per_execution"}) {
    add_compile_argument(facts, options, name);
  }
  facts.set("jit_compile", options.jit_compile);
  if (!trains) return facts;
  add_compile_argument(facts, options, "optimizer");
  facts.set("auto_scale_loss", options.auto_scale_loss);
  return facts;
}

std::vector<FactDifference> differences_of_facts(const Json& first, const Json& other) {
  std::vector<FactDifference> found;
  for (const auto& [name, value] : first.as_object()) {
    const Json* theirs = other.find(name);
    if (!theirs) continue;
    const auto difference = first_difference(value, *theirs, "");
    if (!difference) continue;
    const bool is_whole = difference->path.empty() && !difference->counts;
    const std::string where =
        difference->path.empty() ? "in" : fmt::format("at {} of", difference->path);
    found.push_back({name, is_whole ? "" : where, difference->ours, difference->theirs});
  }
  return found;
}

void add_facts(Json& facts, const std::string& prefix, const Json& from) {
  for (const auto& [name, value] : from.as_object()) facts.set(prefix + name, value);
}

void require_same_on_workers(const std::string& what, const Json& facts) {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return;
  const std::string text = facts.dump();
  const std::vector<std::string> digests = strategy.exchange(
      "facts of " + what, hash_of(std::as_bytes(std::span(text)), HashAlgorithm::Sha256));
  const bool is_same = std::ranges::all_of(
      digests, [&](const std::string& theirs) { return theirs == digests.front(); });
  if (is_same) return;
  std::vector<std::string> differences;
  const std::vector<std::string> all = strategy.exchange("differing facts of " + what, text);
  const Json first = Json::parse(all.front());
  for (size_t worker = 1; worker < all.size(); ++worker) {
    add_differences(differences, first, Json::parse(all[worker]), worker);
  }
  constexpr size_t kMax = 4;
  const size_t more = differences.size() - std::min(differences.size(), kMax);
  differences.resize(differences.size() - more);
  check<WorkersDiffer>(
      differences.empty(),
      "{}: {}{}. All workers must run the same program with the same options and data.", what,
      join(differences, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace cornu
