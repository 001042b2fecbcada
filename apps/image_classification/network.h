// SPDX-License-Identifier: Apache-2.0
// The network: MobileNetV2 with its own classifier.
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
  std::string weights = {};  // of the base; empty: train it from scratch
  bool augment = true;       // by layers in the model
};

struct Network {
  cornu::Model model;  // maps pictures (batch, size, size, 3) from 0 to 255 to logits
  cornu::Model base;

  // Only the classifier is trained.
  void freeze_base() { base.set_trainable(false); }
  // The base's last layers are trained, too.
  void unfreeze_top();
};
Network make_network(const NetworkOptions& options);

// Layers that randomly mirror, rotate and zoom pictures.
std::vector<cornu::LayerHandle> augmentation();

}  // namespace apps
