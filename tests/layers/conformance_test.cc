// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::check_layer;
using test::make;
using test::some_values;

namespace {

const Tensor kVectors = some_values({4, 6});
const Tensor kSequences = some_values({3, 8, 4});
const Tensor kImages = some_values({2, 8, 7, 4});
const Tensor kVolumes = some_values({2, 5, 6, 4, 3});

}  // namespace

TEST_CASE("core layers conform") {
  check_layer({.name = "Dense",
               .make = make<layers::Dense, layers::DenseOptions>(
                   {.units = 5, .activation = "relu", .kernel_initializer = "he_normal"}),
               .inputs = {kVectors},
               .output_shape = {4, 5},
               .trainable_weights = 2});
  check_layer({.name = "Dense of sequences",
               .make = make<layers::Dense, layers::DenseOptions>({.units = 5, .use_bias = false}),
               .inputs = {kSequences},
               .output_shape = {3, 8, 5},
               .trainable_weights = 1});
  check_layer(
      {.name = "Embedding",
       .make = make<layers::Embedding, layers::EmbeddingOptions>({.input_dim = 7, .output_dim = 3}),
       .inputs = {Tensor::from<int32_t>({0, 6, 2, 2, 5, 1}, {2, 3})},
       .output_shape = {2, 3, 3},
       .trainable_weights = 1});
  check_layer({.name = "Identity",
               .make = make<layers::Identity, layers::IdentityOptions>({}),
               .inputs = {kImages},
               .output_shape = kImages.shape()});
  check_layer({.name = "EinsumDense",
               .make = make<layers::EinsumDense, layers::EinsumDenseOptions>(
                   {.equation = "abc,cde->abde",
                    .output_shape = {kUnknown, 2, 5},
                    .activation = "tanh",
                    .bias_axes = "de"}),
               .inputs = {kSequences},
               .output_shape = {3, 8, 2, 5},
               .trainable_weights = 2});
  check_layer({.name = "EinsumDense of any axes before",
               .make = make<layers::EinsumDense, layers::EinsumDenseOptions>(
                   {.equation = "...x,xy->...y", .output_shape = {5}}),
               .inputs = {kImages},
               .output_shape = {2, 8, 7, 5},
               .trainable_weights = 1});
  check_layer({.name = "EinsumDense of any axes after",
               .make = make<layers::EinsumDense, layers::EinsumDenseOptions>(
                   {.equation = "ab...,bc->ac...", .output_shape = {5}, .bias_axes = "c"}),
               .inputs = {kImages},
               .output_shape = {2, 5, 7, 4},
               .trainable_weights = 2});
  check_layer({.name = "ReversibleEmbedding",
               .make = make<layers::ReversibleEmbedding, layers::ReversibleEmbeddingOptions>(
                   {.input_dim = 7, .output_dim = 3, .reverse_dtype = DType::Float32}),
               .inputs = {Tensor::from<int32_t>({0, 6, 2, 2, 5, 1}, {2, 3})},
               .output_shape = {2, 3, 3},
               .trainable_weights = 1});
  check_layer({.name = "LayerScale",
               .make = make<layers::LayerScale, layers::LayerScaleOptions>(
                   {.init_values = 0.5, .projection_dim = 4}),
               .inputs = {kImages},
               .output_shape = kImages.shape(),
               .trainable_weights = 1});
  check_layer({.name = "Masking",
               .make = make<layers::Masking, layers::MaskingOptions>({}),
               .inputs = {kSequences},
               .output_shape = kSequences.shape()});
}

TEST_CASE("convolutional layers conform") {
  check_layer({.name = "Conv1D causal",
               .make = make<layers::Conv1D, layers::Conv1DOptions>(
                   {.filters = 5, .kernel_size = 3, .padding = "causal", .dilation_rate = 2}),
               .inputs = {kSequences},
               .output_shape = {3, 8, 5},
               .trainable_weights = 2});
  check_layer({.name = "Conv2D",
               .make = make<layers::Conv2D, layers::Conv2DOptions>({.filters = 6,
                                                                    .kernel_size = {3, 2},
                                                                    .strides = 2,
                                                                    .padding = "same",
                                                                    .groups = 2,
                                                                    .activation = "relu"}),
               .inputs = {kImages},
               .output_shape = {2, 4, 4, 6},
               .trainable_weights = 2});
  check_layer({.name = "Conv3D",
               .make = make<layers::Conv3D, layers::Conv3DOptions>(
                   {.filters = 2, .kernel_size = {2, 3, 1}}),
               .inputs = {kVolumes},
               .output_shape = {2, 4, 4, 4, 2},
               .trainable_weights = 2});
  check_layer(
      {.name = "DepthwiseConv1D",
       .make = make<layers::DepthwiseConv1D, layers::DepthwiseConv1DOptions>({.kernel_size = 3}),
       .inputs = {kSequences},
       .output_shape = {3, 6, 4},
       .trainable_weights = 2});
  check_layer({.name = "DepthwiseConv2D",
               .make = make<layers::DepthwiseConv2D, layers::DepthwiseConv2DOptions>(
                   {.kernel_size = 3, .padding = "same", .depth_multiplier = 2}),
               .inputs = {kImages},
               .output_shape = {2, 8, 7, 8},
               .trainable_weights = 2});
  check_layer({.name = "SeparableConv1D",
               .make = make<layers::SeparableConv1D, layers::SeparableConv1DOptions>(
                   {.filters = 5, .kernel_size = 3}),
               .inputs = {kSequences},
               .output_shape = {3, 6, 5},
               .trainable_weights = 3});
  check_layer({.name = "SeparableConv2D",
               .make = make<layers::SeparableConv2D, layers::SeparableConv2DOptions>(
                   {.filters = 5, .kernel_size = 3, .depth_multiplier = 2}),
               .inputs = {kImages},
               .output_shape = {2, 6, 5, 5},
               .trainable_weights = 3});
  check_layer({.name = "Conv1DTranspose",
               .make = make<layers::Conv1DTranspose, layers::Conv1DTransposeOptions>(
                   {.filters = 3, .kernel_size = 4, .strides = 2}),
               .inputs = {kSequences},
               .output_shape = {3, 18, 3},
               .trainable_weights = 2});
  check_layer({.name = "Conv2DTranspose",
               .make = make<layers::Conv2DTranspose, layers::Conv2DTransposeOptions>(
                   {.filters = 3, .kernel_size = 3, .strides = {2, 1}, .padding = "same"}),
               .inputs = {kImages},
               .output_shape = {2, 16, 7, 3},
               .trainable_weights = 2});
}

TEST_CASE("transposed convolutions of volumes and adaptive pooling conform") {
  check_layer({.name = "Conv3DTranspose",
               .make = make<layers::Conv3DTranspose, layers::Conv3DTransposeOptions>(
                   {.filters = 2, .kernel_size = {2, 3, 1}, .strides = {2, 1, 1}}),
               .inputs = {kVolumes},
               .output_shape = {2, 10, 8, 4, 2},
               .trainable_weights = 2});
  const auto check = [](const std::string& name, const std::function<LayerHandle()>& layer,
                        const Tensor& input, const Shape& output_shape) {
    check_layer({.name = name, .make = layer, .inputs = {input}, .output_shape = output_shape});
  };
  using layers::AdaptiveAveragePooling1DOptions;
  using layers::AdaptiveAveragePooling2DOptions;
  using layers::AdaptiveAveragePooling3DOptions;
  const AdaptiveAveragePooling1DOptions one{.output_size = 3};
  const AdaptiveAveragePooling2DOptions two{.output_size = {4, 9}};
  const AdaptiveAveragePooling3DOptions three{.output_size = {5, 4, 1}};
  const Shape of_one = {3, 3, 4}, of_two = {2, 4, 9, 4}, of_three = {2, 5, 4, 1, 3};
  check("AdaptiveAveragePooling1D", make<layers::AdaptiveAveragePooling1D>(one), kSequences,
        of_one);
  check("AdaptiveAveragePooling2D", make<layers::AdaptiveAveragePooling2D>(two), kImages, of_two);
  check("AdaptiveAveragePooling3D", make<layers::AdaptiveAveragePooling3D>(three), kVolumes,
        of_three);
  check("AdaptiveMaxPooling1D", make<layers::AdaptiveMaxPooling1D>(one), kSequences, of_one);
  check("AdaptiveMaxPooling2D", make<layers::AdaptiveMaxPooling2D>(two), kImages, of_two);
  check("AdaptiveMaxPooling3D", make<layers::AdaptiveMaxPooling3D>(three), kVolumes, of_three);
}

TEST_CASE("pooling layers conform") {
  check_layer({.name = "MaxPooling1D",
               .make = make<layers::MaxPooling1D, layers::MaxPooling1DOptions>({}),
               .inputs = {kSequences},
               .output_shape = {3, 4, 4}});
  check_layer({.name = "MaxPooling2D",
               .make = make<layers::MaxPooling2D, layers::MaxPooling2DOptions>(
                   {.pool_size = {2, 3}, .strides = 2, .padding = "same"}),
               .inputs = {kImages},
               .output_shape = {2, 4, 4, 4}});
  check_layer({.name = "MaxPooling3D",
               .make = make<layers::MaxPooling3D, layers::MaxPooling3DOptions>({}),
               .inputs = {kVolumes},
               .output_shape = {2, 2, 3, 2, 3}});
  check_layer({.name = "AveragePooling1D",
               .make = make<layers::AveragePooling1D, layers::AveragePooling1DOptions>(
                   {.pool_size = 3, .strides = 1}),
               .inputs = {kSequences},
               .output_shape = {3, 6, 4}});
  check_layer(
      {.name = "AveragePooling2D",
       .make = make<layers::AveragePooling2D, layers::AveragePooling2DOptions>({.padding = "same"}),
       .inputs = {kImages},
       .output_shape = {2, 4, 4, 4}});
  check_layer({.name = "AveragePooling3D",
               .make = make<layers::AveragePooling3D, layers::AveragePooling3DOptions>({}),
               .inputs = {kVolumes},
               .output_shape = {2, 2, 3, 2, 3}});
  check_layer({.name = "GlobalMaxPooling1D",
               .make = make<layers::GlobalMaxPooling1D, layers::GlobalPoolingOptions>({}),
               .inputs = {kSequences},
               .output_shape = {3, 4}});
  check_layer(
      {.name = "GlobalMaxPooling2D",
       .make = make<layers::GlobalMaxPooling2D, layers::GlobalPoolingOptions>({.keepdims = true}),
       .inputs = {kImages},
       .output_shape = {2, 1, 1, 4}});
  check_layer({.name = "GlobalMaxPooling3D",
               .make = make<layers::GlobalMaxPooling3D, layers::GlobalPoolingOptions>({}),
               .inputs = {kVolumes},
               .output_shape = {2, 3}});
  check_layer({.name = "GlobalAveragePooling1D",
               .make = make<layers::GlobalAveragePooling1D, layers::GlobalPoolingOptions>({}),
               .inputs = {kSequences},
               .output_shape = {3, 4}});
  check_layer({.name = "GlobalAveragePooling2D",
               .make = make<layers::GlobalAveragePooling2D, layers::GlobalPoolingOptions>({}),
               .inputs = {kImages},
               .output_shape = {2, 4}});
  check_layer({.name = "GlobalAveragePooling3D",
               .make = make<layers::GlobalAveragePooling3D, layers::GlobalPoolingOptions>(
                   {.keepdims = true}),
               .inputs = {kVolumes},
               .output_shape = {2, 1, 1, 1, 3}});
}

TEST_CASE("normalization layers conform") {
  check_layer({.name = "BatchNormalization",
               .make = make<layers::BatchNormalization, layers::BatchNormalizationOptions>({}),
               .inputs = {kImages},
               .output_shape = kImages.shape(),
               .trainable_weights = 2,
               .non_trainable_weights = 2,
               .differs_in_training = true});
  check_layer({.name = "BatchNormalization of an inner axis",
               .make = make<layers::BatchNormalization, layers::BatchNormalizationOptions>(
                   {.axis = 1, .center = false, .scale = false}),
               .inputs = {kSequences},
               .output_shape = kSequences.shape(),
               .non_trainable_weights = 2,
               .differs_in_training = true});
  check_layer({.name = "LayerNormalization",
               .make = make<layers::LayerNormalization, layers::LayerNormalizationOptions>({}),
               .inputs = {kSequences},
               .output_shape = kSequences.shape(),
               .trainable_weights = 2});
  check_layer({.name = "LayerNormalization of two axes",
               .make = make<layers::LayerNormalization, layers::LayerNormalizationOptions>(
                   {.axis = {1, 2}, .center = false}),
               .inputs = {kSequences},
               .output_shape = kSequences.shape(),
               .trainable_weights = 1});
  check_layer(
      {.name = "GroupNormalization",
       .make = make<layers::GroupNormalization, layers::GroupNormalizationOptions>({.groups = 2}),
       .inputs = {kImages},
       .output_shape = kImages.shape(),
       .trainable_weights = 2});
  check_layer(
      {.name = "UnitNormalization",
       .make = make<layers::UnitNormalization, layers::UnitNormalizationOptions>({.axis = 1}),
       .inputs = {kSequences},
       .output_shape = kSequences.shape()});
}

TEST_CASE("regularization layers conform") {
  auto random = [](const char* name, std::function<LayerHandle()> factory, const Tensor& input) {
    check_layer({.name = name,
                 .make = std::move(factory),
                 .inputs = {input},
                 .output_shape = input.shape(),
                 .differs_in_training = true,
                 .random = true});
  };
  random("Dropout", make<layers::Dropout, layers::DropoutOptions>({.rate = 0.5}), kImages);
  random("AlphaDropout", make<layers::AlphaDropout, layers::AlphaDropoutOptions>({.rate = 0.5}),
         kVectors);
  random("AlphaDropout with a noise_shape",
         make<layers::AlphaDropout, layers::AlphaDropoutOptions>(
             {.rate = 0.5, .noise_shape = {kUnknown, 1, kUnknown}}),
         kSequences);
  random("Dropout with a noise_shape",
         make<layers::Dropout, layers::DropoutOptions>(
             {.rate = 0.5, .noise_shape = {kUnknown, 1, kUnknown}}),
         kSequences);
  random("SpatialDropout1D",
         make<layers::SpatialDropout1D, layers::SpatialDropout1DOptions>({.rate = 0.5}),
         kSequences);
  random("SpatialDropout2D",
         make<layers::SpatialDropout2D, layers::SpatialDropout2DOptions>({.rate = 0.5}), kImages);
  random("SpatialDropout3D",
         make<layers::SpatialDropout3D, layers::SpatialDropout3DOptions>({.rate = 0.5}), kVolumes);
  random("GaussianNoise",
         make<layers::GaussianNoise, layers::GaussianNoiseOptions>({.stddev = 0.5}), kVectors);
  random("GaussianDropout",
         make<layers::GaussianDropout, layers::GaussianDropoutOptions>({.rate = 0.5}), kVectors);
  check_layer({.name = "Dropout of nothing",
               .make = make<layers::Dropout, layers::DropoutOptions>({.rate = 0}),
               .inputs = {kVectors},
               .output_shape = kVectors.shape()});
  check_layer({.name = "ActivityRegularization",
               .make = make<layers::ActivityRegularization, layers::ActivityRegularizationOptions>(
                   {.l1 = 0.1}),
               .inputs = {kVectors},
               .output_shape = kVectors.shape()});
}

TEST_CASE("reshaping layers conform") {
  check_layer({.name = "Flatten",
               .make = make<layers::Flatten, layers::FlattenOptions>({}),
               .inputs = {kImages},
               .output_shape = {2, 224}});
  check_layer({.name = "Reshape",
               .make = make<layers::Reshape, layers::ReshapeOptions>({.target_shape = {-1, 3, 2}}),
               .inputs = {kVectors},
               .output_shape = {4, 1, 3, 2}});
  check_layer({.name = "Permute",
               .make = make<layers::Permute, layers::PermuteOptions>({.dims = {3, 1, 2}}),
               .inputs = {kImages},
               .output_shape = {2, 4, 8, 7}});
  check_layer({.name = "RepeatVector",
               .make = make<layers::RepeatVector, layers::RepeatVectorOptions>({.n = 3}),
               .inputs = {kVectors},
               .output_shape = {4, 3, 6}});
  check_layer(
      {.name = "ZeroPadding1D",
       .make = make<layers::ZeroPadding1D, layers::ZeroPadding1DOptions>({.padding = {0, 2}}),
       .inputs = {kSequences},
       .output_shape = {3, 10, 4}});
  check_layer({.name = "ZeroPadding2D",
               .make = make<layers::ZeroPadding2D, layers::ZeroPadding2DOptions>(
                   {.padding = {{0, 1}, {2, 3}}}),
               .inputs = {kImages},
               .output_shape = {2, 9, 12, 4}});
  check_layer({.name = "Cropping1D",
               .make = make<layers::Cropping1D, layers::Cropping1DOptions>({}),
               .inputs = {kSequences},
               .output_shape = {3, 6, 4}});
  check_layer({.name = "Cropping2D",
               .make = make<layers::Cropping2D, layers::Cropping2DOptions>({.cropping = {1, 2}}),
               .inputs = {kImages},
               .output_shape = {2, 6, 3, 4}});
  check_layer({.name = "ZeroPadding3D",
               .make = make<layers::ZeroPadding3D, layers::ZeroPadding3DOptions>(
                   {.padding = {{0, 1}, {2, 3}, {1, 1}}}),
               .inputs = {kVolumes},
               .output_shape = {2, 6, 11, 6, 3}});
  check_layer({.name = "Cropping3D",
               .make = make<layers::Cropping3D, layers::Cropping3DOptions>({}),
               .inputs = {kVolumes},
               .output_shape = {2, 3, 4, 2, 3}});
  check_layer({.name = "UpSampling1D",
               .make = make<layers::UpSampling1D, layers::UpSampling1DOptions>({.size = 3}),
               .inputs = {kSequences},
               .output_shape = {3, 24, 4}});
  check_layer({.name = "UpSampling3D",
               .make = make<layers::UpSampling3D, layers::UpSampling3DOptions>({}),
               .inputs = {kVolumes},
               .output_shape = {2, 10, 12, 8, 3}});
  check_layer({.name = "UpSampling2D",
               .make = make<layers::UpSampling2D, layers::UpSampling2DOptions>({.size = {2, 3}}),
               .inputs = {kImages},
               .output_shape = {2, 16, 21, 4}});
  check_layer({.name = "UpSampling2D",
               .make = make<layers::UpSampling2D, layers::UpSampling2DOptions>(
                   {.data_format = "channels_first", .interpolation = "bilinear"}),
               .inputs = {kImages},
               .output_shape = {2, 8, 14, 8}});
}

TEST_CASE("activation layers conform") {
  auto check = [](const char* name, std::function<LayerHandle()> factory, int weights = 0) {
    check_layer({.name = name,
                 .make = std::move(factory),
                 .inputs = {kSequences},
                 .output_shape = kSequences.shape(),
                 .trainable_weights = weights});
  };
  check("Activation", make<layers::Activation, layers::ActivationOptions>({.activation = "tanh"}));
  check("ReLU", make<layers::ReLU, layers::ReLUOptions>({.max_value = 0.5}));
  check("LeakyReLU", make<layers::LeakyReLU, layers::LeakyReLUOptions>({}));
  check("ELU", make<layers::ELU, layers::ELUOptions>({.alpha = 0.5}));
  check("Softmax", make<layers::Softmax, layers::SoftmaxOptions>({.axis = {1, 2}}));
  check("PReLU",
        make<layers::PReLU, layers::PReLUOptions>(
            {.alpha_initializer = "random_normal", .shared_axes = 1}),
        1);
}

TEST_CASE("merging layers conform") {
  auto check = [](const char* name, std::function<LayerHandle()> factory,
                  const std::vector<Tensor>& inputs, const Shape& shape) {
    check_layer(
        {.name = name, .make = std::move(factory), .inputs = inputs, .output_shape = shape});
  };
  const std::vector<Tensor> three = {kSequences, some_values({3, 1, 4}, 2), some_values({3, 4}, 3)};
  const std::vector<Tensor> two = {kSequences, some_values({3, 8, 4}, 2)};
  const layers::MergeOptions none;
  check("Add", make<layers::Add>(none), three, {3, 8, 4});
  check("Subtract", make<layers::Subtract>(none), two, {3, 8, 4});
  check("Multiply", make<layers::Multiply>(none), three, {3, 8, 4});
  check("Average", make<layers::Average>(none), three, {3, 8, 4});
  check("Maximum", make<layers::Maximum>(none), three, {3, 8, 4});
  check("Minimum", make<layers::Minimum>(none), three, {3, 8, 4});
  check("CustomScaleLayer",
        make<layers::CustomScaleLayer, layers::CustomScaleLayerOptions>({.scale = 0.25}), two,
        {3, 8, 4});
  check("Concatenate", make<layers::Concatenate, layers::ConcatenateOptions>({.axis = 1}),
        {kSequences, some_values({3, 2, 4}, 2)}, {3, 10, 4});
  check("Dot", make<layers::Dot, layers::DotOptions>({.axes = {2, 1}}),
        {kSequences, some_values({3, 4, 5}, 2)}, {3, 8, 5});
}

TEST_CASE("layers of pictures conform") {
  auto check = [](const char* name, std::function<LayerHandle()> factory, const Shape& shape,
                  bool random = false) {
    check_layer({.name = name,
                 .make = std::move(factory),
                 .inputs = {kImages},
                 .output_shape = shape,
                 .differs_in_training = random,
                 .random = random});
  };
  const Shape same = kImages.shape();
  check("RandomFlip", make<layers::RandomFlip, layers::RandomFlipOptions>({.seed = 4}), same, true);
  check("RandomRotation",
        make<layers::RandomRotation, layers::RandomRotationOptions>({.factor = 0.4}), same, true);
  check("RandomZoom", make<layers::RandomZoom, layers::RandomZoomOptions>({.height_factor = 0.4}),
        same, true);
  check("RandomTranslation",
        make<layers::RandomTranslation, layers::RandomTranslationOptions>(
            {.height_factor = 0.4, .width_factor = {0.1, 0.2}}),
        same, true);
  check("RandomContrast",
        make<layers::RandomContrast, layers::RandomContrastOptions>(
            {.factor = {0.3, 0.4}, .value_range = {-2.0, 2.0}}),
        same, true);
  check("RandomBrightness",
        make<layers::RandomBrightness, layers::RandomBrightnessOptions>(
            {.factor = 0.3, .value_range = {-2.0, 2.0}}),
        same, true);
  check("RandomCrop",
        make<layers::RandomCrop, layers::RandomCropOptions>({.height = 3, .width = 4}),
        {2, 3, 4, 4}, true);
  check("CenterCrop",
        make<layers::CenterCrop, layers::CenterCropOptions>({.height = 5, .width = 9}),
        {2, 5, 9, 4});
  check("Resizing",
        make<layers::Resizing, layers::ResizingOptions>(
            {.height = 5, .width = 9, .interpolation = "bicubic"}),
        {2, 5, 9, 4});
}

TEST_CASE("normalizations by length and by singular values conform") {
  check_layer({.name = "RMSNormalization",
               .make = make<layers::RMSNormalization, layers::RMSNormalizationOptions>({}),
               .inputs = {kSequences},
               .output_shape = kSequences.shape(),
               .trainable_weights = 1});
  check_layer(
      {.name = "RMSNormalization over two axes",
       .make = make<layers::RMSNormalization, layers::RMSNormalizationOptions>({.axis = {2, 1}}),
       .inputs = {kImages},
       .output_shape = kImages.shape(),
       .trainable_weights = 1});
  check_layer({.name = "SpectralNormalization",
               .make =
                   [] {
                     const layers::Conv2D conv({.filters = 5, .kernel_size = 2});
                     return layers::SpectralNormalization(conv, {.power_iterations = 2});
                   },
               .inputs = {kImages},
               .output_shape = {2, 7, 6, 5},
               .trainable_weights = 2,
               .non_trainable_weights = 1,
               .differs_in_training = true,
               .moves_without_rows = true});
  check_layer({.name = "TimeDistributed",
               .make = [] { return layers::TimeDistributed(layers::Dense({.units = 5})); },
               .inputs = {kImages},
               .output_shape = {2, 8, 7, 5},
               .trainable_weights = 2});
}

TEST_CASE("preprocessing layers conform") {
  check_layer({.name = "Rescaling",
               .make = make<layers::Rescaling, layers::RescalingOptions>({.scale = 0.5}),
               .inputs = {Tensor::from<uint8_t>({0, 128, 255, 3, 4, 5}, {2, 3})},
               .output_shape = {2, 3}});
  check_layer({.name = "Rescaling by channel",
               .make = make<layers::Rescaling, layers::RescalingOptions>(
                   {.scale = {1.0, 2.0, 3.0, 4.0}, .offset = -1}),
               .inputs = {kImages},
               .output_shape = kImages.shape()});
}
