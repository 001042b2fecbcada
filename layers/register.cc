// SPDX-License-Identifier: Apache-2.0
#include "layers/register.h"

#include "layers/layers.h"
#include "layers/preprocessing/feature_layers.h"

namespace cornu::layers {
namespace {

template <class Handle>
void add(Registry<LayerFactory>& registry, const char* class_name) {
  registry.add(class_name,
               [](const Json& config) -> LayerHandle { return Handle::from_config(config); });
}

void register_core(Registry<LayerFactory>& registry) {
  add<Dense>(registry, "Dense");
  add<EinsumDense>(registry, "EinsumDense");
  add<Embedding>(registry, "Embedding");
  add<Identity>(registry, "Identity");
  add<Lambda>(registry, "Lambda");
  add<LayerScale>(registry, "LayerScale");
  add<Masking>(registry, "Masking");
  add<ReversibleEmbedding>(registry, "ReversibleEmbedding");
}

void register_activations(Registry<LayerFactory>& registry) {
  add<Activation>(registry, "Activation");
  add<ELU>(registry, "ELU");
  add<LeakyReLU>(registry, "LeakyReLU");
  add<PReLU>(registry, "PReLU");
  add<ReLU>(registry, "ReLU");
  add<Softmax>(registry, "Softmax");
}

void register_attention(Registry<LayerFactory>& registry) {
  add<AdditiveAttention>(registry, "AdditiveAttention");
  add<Attention>(registry, "Attention");
  add<GroupQueryAttention>(registry, "GroupQueryAttention");
  registry.add_alias("GroupedQueryAttention", "GroupQueryAttention");  // in HDF5 files
  add<MultiHeadAttention>(registry, "MultiHeadAttention");
}

void register_convolutional(Registry<LayerFactory>& registry) {
  add<Conv1D>(registry, "Conv1D");
  add<Conv1DTranspose>(registry, "Conv1DTranspose");
  add<Conv2D>(registry, "Conv2D");
  add<Conv2DTranspose>(registry, "Conv2DTranspose");
  add<Conv3D>(registry, "Conv3D");
  add<Conv3DTranspose>(registry, "Conv3DTranspose");
  add<DepthwiseConv1D>(registry, "DepthwiseConv1D");
  add<DepthwiseConv2D>(registry, "DepthwiseConv2D");
  add<SeparableConv1D>(registry, "SeparableConv1D");
  add<SeparableConv2D>(registry, "SeparableConv2D");
}

void register_pooling(Registry<LayerFactory>& registry) {
  add<AdaptiveAveragePooling1D>(registry, "AdaptiveAveragePooling1D");
  add<AdaptiveAveragePooling2D>(registry, "AdaptiveAveragePooling2D");
  add<AdaptiveAveragePooling3D>(registry, "AdaptiveAveragePooling3D");
  add<AdaptiveMaxPooling1D>(registry, "AdaptiveMaxPooling1D");
  add<AdaptiveMaxPooling2D>(registry, "AdaptiveMaxPooling2D");
  add<AdaptiveMaxPooling3D>(registry, "AdaptiveMaxPooling3D");
  add<AveragePooling1D>(registry, "AveragePooling1D");
  add<AveragePooling2D>(registry, "AveragePooling2D");
  add<AveragePooling3D>(registry, "AveragePooling3D");
  add<GlobalAveragePooling1D>(registry, "GlobalAveragePooling1D");
  add<GlobalAveragePooling2D>(registry, "GlobalAveragePooling2D");
  add<GlobalAveragePooling3D>(registry, "GlobalAveragePooling3D");
  add<GlobalMaxPooling1D>(registry, "GlobalMaxPooling1D");
  add<GlobalMaxPooling2D>(registry, "GlobalMaxPooling2D");
  add<GlobalMaxPooling3D>(registry, "GlobalMaxPooling3D");
  add<MaxPooling1D>(registry, "MaxPooling1D");
  add<MaxPooling2D>(registry, "MaxPooling2D");
  add<MaxPooling3D>(registry, "MaxPooling3D");
}

void register_merging(Registry<LayerFactory>& registry) {
  add<Add>(registry, "Add");
  add<Average>(registry, "Average");
  add<Concatenate>(registry, "Concatenate");
  add<CustomScaleLayer>(registry, "CustomScaleLayer");
  add<Dot>(registry, "Dot");
  add<Maximum>(registry, "Maximum");
  add<Minimum>(registry, "Minimum");
  add<Multiply>(registry, "Multiply");
  add<Subtract>(registry, "Subtract");
}

void register_normalization(Registry<LayerFactory>& registry) {
  add<BatchNormalization>(registry, "BatchNormalization");
  add<GroupNormalization>(registry, "GroupNormalization");
  add<LayerNormalization>(registry, "LayerNormalization");
  add<RMSNormalization>(registry, "RMSNormalization");
  add<SpectralNormalization>(registry, "SpectralNormalization");
  add<UnitNormalization>(registry, "UnitNormalization");
}

void register_regularization(Registry<LayerFactory>& registry) {
  add<ActivityRegularization>(registry, "ActivityRegularization");
  add<AlphaDropout>(registry, "AlphaDropout");
  add<Dropout>(registry, "Dropout");
  add<GaussianDropout>(registry, "GaussianDropout");
  add<GaussianNoise>(registry, "GaussianNoise");
  add<SpatialDropout1D>(registry, "SpatialDropout1D");
  add<SpatialDropout2D>(registry, "SpatialDropout2D");
  add<SpatialDropout3D>(registry, "SpatialDropout3D");
  add<StochasticDepth>(registry, "StochasticDepth");
}

void register_reshaping(Registry<LayerFactory>& registry) {
  add<Cropping1D>(registry, "Cropping1D");
  add<Cropping2D>(registry, "Cropping2D");
  add<Cropping3D>(registry, "Cropping3D");
  add<Flatten>(registry, "Flatten");
  add<Permute>(registry, "Permute");
  add<RepeatVector>(registry, "RepeatVector");
  add<Reshape>(registry, "Reshape");
  add<UpSampling1D>(registry, "UpSampling1D");
  add<UpSampling2D>(registry, "UpSampling2D");
  add<UpSampling3D>(registry, "UpSampling3D");
  add<ZeroPadding1D>(registry, "ZeroPadding1D");
  add<ZeroPadding2D>(registry, "ZeroPadding2D");
  add<ZeroPadding3D>(registry, "ZeroPadding3D");
}

void register_preprocessing(Registry<LayerFactory>& registry) {
  add<CategoryEncoding>(registry, "CategoryEncoding");
  add<CenterCrop>(registry, "CenterCrop");
  add<Discretization>(registry, "Discretization");
  add<HashedCrossing>(registry, "HashedCrossing");
  add<FeatureSpace>(registry, "FeatureSpace");
  add<Hashing>(registry, "Hashing");
  add<IntegerLookup>(registry, "IntegerLookup");
  add<MelSpectrogram>(registry, "MelSpectrogram");
  add<Pipeline>(registry, "Pipeline");
  add<STFTSpectrogram>(registry, "STFTSpectrogram");
  add<Normalization>(registry, "Normalization");
  add<RandomBrightness>(registry, "RandomBrightness");
  add<RandomContrast>(registry, "RandomContrast");
  add<RandomCrop>(registry, "RandomCrop");
  add<RandomFlip>(registry, "RandomFlip");
  add<RandomRotation>(registry, "RandomRotation");
  add<RandomTranslation>(registry, "RandomTranslation");
  add<RandomZoom>(registry, "RandomZoom");
  add<Rescaling>(registry, "Rescaling");
  add<Resizing>(registry, "Resizing");
  add<StringLookup>(registry, "StringLookup");
  add<TFDConcat>(registry, "TFDConcat");
  add<TFDIdentity>(registry, "TFDIdentity");
  add<TextVectorization>(registry, "TextVectorization");
}

void register_pictures(Registry<LayerFactory>& registry) {
  add<AugMix>(registry, "AugMix");
  add<AutoContrast>(registry, "AutoContrast");
  add<ContrastLimitedAdaptiveHistogramEqualization>(registry,
                                                    "ContrastLimitedAdaptiveHistogramEqualization");
  add<CutMix>(registry, "CutMix");
  add<Equalization>(registry, "Equalization");
  add<MaxNumBoundingBoxes>(registry, "MaxNumBoundingBoxes");
  add<MixUp>(registry, "MixUp");
  add<RandAugment>(registry, "RandAugment");
  add<RandomColorDegeneration>(registry, "RandomColorDegeneration");
  add<RandomColorJitter>(registry, "RandomColorJitter");
  add<RandomElasticTransform>(registry, "RandomElasticTransform");
  add<RandomErasing>(registry, "RandomErasing");
  add<RandomGaussianBlur>(registry, "RandomGaussianBlur");
  add<RandomGrayscale>(registry, "RandomGrayscale");
  add<RandomHue>(registry, "RandomHue");
  add<RandomInvert>(registry, "RandomInvert");
  add<RandomPerspective>(registry, "RandomPerspective");
  add<RandomPosterization>(registry, "RandomPosterization");
  add<RandomSaturation>(registry, "RandomSaturation");
  add<RandomSharpness>(registry, "RandomSharpness");
  add<RandomShear>(registry, "RandomShear");
  add<Solarization>(registry, "Solarization");
}

void register_rnn(Registry<LayerFactory>& registry) {
  add<Bidirectional>(registry, "Bidirectional");
  add<ConvLSTM1D>(registry, "ConvLSTM1D");
  add<ConvLSTM2D>(registry, "ConvLSTM2D");
  add<ConvLSTM3D>(registry, "ConvLSTM3D");
  add<GRU>(registry, "GRU");
  add<GRUCell>(registry, "GRUCell");
  add<LSTM>(registry, "LSTM");
  add<LSTMCell>(registry, "LSTMCell");
  add<RNN>(registry, "RNN");
  add<SimpleRNN>(registry, "SimpleRNN");
  add<SimpleRNNCell>(registry, "SimpleRNNCell");
  add<StackedRNNCells>(registry, "StackedRNNCells");
  add<TimeDistributed>(registry, "TimeDistributed");
}

}  // namespace

void register_all(Registry<LayerFactory>& registry) {
  register_core(registry);
  register_activations(registry);
  register_attention(registry);
  register_convolutional(registry);
  register_pooling(registry);
  register_merging(registry);
  register_normalization(registry);
  register_regularization(registry);
  register_reshaping(registry);
  register_preprocessing(registry);
  register_pictures(registry);
  register_rnn(registry);
}

}  // namespace cornu::layers
