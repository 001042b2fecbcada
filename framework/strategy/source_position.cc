// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/source_position.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <string_view>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/io/crc.h"
#include "framework/io/fuzzing.h"
#include "framework/strategy/streams.h"

namespace cornu {
namespace {

constexpr const char* kChecksum = "checksum";
constexpr const char* kNextPass = "next_pass";  // omitted if it is this pass plus one

void require_position(const Json& json, const char* who) {
  const auto has = [&](const char* key, bool (Json::*is)() const) {
    const Json* member = json.is_object() ? json.find(key) : nullptr;
    return member && (member->*is)();
  };
  bool whole = has("pipeline", &Json::is_string) && has("pass", &Json::is_int) &&
               has("consumed", &Json::is_int) && has("seeds", &Json::is_array);
  if (whole) {
    const auto& seeds = json.at("seeds").as_array();
    whole = std::all_of(seeds.begin(), seeds.end(), [](const Json& seed) { return seed.is_int(); });
  }
  check<DataLoss>(whole,
                  "{}: expected a position, which an iterator's save() gives (an object of "
                  "pipeline, pass, consumed and seeds), got {}.",
                  who, json.excerpt());
}

int64_t checksum_of(const Json& position) {
  const std::string text = position.dump();
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

void require_intact(const Json& json, const char* who) {
  const Json* checksum = json.find(kChecksum);
  if (!checksum || !kChecksumsMatter) return;
  Json::Object members;
  for (const Json::Member& member : json.as_object()) {
    if (member.first != kChecksum) members.push_back(member);
  }
  const int64_t found = checksum_of(Json::of_members(std::move(members)));
  check<DataLoss>(*checksum == Json(found),
                  "{}: the position is damaged: expected the checksum {}, got {} of {}.", who,
                  checksum->excerpt(), found, json.excerpt());
}

}  // namespace

Json SourcePosition::sealed(Json position) {
  const int64_t checksum = checksum_of(position);
  position.set(kChecksum, checksum);
  return position;
}

Json SourcePosition::to_json() const {
  Json drawn = Json::array();
  for (const uint64_t seed : seeds) drawn.push_back(static_cast<int64_t>(seed));
  Json json = Json::object({{"pipeline", pipeline},
                            {"pass", pass},
                            {"consumed", consumed},
                            {"seeds", std::move(drawn)}});
  if (next_pass > pass + 1) json.set(kNextPass, next_pass);
  return json;
}

namespace {

// Splits "a(b | c) | d" into "a(b | c)" and "d".
std::vector<std::string_view> links_in(std::string_view pipeline) {
  std::vector<std::string_view> links;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < pipeline.size(); ++at) {
    if (pipeline[at] == '(') ++depth;
    if (pipeline[at] == ')') --depth;
    if (depth > 0 || pipeline.substr(at, 3) != " | ") continue;
    links.push_back(pipeline.substr(begin, at - begin));
    begin = at + 3;
  }
  links.push_back(pipeline.substr(begin));
  return links;
}

std::string_view kind_of(std::string_view link) { return link.substr(0, link.find('(')); }

// A link that creates batches.
struct Batching {
  int64_t size = 0;
  bool drops = false;  // whether the remainder at the end of a pass is dropped

  static std::optional<Batching> of(std::string_view link) {
    static const std::set<std::string_view> kKinds = {"batch", "padded_batch", "ragged_batch"};
    if (!kKinds.contains(kind_of(link))) return {};
    Batching batching{.size = 0, .drops = link.find(", drop") != std::string_view::npos};
    const std::string_view digits = link.substr(link.find('(') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), batching.size);
    return batching.size > 0 ? std::optional(batching) : std::nullopt;
  }
  static std::string_view after_size(std::string_view link) {
    return link.substr(std::min(link.find_first_of(",)"), link.size()));
  }
  int64_t in_pass(int64_t examples) const {
    return drops ? examples / size : streams::parts_of(examples, size);
  }
};

// The batching links of two pipelines that differ only in the size of their batches.
struct Rebatching {
  Batching then;
  Batching now;

  static std::optional<Rebatching> between(std::string_view then, std::string_view now) {
    // Links that yield one batch per batch.
    static const std::set<std::string_view> kBehind = {"map",    "prefetch", "with_options",
                                                       "divide", "repeat",   "copy_to_device"};
    const auto old_links = links_in(then);
    const auto links = links_in(now);
    if (old_links.size() != links.size()) return {};
    for (size_t i = links.size(); i-- > 0;) {
      const auto batching = Batching::of(links[i]);
      if (!batching) {
        const bool is_alike = old_links[i] == links[i] || kind_of(links[i]) == "map";
        if (kind_of(old_links[i]) == kind_of(links[i]) && kBehind.contains(kind_of(links[i])) &&
            is_alike) {
          continue;
        }
        return {};
      }
      const auto before = Batching::of(old_links[i]);
      const bool is_alike =
          before && kind_of(old_links[i]) == kind_of(links[i]) &&
          Batching::after_size(old_links[i]) == Batching::after_size(links[i]) &&
          std::equal(links.begin(), links.begin() + static_cast<int64_t>(i), old_links.begin());
      return is_alike ? std::optional(Rebatching{*before, *batching}) : std::nullopt;
    }
    return {};
  }

  // Converts a number of batches of the old size to the current size; also returns the number of
  // remaining examples.
  std::pair<int64_t, int64_t> batches(int64_t consumed, std::optional<int64_t> examples) const {
    const int64_t in_pass = examples ? then.in_pass(*examples) : 0;
    const int64_t passes = in_pass > 0 ? consumed / in_pass : 0;
    const int64_t left = streams::saturating_product(consumed - passes * in_pass, then.size);
    const int64_t before =
        passes > 0 ? streams::saturating_product(passes, now.in_pass(*examples)) : 0;
    return {before + left / now.size, left % now.size};
  }
};

}  // namespace

SourcePosition SourcePosition::read_examples(const Json& json, const SourcePosition& here,
                                             const char* who) {
  require_position(json, who);
  const std::string& then = json.at("pipeline").as_string();
  const auto rebatching =
      then == here.pipeline ? std::nullopt : Rebatching::between(then, here.pipeline);
  if (!rebatching) return read(json, here, who);
  SourcePosition as_then = here;
  as_then.pipeline = then;
  SourcePosition position = read(json, as_then, who);
  std::optional<int64_t> examples = here.examples;
  if (!examples && here.count_examples && position.consumed > 0) {
    // Does a pass end at or before the position? Then it has fewer examples than another batch
    // would need.
    const Batching& batching = rebatching->then;
    const int64_t most = streams::saturating_product(position.consumed, batching.size) +
                         (batching.drops ? batching.size : 1);
    const int64_t counted = here.count_examples(position, most);
    if (counted < most) examples = counted;
  }
  const auto [batches, left] = rebatching->batches(position.consumed, examples);
  logging::warn(fmt::format(
      "{}: the place to resume from was counted in batches of {} examples, and they have {} here. "
      "It is behind {} of these{}: what comes of it isn't what batches of one size give.",
      who, rebatching->then.size, rebatching->now.size, batches,
      left > 0 ? fmt::format("; {} examples come a second time", left) : ""));
  position.pipeline = here.pipeline;
  position.consumed = batches;
  position.rebatched = true;
  return position;
}

SourcePosition SourcePosition::read(const Json& json, const SourcePosition& here, const char* who) {
  SourcePosition position;
  require_position(json, who);
  require_intact(json, who);
  position.pipeline = json.at("pipeline").as_string();
  for (const int64_t seed : json.at("seeds").as_ints()) {
    position.seeds.push_back(static_cast<uint64_t>(seed));
  }
  check<FailedPrecondition>(
      position.pipeline == here.pipeline && position.seeds.size() == here.seeds.size(),
      "{}: the position was saved by another pipeline.\n  saved: {}\n  here:  {}\nStart from the "
      "beginning, or build the dataset as it was.",
      who, position.pipeline, here.pipeline);
  position.pass = json.at("pass").as_int();
  position.consumed = json.at("consumed").as_int();
  const Json* next = json.find(kNextPass);
  position.next_pass = !next ? position.pass + 1 : next->is_int() ? next->as_int() : -1;
  check<DataLoss>(position.pass >= 0 && position.pass < position.next_pass &&
                      position.next_pass <= streams::kMaxItems && position.consumed >= 0 &&
                      position.consumed <= streams::kMaxItems,
                  "{}: the position {} is damaged: there can't be as many passes or elements.", who,
                  json.excerpt());
  return position;
}

void SourcePosition::check_reached(int64_t passed, const char* who) const {
  check<FailedPrecondition>(passed == consumed || rebatched,
                            "{}: the position is after element {}, but this dataset ends after "
                            "{}.",
                            who, consumed, passed);
}

}  // namespace cornu
