// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/source_position.h"

#include "framework/core/error.h"

namespace cornu {

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
  check<DataLoss>(position.pass >= 0 && position.consumed >= 0, "{}: the position {} is damaged.",
                  who, json.excerpt());
  return position;
}

void SourcePosition::check_reached(int64_t passed, const char* who) const {
  check<FailedPrecondition>(passed == consumed,
                            "{}: the position is after element {}, but this dataset ends after "
                            "{}.",
                            who, consumed, passed);
}

}  // namespace cornu
