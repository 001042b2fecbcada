// SPDX-License-Identifier: Apache-2.0
// Layers that occur more than once in a config: a part of two models within a third one, say.
// Keras's configs say so by "shared_object_id". Internal: for those who write and read configs.
#pragma once

#include "framework/core/json.h"
#include "framework/core/threads.h"
#include "framework/model/layer.h"

namespace cornu::internal {

// What serialize() gives for a layer; with an id where a config that this thread is writing has the
// layer elsewhere, too. The outermost call serializes twice where there are such layers.
Json serialize_with_sharing(const Layer& layer, FunctionRef<Json()> serialize);

// What make() gives for a layer's config; of one id within a config that this thread is reading,
// one layer.
LayerHandle layer_with_sharing(const Json& json, FunctionRef<LayerHandle()> make);

}  // namespace cornu::internal
