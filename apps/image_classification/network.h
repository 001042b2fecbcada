// SPDX-License-Identifier: Apache-2.0
// The network: MobileNetV2 with a classifier of its own.
#pragma once

#include <cornu/cornu.h>

#include <cstdint>
#include <string>
#include <vector>

namespace apps {

struct NetworkOptions {
  int64_t image_size = 160;
  int64_t classes = 2;
  double alpha = 1.0;
  std::string weights = {};  // of the base; empty: it is trained from scratch
  bool augment = true;       // by layers in the model
};

struct Network {
  cornu::Model model;  // pictures (batch, size, size, 3) of 0 to 255 to logits
  cornu::Model base;

  // The classifier learns alone.
  void freeze_base() { base.set_trainable(false); }
  // So do the base's last layers.
  void unfreeze_top();
};
Network make_network(const NetworkOptions& options);

// Layers that change pictures at random: mirror, turn and zoom them.
std::vector<cornu::LayerHandle> augmentation();

}  // namespace apps
