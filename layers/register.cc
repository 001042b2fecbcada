// SPDX-License-Identifier: Apache-2.0
#include "layers/register.h"

#include "layers/layers.h"

namespace cornu::layers {
namespace {

template <class Handle>
void add(Registry<LayerFactory>& registry, const char* class_name) {
  registry.add(class_name,
               [](const Json& config) -> LayerHandle { return Handle::from_config(config); });
}

// Of numbers, categories and texts.
void add_preprocessing(Registry<LayerFactory>& registry) {
  add<CategoryEncoding>(registry, "CategoryEncoding");
  add<Discretization>(registry, "Discretization");
  add<HashedCrossing>(registry, "HashedCrossing");
  add<Hashing>(registry, "Hashing");
  add<IntegerLookup>(registry, "IntegerLookup");
  add<MelSpectrogram>(registry, "MelSpectrogram");
  add<Normalization>(registry, "Normalization");
  add<StringLookup>(registry, "StringLookup");
  add<TextVectorization>(registry, "TextVectorization");
}

}  // namespace

void register_all(Registry<LayerFactory>& registry) {
  add_preprocessing(registry);
  add<Activation>(registry, "Activation");
  add<ActivityRegularization>(registry, "ActivityRegularization");
  add<Add>(registry, "Add");
  add<AlphaDropout>(registry, "AlphaDropout");
  add<Average>(registry, "Average");
  add<AveragePooling1D>(registry, "AveragePooling1D");
  add<AveragePooling2D>(registry, "AveragePooling2D");
  add<AveragePooling3D>(registry, "AveragePooling3D");
  add<BatchNormalization>(registry, "BatchNormalization");
  add<CenterCrop>(registry, "CenterCrop");
  add<Concatenate>(registry, "Concatenate");
  add<Conv1D>(registry, "Conv1D");
  add<Conv1DTranspose>(registry, "Conv1DTranspose");
  add<Conv2D>(registry, "Conv2D");
  add<Conv2DTranspose>(registry, "Conv2DTranspose");
  add<Conv3D>(registry, "Conv3D");
  add<Cropping1D>(registry, "Cropping1D");
  add<Cropping2D>(registry, "Cropping2D");
  add<Cropping3D>(registry, "Cropping3D");
  add<Dense>(registry, "Dense");
  add<DepthwiseConv1D>(registry, "DepthwiseConv1D");
  add<DepthwiseConv2D>(registry, "DepthwiseConv2D");
  add<Dot>(registry, "Dot");
  add<Dropout>(registry, "Dropout");
  add<ELU>(registry, "ELU");
  add<Embedding>(registry, "Embedding");
  add<Flatten>(registry, "Flatten");
  add<GaussianDropout>(registry, "GaussianDropout");
  add<GaussianNoise>(registry, "GaussianNoise");
  add<GlobalAveragePooling1D>(registry, "GlobalAveragePooling1D");
  add<GlobalAveragePooling2D>(registry, "GlobalAveragePooling2D");
  add<GlobalAveragePooling3D>(registry, "GlobalAveragePooling3D");
  add<GlobalMaxPooling1D>(registry, "GlobalMaxPooling1D");
  add<GlobalMaxPooling2D>(registry, "GlobalMaxPooling2D");
  add<GlobalMaxPooling3D>(registry, "GlobalMaxPooling3D");
  add<GroupNormalization>(registry, "GroupNormalization");
  add<Identity>(registry, "Identity");
  add<LayerNormalization>(registry, "LayerNormalization");
  add<LeakyReLU>(registry, "LeakyReLU");
  add<Masking>(registry, "Masking");
  add<Maximum>(registry, "Maximum");
  add<MaxPooling1D>(registry, "MaxPooling1D");
  add<MaxPooling2D>(registry, "MaxPooling2D");
  add<MaxPooling3D>(registry, "MaxPooling3D");
  add<Minimum>(registry, "Minimum");
  add<Multiply>(registry, "Multiply");
  add<Permute>(registry, "Permute");
  add<PReLU>(registry, "PReLU");
  add<RandomBrightness>(registry, "RandomBrightness");
  add<RandomContrast>(registry, "RandomContrast");
  add<RandomCrop>(registry, "RandomCrop");
  add<RandomFlip>(registry, "RandomFlip");
  add<RandomRotation>(registry, "RandomRotation");
  add<RandomTranslation>(registry, "RandomTranslation");
  add<RandomZoom>(registry, "RandomZoom");
  add<ReLU>(registry, "ReLU");
  add<RepeatVector>(registry, "RepeatVector");
  add<Rescaling>(registry, "Rescaling");
  add<Reshape>(registry, "Reshape");
  add<Resizing>(registry, "Resizing");
  add<SeparableConv1D>(registry, "SeparableConv1D");
  add<SeparableConv2D>(registry, "SeparableConv2D");
  add<Softmax>(registry, "Softmax");
  add<SpatialDropout1D>(registry, "SpatialDropout1D");
  add<SpatialDropout2D>(registry, "SpatialDropout2D");
  add<SpatialDropout3D>(registry, "SpatialDropout3D");
  add<Subtract>(registry, "Subtract");
  add<UnitNormalization>(registry, "UnitNormalization");
  add<UpSampling1D>(registry, "UpSampling1D");
  add<UpSampling2D>(registry, "UpSampling2D");
  add<UpSampling3D>(registry, "UpSampling3D");
  add<ZeroPadding1D>(registry, "ZeroPadding1D");
  add<ZeroPadding2D>(registry, "ZeroPadding2D");
  add<ZeroPadding3D>(registry, "ZeroPadding3D");
}

}  // namespace cornu::layers
