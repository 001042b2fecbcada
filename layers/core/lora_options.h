// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/model/lora_options.h"

namespace cornu::layers {

using cornu::LoraOptions;

}  // namespace cornu::layers
