// SPDX-License-Identifier: Apache-2.0
#include "framework/model/layer_sharing.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "framework/core/at_end.h"

namespace cornu::internal {
namespace {

constexpr char kId[] = "shared_object_id";

struct Writing {
  const Layer* current = nullptr;
  std::set<const Layer*> seen = {};
  std::map<const Layer*, int64_t> shared = {};
  bool marks = false;
};
thread_local Writing* writing = nullptr;

using Reading = std::map<int64_t, LayerHandle>;
thread_local Reading* reading = nullptr;

Json serialize_outermost(const Layer& layer, FunctionRef<Json()> serialize) {
  Writing own{.current = &layer};
  writing = &own;
  const AtEnd ended([] { writing = nullptr; });
  Json json = serialize();
  if (own.shared.empty()) return json;
  own.marks = true;
  return serialize();
}

}  // namespace

Json serialize_with_sharing(const Layer& layer, FunctionRef<Json()> serialize) {
  if (!writing) return serialize_outermost(layer, serialize);
  if (writing->current == &layer) return serialize();
  Json json;
  {
    const Layer* outer = std::exchange(writing->current, &layer);
    const AtEnd back([outer] { writing->current = outer; });
    json = serialize();
  }
  if (writing->marks) {
    const auto shared = writing->shared.find(&layer);
    if (shared != writing->shared.end()) json.set(kId, shared->second);
  } else if (!writing->seen.insert(&layer).second) {
    writing->shared.emplace(&layer, static_cast<int64_t>(writing->shared.size()) + 1);
  }
  return json;
}

LayerHandle layer_with_sharing(const Json& json, FunctionRef<LayerHandle()> make) {
  if (!reading) {
    Reading own;
    reading = &own;
    const AtEnd ended([] { reading = nullptr; });
    return make();
  }
  const Json* id = json.find(kId);
  if (!id || !id->is_int()) return make();
  const auto known = reading->find(id->as_int());
  if (known != reading->end()) return known->second;
  LayerHandle layer = make();
  reading->emplace(id->as_int(), layer);
  return layer;
}

}  // namespace cornu::internal
