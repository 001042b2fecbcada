// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/source_position.h"

#include <algorithm>
#include <span>

#include "framework/core/error.h"
#include "framework/io/crc.h"
#include "framework/io/fuzzing.h"
#include "framework/strategy/stream.h"

namespace cornu {
namespace {

constexpr const char* kChecksum = "checksum";

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
  return Json::object({{"pipeline", pipeline},
                       {"pass", pass},
                       {"consumed", consumed},
                       {"seeds", std::move(drawn)}});
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
  check<DataLoss>(position.pass >= 0 && position.pass <= streams::kMostItems &&
                      position.consumed >= 0 && position.consumed <= streams::kMostItems,
                  "{}: the position {} is damaged: there can't be as many passes or elements.", who,
                  json.excerpt());
  return position;
}

void SourcePosition::check_reached(int64_t passed, const char* who) const {
  check<FailedPrecondition>(passed == consumed,
                            "{}: the position is after element {}, but this dataset ends after "
                            "{}.",
                            who, consumed, passed);
}

}  // namespace cornu
