// SPDX-License-Identifier: Apache-2.0
// Configs: builds the described object, prints it, and writes its config again.
#include <cornu/cornu.h>

#include "framework/model/weight_limit.h"
#include "framework/train/console/summary.h"
#include "framework/train/model_config.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  return fuzz::attempt([&] {
    const Json json = Json::parse(fuzz::text_of(data, size));
    fuzz::require(Json::parse(json.dump()).dump() == json.dump(), "what is written reads back");
    clear_session();
    const WeightLimit limit(uint64_t{1} << 17);
    const LayerHandle layer = layer_from_json(json);
    const auto* model = dynamic_cast<const Model*>(layer.shared().get());
    if (!model) return;
    format_summary(summarize(*model), {}, 100);
    serialize_model(*model).dump();
  });
}
