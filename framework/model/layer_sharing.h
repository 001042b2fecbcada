// SPDX-License-Identifier: Apache-2.0
// Layers that occur more than once in a config, such as a part shared by two models within a third.
// Keras's configs mark them with "shared_object_id". Internal: used by code that writes and reads
// configs.
#pragma once

#include "framework/core/json.h"
#include "framework/core/threads.h"
#include "framework/model/layer.h"

namespace cornu::internal {

// Returns the result of serialize() for a layer, with an id added if the layer also occurs
// elsewhere in the config that this thread is writing. The outermost call serializes twice when
// there are such layers.
Json serialize_with_sharing(const Layer& layer, FunctionRef<Json()> serialize);

// Returns the result of make() for a layer's config. Within a config that this thread is reading,
// configs with the same id return the same layer.
LayerHandle layer_with_sharing(const Json& json, FunctionRef<LayerHandle()> make);

}  // namespace cornu::internal
