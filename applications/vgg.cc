// SPDX-License-Identifier: Apache-2.0
#include "applications/vgg.h"

#include <algorithm>

#include "applications/architecture.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

// Five blocks, the first two with two convolutions each, the others with `deep`.
Tensor vgg_features(Tensor x, int deep) {
  for (int block = 1; block <= 5; ++block) {
    const int64_t filters = std::min(64 << (block - 1), 512);
    for (int i = 1; i <= (block < 3 ? 2 : deep); ++i) {
      x = layers::Conv2D({.filters = filters,
                          .kernel_size = 3,
                          .padding = "same",
                          .activation = "relu",
                          .name = fmt::format("block{}_conv{}", block, i)})(x);
    }
    x = layers::MaxPooling2D(
        {.pool_size = 2, .strides = 2, .name = fmt::format("block{}_pool", block)})(x);
  }
  return x;
}

Tensor vgg_head(const Tensor& x) {
  Tensor y = layers::Flatten({.name = "flatten"})(x);
  for (const char* name : {"fc1", "fc2"}) {
    y = layers::Dense({.units = 4096, .activation = "relu", .name = name})(y);
  }
  return y;
}

Model vgg_model(const std::string& who, const std::string& folder, int deep,
                const ApplicationOptions& options) {
  Architecture architecture = named_architecture(who, folder, options.include_top);
  architecture.avg_pooling = architecture.max_pooling = {};
  architecture.features = [deep](const Tensor& x) { return vgg_features(x, deep); };
  architecture.head = vgg_head;
  return build(architecture, options);
}

}  // namespace

Model VGG16(const ApplicationOptions& options) { return vgg_model("VGG16", "vgg16", 3, options); }

Model VGG19(const ApplicationOptions& options) { return vgg_model("VGG19", "vgg19", 4, options); }

Tensor vgg16::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Caffe);
}

}  // namespace cornu::applications
