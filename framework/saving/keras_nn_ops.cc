// SPDX-License-Identifier: Apache-2.0
// Keras's ops outside keras.ops.numpy (nn, math, core, linalg, image, einops) that are composed of
// others here.
#include <utility>

#include "framework/model/constants.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_op.h"

namespace cornu::nn_ops {
namespace {

using C = const OpCall&;

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()

template <Tensor (*kUnary)(const Tensor&)>
Tensors unary(C c) {
  return kUnary(c.operand(0, "x"));
}
template <Tensor (*kBinary)(const Tensor&, const Tensor&)>
Tensors binary(C c) {
  return kBinary(c.operand(0, "x"), c.operand(1, "y"));
}
template <Tensor (*kAlong)(const Tensor&, int64_t)>
Tensors along(C c) {
  return kAlong(c.operand(0, "x"), c.integer("axis", -1));
}
template <Tensor (*kShrink)(const Tensor&, double)>
Tensors shrink(C c) {
  return kShrink(c.operand(0, "x"), c.number("threshold", 0.5));
}

Tensors both(const std::pair<Tensor, Tensor>& pair) {
  return std::vector<Tensor>{pair.first, pair.second};
}

Sizes sizes_of(C c, const char* key, const Sizes& otherwise) {
  const Json* sizes = c.find(key);
  if (!sizes) return otherwise;
  return sizes->is_array() ? Sizes(sizes->as_ints()) : Sizes(sizes->as_int());
}

void add_activations(const ComposedOps::Module& nn) {
  nn.add({
      {"Celu", [](C c) -> Tensors { return ops::celu(c.operand(0, "x"), c.number("alpha", 1)); }},
      {"Glu", along<ops::glu>},
      {"HardShrink", shrink<ops::hard_shrink>},
      {"SoftShrink", shrink<ops::soft_shrink>},
      {"SparsePlus", unary<ops::sparse_plus>},
      {"SparseSigmoid", unary<ops::sparse_sigmoid>},
      {"Sparsemax", along<ops::sparsemax>},
      {"Squareplus",
       [](C c) -> Tensors { return ops::squareplus(c.operand(0, "x"), c.number("b", 4)); }},
      {"Threshold",
       [](C c) -> Tensors {
         return ops::threshold(c.operand(0, "x"), c.need("threshold").as_double(),
                               c.need("default_value").as_double());
       }},
  });
}

// ---- convolutions and pooling: channels last, with transposes for "channels_first" ----

Tensor moved(C c, const Tensor& x, int64_t from, int64_t to) {
  return c.text("data_format", "") == "channels_first" ? ops::moveaxis(x, from, to) : x;
}
template <class F>
Tensors channels_last(C c, const F& f) {
  return moved(c, f(moved(c, c.operand(0, "inputs"), 1, -1)), -1, 1);
}

ops::ConvOptions conv_options(C c) {
  return {.strides = sizes_of(c, "strides", 1),
          .padding = c.text("padding", "valid"),
          .dilation_rate = sizes_of(c, "dilation_rate", 1)};
}
template <Tensor (*kConv)(const Tensor&, const Tensor&, const ops::ConvOptions&)>
Tensors conv(C c) {
  return channels_last(
      c, [&](const Tensor& x) { return kConv(x, c.operand(1, "kernel"), conv_options(c)); });
}
template <Tensor (*kPool)(const Tensor&, const Sizes&, const ops::PoolOptions&)>
Tensors pool(C c) {
  return channels_last(c, [&](const Tensor& x) {
    return kPool(x, sizes_of(c, "pool_size", {}),
                 {.strides = sizes_of(c, "strides", {}), .padding = c.text("padding", "valid")});
  });
}
template <Tensor (*kPool)(const Tensor&, const Sizes&)>
Tensors adaptive_pool(C c) {
  return channels_last(c,
                       [&](const Tensor& x) { return kPool(x, sizes_of(c, "output_size", {})); });
}
template <Tensor (*kMoved)(const Tensor&, int64_t)>
Tensors blocks(C c) {
  return moved(c, kMoved(moved(c, c.operand(0, "x"), 1, -1), c.need("block_size").as_int()), -1, 1);
}

void add_convolutions(const ComposedOps::Module& nn) {
  nn.add({
      {"AdaptiveAveragePool", adaptive_pool<ops::adaptive_average_pool>},
      {"AdaptiveMaxPool", adaptive_pool<ops::adaptive_max_pool>},
      {"AveragePool", pool<ops::average_pool>},
      {"MaxPool", pool<ops::max_pool>},
      {"Conv", conv<ops::conv>},
      {"DepthwiseConv", conv<ops::depthwise_conv>},
      {"ConvTranspose",
       [](C c) -> Tensors {
         return channels_last(c, [&](const Tensor& x) {
           return ops::conv_transpose(x, c.operand(1, "kernel"),
                                      {.strides = sizes_of(c, "strides", 1),
                                       .padding = c.text("padding", "valid"),
                                       .output_padding = sizes_of(c, "output_padding", {}),
                                       .dilation_rate = sizes_of(c, "dilation_rate", 1)});
         });
       }},
      {"SeparableConv",
       [](C c) -> Tensors {
         return channels_last(c, [&](const Tensor& x) {
           return ops::separable_conv(x, c.operand(1, "depthwise_kernel"),
                                      c.operand(2, "pointwise_kernel"), conv_options(c));
         });
       }},
      {"DepthToSpace", blocks<ops::depth_to_space>},
      {"SpaceToDepth", blocks<ops::space_to_depth>},
  });
  nn.add("Unfold", [](C c) -> Tensors {
    return ops::unfold(c.operand(0, "x"), sizes_of(c, "kernel_size", {}),
                       {.dilation = sizes_of(c, "dilation", 1),
                        .padding = sizes_of(c, "padding", 0),
                        .stride = sizes_of(c, "stride", 1)});
  });
  nn.add("Fold", [](C c) -> Tensors {
    return ops::fold(c.operand(0, "x"), sizes_of(c, "output_size", {}),
                     sizes_of(c, "kernel_size", {}),
                     {.dilation = sizes_of(c, "dilation", 1),
                      .padding = sizes_of(c, "padding", 0),
                      .stride = sizes_of(c, "stride", 1)});
  });
}

void add_losses(const ComposedOps::Module& nn) {
  nn.add("BinaryCrossentropy", [](C c) -> Tensors {
    return ops::binary_crossentropy(c.operand(0, "target"), c.operand(1, "output"),
                                    c.flag("from_logits", false));
  });
  nn.add("CategoricalCrossentropy", [](C c) -> Tensors {
    return ops::categorical_crossentropy(
        c.operand(0, "target"), c.operand(1, "output"),
        {.from_logits = c.flag("from_logits", false), .axis = c.integer("axis", -1)});
  });
  nn.add("SparseCategoricalCrossentropy", [](C c) -> Tensors {
    return ops::sparse_categorical_crossentropy(
        c.operand(0, "target"), c.operand(1, "output"),
        {.from_logits = c.flag("from_logits", false), .axis = c.integer("axis", -1)});
  });
  nn.add("CTCLoss", [](C c) -> Tensors {
    return ops::ctc_loss(c.operand(0, "target"), c.operand(1, "output"),
                         c.operand(2, "target_length"), c.operand(3, "output_length"),
                         c.integer("mask_index", 0));
  });
  nn.add("CTCDecode", [](C c) -> Tensors {
    return both(ops::ctc_decode(c.operand(0, "inputs"), c.operand(1, "sequence_lengths"),
                                {.strategy = c.text("strategy", "greedy"),
                                 .beam_width = c.integer("beam_width", 100),
                                 .top_paths = c.integer("top_paths", 1),
                                 .merge_repeated = c.flag("merge_repeated", true),
                                 .mask_index = c.integer("mask_index", 0)}));
  });
  nn.add("PSNR", [](C c) -> Tensors {
    return ops::psnr(c.operand(0, "x1"), c.operand(1, "x2"), c.need("max_val").as_double());
  });
}

void add_normalizations(const ComposedOps::Module& nn) {
  nn.add("Moments", [](C c) -> Tensors {
    check<Unimplemented>(!c.flag("synchronized", false), "synchronized isn't implemented.");
    return both(
        ops::moments(c.operand(0, "x"), Axes(c.integers("axes")), c.flag("keepdims", false)));
  });
  nn.add("BatchNorm", [](C c) -> Tensors {
    return ops::batch_normalization(c.operand(0, "x"), c.operand(1, "mean"),
                                    c.operand(2, "variance"), c.need("axis").as_int(),
                                    {.offset = c.optional(3, "offset"),
                                     .scale = c.optional(4, "scale"),
                                     .epsilon = c.number("epsilon", 1e-3)});
  });
  nn.add("LayerNorm", [](C c) -> Tensors {
    check<Unimplemented>(!c.flag("rms_scaling", false), "rms_scaling isn't implemented.");
    return ops::layer_normalization(c.operand(0, "x"), {.gamma = c.optional(1, "gamma"),
                                                        .beta = c.optional(2, "beta"),
                                                        .axis = c.axes(-1),
                                                        .epsilon = c.number("epsilon", kEpsilon)});
  });
  nn.add("RMSNorm", [](C c) -> Tensors {
    return ops::rms_normalization(c.operand(0, "x"), {.scale = c.optional(1, "scale"),
                                                      .axis = c.axes(-1),
                                                      .epsilon = c.number("epsilon", kEpsilon)});
  });
  nn.add("Normalize", [](C c) -> Tensors {
    return ops::normalize(c.operand(0, "x"), {.axis = c.axes(-1),
                                              .order = c.number("order", 2),
                                              .epsilon = c.number("epsilon", kEpsilon)});
  });
  nn.add("DotProductAttention", [](C c) -> Tensors {
    const Json* scale = c.value(5, "scale");
    return ops::dot_product_attention(
        c.operand(0, "query"), c.operand(1, "key"), c.operand(2, "value"),
        {.bias = c.optional(3, "bias"),
         .mask = c.optional(4, "mask"),
         .scale = scale ? std::optional(scale->as_double()) : std::nullopt,
         .is_causal = c.flag("is_causal", false)});
  });
}

void add_encodings(const ComposedOps::Module& nn) {
  nn.add("MultiHot", [](C c) -> Tensors {
    return ops::multi_hot(c.operand(0, "inputs"), c.need("num_classes").as_int(),
                          c.integer("axis", -1), c.dtype().value_or(DType::Float32));
  });
}

// ---- math, core, einops ----

template <Tensor (*kSegments)(const Tensor&, const Tensor&, int64_t)>
Tensors segments(C c) {
  check<Unimplemented>(c.find("num_segments") != nullptr,
                       "expected num_segments, without which the shape depends on values.");
  return kSegments(c.operand(0, "data"), c.operand(1, "segment_ids"), c.integer("num_segments", 0));
}

ops::RealAndImaginary complex_operand(C c) {
  const std::vector<Tensor> parts = c.list(0, "x");
  check<InvalidArgument>(parts.size() == 2, "expected real and imaginary parts, got {} tensors.",
                         parts.size());
  return std::make_pair(parts[0], parts[1]);
}
template <ops::RealAndImaginary (*kTransform)(const ops::RealAndImaginary&)>
Tensors transform(C c) {
  return both(kTransform(complex_operand(c)));
}

ops::StftOptions stft_options(C c) {
  ops::StftOptions options{.center = c.flag("center", true)};
  if (const Json* window = c.json.find("window")) {
    options.window = window->is_null() ? std::nullopt : std::optional(window->as_string());
  }
  return options;
}

void add_math(const ComposedOps::Module& math) {
  math.add({
      {"CDist", binary<ops::cdist>},
      {"Erfc", unary<ops::erfc>},
      {"Logdet", unary<ops::logdet>},
      {"SegmentSum", segments<ops::segment_sum>},
      {"SegmentMax", segments<ops::segment_max>},
      {"SegmentMin", segments<ops::segment_min>},
      {"SegmentProd", segments<ops::segment_prod>},
      {"FFT", transform<ops::fft>},
      {"FFT2", transform<ops::fft2>},
      {"IFFT2", transform<ops::ifft2>},
      {"TopK",
       [](C c) -> Tensors { return both(ops::top_k(c.operand(0, "x"), c.need("k").as_int())); }},
      {"InTopK",
       [](C c) -> Tensors {
         return ops::in_top_k(c.operand(0, "targets"), c.operand(1, "predictions"),
                              c.need("k").as_int());
       }},
      {"ExtractSequences",
       [](C c) -> Tensors {
         return ops::extract_sequences(c.operand(0, "x"), c.need("sequence_length").as_int(),
                                       c.need("sequence_stride").as_int());
       }},
      {"RFFT",
       [](C c) -> Tensors { return both(ops::rfft(c.operand(0, "x"), c.maybe("fft_length"))); }},
      {"STFT",
       [](C c) -> Tensors {
         return both(ops::stft(c.operand(0, "x"), c.need("sequence_length").as_int(),
                               c.need("sequence_stride").as_int(), c.need("fft_length").as_int(),
                               stft_options(c)));
       }},
  });
  math.add("IRFFT",
           [](C c) -> Tensors { return ops::irfft(complex_operand(c), c.maybe("fft_length")); });
  math.add("ISTFT", [](C c) -> Tensors {
    return ops::istft(complex_operand(c), c.need("sequence_length").as_int(),
                      c.need("sequence_stride").as_int(), c.need("fft_length").as_int(),
                      c.maybe("length"), stft_options(c));
  });
}

// Numbers if the file has them, otherwise a tensor.
std::vector<int64_t> starts(C c) {
  const Json* start = c.value(1, "start_indices");
  const bool numbers = start && start->is_array();
  check<Unimplemented>(numbers, "expected start_indices that are a list of numbers.");
  return start->as_ints();
}

void add_core(const ComposedOps::Module& core) {
  core.add("Scatter", [](C c) -> Tensors {
    return ops::scatter(c.operand(0, "indices"), c.operand(1, "values"),
                        c.need("shape").as_shape());
  });
  core.add("ScatterUpdate", [](C c) -> Tensors {
    return ops::scatter_update(c.operand(0, "inputs"), c.operand(1, "indices"),
                               c.operand(2, "updates"), c.text("reduction", ""));
  });
  core.add("Slice", [](C c) -> Tensors {
    return ops::slice(c.operand(0, "inputs"), starts(c), c.integers("shape"));
  });
  core.add("SliceUpdate", [](C c) -> Tensors {
    return ops::slice_update(c.operand(0, "inputs"), starts(c), c.operand(2, "updates"));
  });
  core.add("SaturateCast", [](C c) -> Tensors {
    return ops::saturate_cast(c.operand(0, "x"), dtype_from_string(c.need("dtype").as_string()));
  });
}

void add_einops(const ComposedOps::Module& einops) {
  einops.add("Rearrange", [](C c) -> Tensors {
    const Json* pattern = c.value(1, "pattern");
    check<InvalidArgument>(pattern != nullptr, "expected a pattern, got none.");
    return ops::rearrange(c.operand(0, "tensor"), pattern->as_string(), c.lengths());
  });
}

void add_linalg(const ComposedOps::Module& linalg) {
  linalg.add({
      {"Cholesky",
       [](C c) -> Tensors { return ops::cholesky(c.operand(0, "x"), c.flag("upper", false)); }},
      {"CholeskyInverse",
       [](C c) -> Tensors {
         return ops::cholesky_inverse(c.operand(0, "x"), c.flag("upper", false));
       }},
      {"Det", unary<ops::det>},
      {"Inv", unary<ops::inv>},
      {"Eigh", [](C c) -> Tensors { return both(ops::eigh(c.operand(0, "x"))); }},
      {"LuFactor", [](C c) -> Tensors { return both(ops::lu_factor(c.operand(0, "x"))); }},
      {"Qr",
       [](C c) -> Tensors { return both(ops::qr(c.operand(0, "x"), c.text("mode", "reduced"))); }},
      {"Solve", binary<ops::solve>},
      {"SolveTriangular",
       [](C c) -> Tensors {
         return ops::solve_triangular(c.operand(0, "a"), c.operand(1, "b"), c.flag("lower", false));
       }},
      {"Lstsq",
       [](C c) -> Tensors {
         return ops::lstsq(c.operand(0, "a"), c.operand(1, "b"), c.maybe_number("rcond"));
       }},
      {"MatrixRank",
       [](C c) -> Tensors { return ops::matrix_rank(c.operand(0, "x"), c.maybe_number("tol")); }},
      {"Pinv",
       [](C c) -> Tensors { return ops::pinv(c.operand(0, "x"), c.maybe_number("rcond")); }},
      {"Norm",
       [](C c) -> Tensors {
         ops::NormOptions options{.axis = c.axes(), .keepdims = c.flag("keepdims", false)};
         const Json* order = c.find("ord");
         if (order && order->is_string()) {
           options.name = order->as_string();
         } else if (order) {
           options.ord = order->as_double();
         }
         return ops::norm(c.operand(0, "x"), options);
       }},
      {"SVD",
       [](C c) -> Tensors {
         const bool all = c.flag("compute_uv", true);
         const ops::Svd svd = ops::svd(c.operand(0, "x"), c.flag("full_matrices", true), all);
         return all ? Tensors{svd.u, svd.s, svd.vh} : Tensors(svd.s);
       }},
  });
}

// ---- image ----

std::pair<int64_t, int64_t> size_of(C c) {
  const std::vector<int64_t> size = c.integers("size");
  check<InvalidArgument>(size.size() == 1 || size.size() == 2, "expected two sizes, got {}.",
                         size.size());
  return {size.front(), size.back()};
}

template <Tensor (*kColors)(const Tensor&, const std::string&)>
Tensors colors(C c) {
  return kColors(c.operand(0, "images"), c.text("data_format", ""));
}

void add_images(const ComposedOps::Module& image) {
  image.add({
      {"RGBToGrayscale", colors<ops::image::rgb_to_grayscale>},
      {"RGBToHSV", colors<ops::image::rgb_to_hsv>},
      {"HSVToRGB", colors<ops::image::hsv_to_rgb>},
      {"SobelEdges", colors<ops::image::sobel_edges>},
  });
  image.add("Resize", [](C c) -> Tensors {
    return ops::image::resize(c.operand(0, "images"), size_of(c),
                              {.interpolation = c.text("interpolation", "bilinear"),
                               .antialias = c.flag("antialias", false),
                               .crop_to_aspect_ratio = c.flag("crop_to_aspect_ratio", false),
                               .pad_to_aspect_ratio = c.flag("pad_to_aspect_ratio", false),
                               .fill_value = c.number("fill_value", 0),
                               .data_format = c.text("data_format", "")});
  });
  image.add("AffineTransform", [](C c) -> Tensors {
    return ops::image::affine_transform(c.operand(0, "images"), c.operand(1, "transform"),
                                        {.interpolation = c.text("interpolation", "bilinear"),
                                         .fill_mode = c.text("fill_mode", "constant"),
                                         .fill_value = c.number("fill_value", 0),
                                         .data_format = c.text("data_format", "")});
  });
  image.add("PerspectiveTransform", [](C c) -> Tensors {
    return ops::image::perspective_transform(c.operand(0, "images"), c.operand(1, "start_points"),
                                             c.operand(2, "end_points"),
                                             {.interpolation = c.text("interpolation", "bilinear"),
                                              .fill_value = c.number("fill_value", 0),
                                              .data_format = c.text("data_format", "")});
  });
  image.add("ExtractPatches", [](C c) -> Tensors {
    return ops::image::extract_patches(c.operand(0, "images"), sizes_of(c, "size", {}),
                                       {.strides = sizes_of(c, "strides", {}),
                                        .dilation_rate = sizes_of(c, "dilation_rate", 1),
                                        .padding = c.text("padding", "valid"),
                                        .data_format = c.text("data_format", "")});
  });
  image.add("MapCoordinates", [](C c) -> Tensors {
    return ops::image::map_coordinates(
        c.operand(0, "inputs"), c.operand(1, "coordinates"), c.need("order").as_int(),
        {.fill_mode = c.text("fill_mode", "constant"), .fill_value = c.number("fill_value", 0)});
  });
  image.add("SSIM", [](C c) -> Tensors {
    return ops::image::ssim(c.operand(0, "image1"), c.operand(1, "image2"),
                            {.max_val = c.number("max_val", 1),
                             .filter_size = c.integer("filter_size", 11),
                             .filter_sigma = c.number("filter_sigma", 1.5),
                             .k1 = c.number("k1", 0.01),
                             .k2 = c.number("k2", 0.03),
                             .data_format = c.text("data_format", "")});
  });
}

void add_margins(const ComposedOps::Module& image) {
  image.add("PadImages", [](C c) -> Tensors {
    return ops::image::pad_images(c.operand(0, "images"),
                                  {.top_padding = c.maybe("top_padding"),
                                   .left_padding = c.maybe("left_padding"),
                                   .bottom_padding = c.maybe("bottom_padding"),
                                   .right_padding = c.maybe("right_padding"),
                                   .target_height = c.maybe("target_height"),
                                   .target_width = c.maybe("target_width"),
                                   .data_format = c.text("data_format", "")});
  });
  image.add("CropImages", [](C c) -> Tensors {
    return ops::image::crop_images(c.operand(0, "images"),
                                   {.top_cropping = c.maybe("top_cropping"),
                                    .left_cropping = c.maybe("left_cropping"),
                                    .bottom_cropping = c.maybe("bottom_cropping"),
                                    .right_cropping = c.maybe("right_cropping"),
                                    .target_height = c.maybe("target_height"),
                                    .target_width = c.maybe("target_width"),
                                    .data_format = c.text("data_format", "")});
  });
  image.add("GaussianBlur", [](C c) -> Tensors {
    ops::image::GaussianBlurOptions options{.kernel_size = sizes_of(c, "kernel_size", 3),
                                            .data_format = c.text("data_format", "")};
    if (const Json* sigma = c.find("sigma")) options.sigma = literal_tensor(*sigma);
    return ops::image::gaussian_blur(c.operand(0, "images"), options);
  });
}

}  // namespace

void add_to(ComposedOps& table) {
  add_activations(table.of("nn"));
  add_convolutions(table.of("nn"));
  add_losses(table.of("nn"));
  add_normalizations(table.of("nn"));
  add_encodings(table.of("nn"));
  add_math(table.of("math"));
  add_core(table.of("core"));
  add_einops(table.of("einops"));
  add_linalg(table.of("linalg"));
  add_images(table.of("image"));
  add_margins(table.of("image"));
}

}  // namespace cornu::nn_ops
