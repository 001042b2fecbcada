// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image_batch.h"
#include "tests/golden/op_calls.h"

namespace cornu::test {
namespace {

using namespace ops::image;  // NOLINT

std::optional<int64_t> given(const Call& c, const char* name) {
  return c.find(name) ? std::optional(c.integer(name, 0)) : std::nullopt;
}

Op colors(Tensor (*f)(const Tensor&, const std::string&)) {
  return [f](const Call& c) { return List{f(c.in[0], c.text("data_format", ""))}; };
}

ExtractPatchesOptions patch_options(const Call& c) {
  return {.strides = sizes_of(c, "strides", {}),
          .dilation_rate = sizes_of(c, "dilation_rate", 1),
          .padding = c.text("padding", "valid"),
          .data_format = c.text("data_format", "")};
}

void add_sizes(Table& table) {
  table["image.resize"] = [](const Call& c) {
    const auto size = c.integers("size");
    return List{resize(c.in[0], {size[0], size[1]},
                       {.interpolation = c.text("interpolation", "bilinear"),
                        .antialias = c.flag("antialias"),
                        .crop_to_aspect_ratio = c.flag("crop_to_aspect_ratio"),
                        .pad_to_aspect_ratio = c.flag("pad_to_aspect_ratio"),
                        .fill_value = c.number("fill_value", 0),
                        .data_format = c.text("data_format", "")})};
  };
  table["image.pad_images"] = [](const Call& c) {
    return List{pad_images(c.in[0], {.top_padding = given(c, "top_padding"),
                                     .left_padding = given(c, "left_padding"),
                                     .bottom_padding = given(c, "bottom_padding"),
                                     .right_padding = given(c, "right_padding"),
                                     .target_height = given(c, "target_height"),
                                     .target_width = given(c, "target_width"),
                                     .data_format = c.text("data_format", "")})};
  };
  table["image.crop_images"] = [](const Call& c) {
    return List{crop_images(c.in[0], {.top_cropping = given(c, "top_cropping"),
                                      .left_cropping = given(c, "left_cropping"),
                                      .bottom_cropping = given(c, "bottom_cropping"),
                                      .right_cropping = given(c, "right_cropping"),
                                      .target_height = given(c, "target_height"),
                                      .target_width = given(c, "target_width"),
                                      .data_format = c.text("data_format", "")})};
  };
  table["image.extract_patches"] = [](const Call& c) {
    return List{extract_patches(c.in[0], sizes_of(c, "size", {}), patch_options(c))};
  };
  table["image.extract_patches_3d"] = [](const Call& c) {
    return List{extract_patches_3d(c.in[0], sizes_of(c, "size", {}), patch_options(c))};
  };
}

void add_filters(Table& table) {
  table["image.gaussian_blur"] = [](const Call& c) {
    GaussianBlurOptions options{.kernel_size = sizes_of(c, "kernel_size", 3),
                                .data_format = c.text("data_format", "")};
    if (const Json* sigma = c.find("sigma")) {
      options.sigma = Tensor::from<float>({static_cast<float>((*sigma)[0].as_double()),
                                           static_cast<float>((*sigma)[1].as_double())});
    }
    return List{gaussian_blur(c.in[0], options)};
  };
  table["image.sobel_edges"] = colors(sobel_edges);
  table["image.ssim"] = [](const Call& c) {
    return List{ssim(c.in[0], c.in[1],
                     {.max_val = c.number("max_val", 1),
                      .filter_size = c.integer("filter_size", 11),
                      .filter_sigma = c.number("filter_sigma", 1.5),
                      .k1 = c.number("k1", 0.01),
                      .k2 = c.number("k2", 0.03),
                      .data_format = c.text("data_format", "")})};
  };
}

// The deterministic part of an elastic transform, given the drawn noise.
List elastic(const Call& c) {
  const double sigma = c.number("sigma", 5);
  const ops::internal::ImageBatch batch(c.in[0], c.text("data_format", ""), "elastic_transform");
  return {
      batch.restored(ops::internal::displaced(batch.images(),
                                              {.right = c.in[1],
                                               .down = c.in[2],
                                               .alpha = c.number("alpha", 20),
                                               .sigma = sigma,
                                               .window = 2 * static_cast<int64_t>(3 * sigma) + 1},
                                              {.interpolation = c.text("interpolation", "bilinear"),
                                               .fill_mode = c.text("fill_mode", "reflect"),
                                               .fill_value = c.number("fill_value", 0)}))};
}

void add_geometry(Table& table) {
  table["image.affine_transform"] = [](const Call& c) {
    return List{affine_transform(c.in[0], c.in[1],
                                 {.interpolation = c.text("interpolation", "bilinear"),
                                  .fill_mode = c.text("fill_mode", "constant"),
                                  .fill_value = c.number("fill_value", 0),
                                  .data_format = c.text("data_format", "")})};
  };
  table["image.perspective_transform"] = [](const Call& c) {
    return List{perspective_transform(c.in[0], c.in[1], c.in[2],
                                      {.interpolation = c.text("interpolation", "bilinear"),
                                       .fill_value = c.number("fill_value", 0),
                                       .data_format = c.text("data_format", "")})};
  };
  table["image.map_coordinates"] = [](const Call& c) {
    return List{map_coordinates(
        c.in[0], c.in[1], c.integer("order", 1),
        {.fill_mode = c.text("fill_mode", "constant"), .fill_value = c.number("fill_value", 0)})};
  };
  table["image.elastic_transform"] = elastic;
  table["image.scale_and_translate"] = [](const Call& c) {
    return List{scale_and_translate(c.in[0], Shape(c.integers("output_shape")), c.in[1], c.in[2],
                                    c.integers("spatial_dims"), c.text("method", ""),
                                    c.flag("antialias", true))};
  };
}

}  // namespace

void add_image_ops(Table& table) {
  table["image.rgb_to_grayscale"] = colors(rgb_to_grayscale);
  table["image.rgb_to_hsv"] = colors(rgb_to_hsv);
  table["image.hsv_to_rgb"] = colors(hsv_to_rgb);
  add_sizes(table);
  add_filters(table);
  add_geometry(table);
}

}  // namespace cornu::test
