// SPDX-License-Identifier: Apache-2.0
#include "applications/nasnet.h"

#include "applications/architecture.h"
#include "applications/blocks.h"
#include "applications/imagenet.h"
#include "framework/graph/dispatch.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

struct NASNetKind {
  const char* who;
  const char* name;
  const char* file;
  int64_t size;
  int64_t filters;  // in the first cells
  int64_t blocks;
  int64_t stem_filters;
  bool skips_reductions;  // a cell after a reduction reads the reduction's input
};

// A cell's output, and its input, which the next cell reads, too.
struct Cells {
  Tensor x;
  Tensor before;
};

Tensor moving_normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.momentum = 0.9997, .epsilon = 1e-3, .name = name})(x);
}

Tensor he_convolved(const Tensor& x, int64_t filters, const std::string& name) {
  return layers::Conv2D({.filters = filters,
                         .kernel_size = 1,
                         .padding = "same",
                         .use_bias = false,
                         .kernel_initializer = "he_normal",
                         .name = name})(x);
}

Tensor padded_by(const Tensor& x, int64_t kernel, const std::string& name) {
  const auto [rows, columns] = correct_pad(x, kernel);
  return layers::ZeroPadding2D(
      {.padding = {{rows.first, rows.second}, {columns.first, columns.second}}, .name = name})(x);
}

Tensor added(const Tensor& a, const Tensor& b, const std::string& name = {}) {
  return layers::Add({.name = name})({a, b});
}

Tensor averaged(const Tensor& x, const std::string& name) {
  return layers::AveragePooling2D({.pool_size = 3, .strides = 1, .padding = "same", .name = name})(
      x);
}

// Two separable convolutions, the first with this `stride`.
Tensor separable(const Tensor& input, int64_t filters, int64_t kernel, int64_t stride,
                 const std::string& id) {
  const NameScope scope("separable_conv_block_" + id);
  Tensor x = rectified(input, {});
  if (stride == 2) x = padded_by(x, kernel, "separable_conv_1_pad_" + id);
  x = layers::SeparableConv2D({.filters = filters,
                               .kernel_size = kernel,
                               .strides = stride,
                               .padding = stride == 2 ? "valid" : "same",
                               .use_bias = false,
                               .name = "separable_conv_1_" + id})(x);
  x = rectified(moving_normalized(x, "separable_conv_1_bn_" + id), {});
  x = layers::SeparableConv2D({.filters = filters,
                               .kernel_size = kernel,
                               .padding = "same",
                               .use_bias = false,
                               .name = "separable_conv_2_" + id})(x);
  return moving_normalized(x, "separable_conv_2_bn_" + id);
}

// Halves rows and columns by taking every second pixel, from two offsets.
Tensor half_of(const Tensor& x, int64_t filters, const std::string& id) {
  const NameScope scope("adjust_reduction_block_" + id);
  const Tensor y = rectified(x, "adjust_relu_1_" + id);
  const auto every_second = [&](const Tensor& pixels, const std::string& number) {
    const Tensor taken = layers::AveragePooling2D(
        {.pool_size = 1, .strides = 2, .name = "adjust_avg_pool_" + number + "_" + id})(pixels);
    return he_convolved(taken, filters / 2, "adjust_conv_" + number + "_" + id);
  };
  const Tensor first = every_second(y, "1");
  const Tensor shifted = layers::Cropping2D({.cropping = {{1, 0}, {1, 0}}})(
      layers::ZeroPadding2D({.padding = {{0, 1}, {0, 1}}})(y));
  const Tensor second = every_second(shifted, "2");
  return moving_normalized(layers::Concatenate()({first, second}), "adjust_bn_" + id);
}

// Resizes the input of the previous cell to match this cell's input.
Tensor adjusted(const Tensor& before, const Tensor& x, int64_t filters, const std::string& id) {
  const NameScope outer("adjust_block");
  if (!before.defined()) return x;
  if (before.shape()[2] != x.shape()[2]) return half_of(before, filters, id);
  if (before.shape().back() == filters) return before;
  const NameScope scope("adjust_projection_block_" + id);
  const Tensor y = he_convolved(rectified(before, {}), filters, "adjust_conv_projection_" + id);
  return moving_normalized(y, "adjust_bn_" + id);
}

// Weight paths contain the name of the block within the cell.
Tensor separable_in(const char* block, const Tensor& x, int64_t filters, int64_t kernel,
                    int64_t stride, const std::string& id) {
  const NameScope scope(block);
  return separable(x, filters, kernel, stride, id);
}

Cells normal_cell(const Cells& cells, int64_t filters, const std::string& id) {
  const NameScope scope("normal_A_block_" + id);
  const Tensor p = adjusted(cells.before, cells.x, filters, id);
  Tensor h = he_convolved(rectified(cells.x, {}), filters, "normal_conv_1_" + id);
  h = moving_normalized(h, "normal_bn_1_" + id);
  const Tensor left_1 = separable_in("block_1", h, filters, 5, 1, "normal_left1_" + id);
  const Tensor right_1 = separable_in("block_1", p, filters, 3, 1, "normal_right1_" + id);
  const Tensor sum_1 = added(left_1, right_1, "normal_add_1_" + id);
  const Tensor left_2 = separable_in("block_2", p, filters, 5, 1, "normal_left2_" + id);
  const Tensor right_2 = separable_in("block_2", p, filters, 3, 1, "normal_right2_" + id);
  const Tensor sum_2 = added(left_2, right_2, "normal_add_2_" + id);
  const Tensor sum_3 = added(averaged(h, "normal_left3_" + id), p, "normal_add_3_" + id);
  const Tensor left_4 = averaged(p, "normal_left4_" + id);
  const Tensor right_4 = averaged(p, "normal_right4_" + id);
  const Tensor sum_4 = added(left_4, right_4, "normal_add_4_" + id);
  const Tensor left_5 = separable_in("block_5", h, filters, 3, 1, "normal_left5_" + id);
  const Tensor sum_5 = added(left_5, h, "normal_add_5_" + id);
  return {
      layers::Concatenate({.name = "normal_concat_" + id})({p, sum_1, sum_2, sum_3, sum_4, sum_5}),
      cells.x};
}

Cells reduction_cell(const Cells& cells, int64_t filters, const std::string& id) {
  const NameScope scope("reduction_A_block_" + id);
  const Tensor p = adjusted(cells.before, cells.x, filters, id);
  Tensor h = he_convolved(rectified(cells.x, {}), filters, "reduction_conv_1_" + id);
  h = moving_normalized(h, "reduction_bn_1_" + id);
  const Tensor padded_h = padded_by(h, 3, "reduction_pad_1_" + id);
  const auto largest_of = [&](const std::string& name) {
    return Tensor(
        layers::MaxPooling2D({.pool_size = 3, .strides = 2, .name = name + id})(padded_h));
  };
  const Tensor left_1 = separable_in("block_1", h, filters, 5, 2, "reduction_left1_" + id);
  const Tensor right_1 = separable_in("block_1", p, filters, 7, 2, "reduction_right1_" + id);
  const Tensor sum_1 = added(left_1, right_1, "reduction_add_1_" + id);
  const Tensor left_2 = largest_of("reduction_left2_");
  const Tensor right_2 = separable_in("block_2", p, filters, 7, 2, "reduction_right2_" + id);
  const Tensor sum_2 = added(left_2, right_2, "reduction_add_2_" + id);
  const Tensor left_3 = layers::AveragePooling2D(
      {.pool_size = 3, .strides = 2, .name = "reduction_left3_" + id})(padded_h);
  const Tensor right_3 = separable_in("block_3", p, filters, 5, 2, "reduction_right3_" + id);
  const Tensor sum_3 = added(left_3, right_3, "reduction_add3_" + id);
  const Tensor left_4 = averaged(sum_1, "reduction_left4_" + id);
  const Tensor sum_4 = added(sum_2, left_4);
  const Tensor left_5 = separable_in("block_5", sum_1, filters, 3, 1, "reduction_left4_" + id);
  const Tensor right_5 = largest_of("reduction_right5_");
  const Tensor sum_5 = added(left_5, right_5, "reduction_add4_" + id);
  return {layers::Concatenate({.name = "reduction_concat_" + id})({sum_2, sum_3, sum_4, sum_5}),
          cells.x};
}

Tensor nasnet_features(const Tensor& inputs, const NASNetKind& kind) {
  Cells cells;
  cells.x = layers::Conv2D({.filters = kind.stem_filters,
                            .kernel_size = 3,
                            .strides = 2,
                            .use_bias = false,
                            .kernel_initializer = "he_normal",
                            .name = "stem_conv1"})(inputs);
  cells.x = moving_normalized(cells.x, "stem_bn1");
  cells = reduction_cell(cells, kind.filters / 4, "stem_1");
  cells = reduction_cell(cells, kind.filters / 2, "stem_2");
  for (int64_t i = 0; i < kind.blocks; ++i) {
    cells = normal_cell(cells, kind.filters, fmt::format("{}", i));
  }
  for (const int64_t stage : {1, 2}) {
    const int64_t filters = kind.filters * (stage == 1 ? 2 : 4);
    const Cells reduced =
        reduction_cell(cells, filters, fmt::format("reduce_{}", stage * kind.blocks));
    cells = {reduced.x, kind.skips_reductions ? cells.before : reduced.before};
    for (int64_t i = 1; i <= kind.blocks; ++i) {
      cells = normal_cell(cells, filters, fmt::format("{}", stage * kind.blocks + i));
    }
  }
  return rectified(cells.x, {});
}

Model nasnet_model(const NASNetKind& kind, const NASNetOptions& options) {
  const Architecture architecture = {
      .who = kind.who,
      .default_size = kind.size,
      .top_pooling = {},
      .avg_pooling = {},
      .max_pooling = {},
      .features = [&](const Tensor& x) { return nasnet_features(x, kind); },
      .name = [&](const Shape&) { return kind.name; },
      .file =
          [&](const Shape&) {
            return fmt::format("tensorflow/keras-applications/nasnet/{}{}.h5", kind.file,
                               options.include_top ? "" : "-no-top");
          },
      .cached = fmt::format("{}{}.h5", kind.name, options.include_top ? "" : "_no_top")};
  return build(architecture, application_options(options));
}

}  // namespace

Model NASNetMobile(const NASNetOptions& options) {
  NASNetOptions given = options;
  if (!given.include_top && !given.input_shape) given.input_shape = {224, 224, 3};
  return nasnet_model(
      {"NASNetMobile", "nasnet_mobile", "NASNet-mobile", 224, 1056 / 24, 4, 32, false}, given);
}

Model NASNetLarge(const NASNetOptions& options) {
  return nasnet_model({"NASNetLarge", "nasnet_large", "NASNet-large", 331, 4032 / 24, 6, 96, true},
                      options);
}

Tensor nasnet::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
