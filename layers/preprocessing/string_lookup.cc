// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/string_lookup.h"

#include "layers/preprocessing/lookup_layer.h"

namespace cornu::layers {
namespace {

using StringLookupLayer = LookupLayer<StringLookupOptions, std::string>;

IndexLookup<std::string>& lookup_of(const StringLookup& layer) {
  return layer_of<StringLookupLayer>(layer).lookup();
}

}  // namespace

StringLookup::StringLookup(const StringLookupOptions& options)
    : LayerHandle(std::make_shared<StringLookupLayer>(
          "StringLookup", LookupConfig<StringLookupOptions>{.options = options})) {}

StringLookup StringLookup::from_config(const Json& config) {
  return of(LayerHandle(std::make_shared<StringLookupLayer>(
      "StringLookup", read_lookup_config<StringLookupOptions>(config))));
}

StringLookup StringLookup::of(const LayerHandle& layer) {
  return StringLookup(require_class<StringLookupLayer>(layer, "StringLookup"), Of());
}

void StringLookup::adapt(const AdaptData& data, const AdaptOptions& options) const {
  layer_of<StringLookupLayer>(*this).adapt(data, options);
}

void StringLookup::set_vocabulary(const Vocabulary<std::string>& vocabulary,
                                  const std::vector<double>& idf_weights) const {
  lookup_of(*this).set_vocabulary(vocabulary, idf_weights);
}

std::vector<std::string> StringLookup::get_vocabulary(bool include_special_tokens) const {
  return lookup_of(*this).vocabulary(include_special_tokens);
}

int64_t StringLookup::vocabulary_size() const { return lookup_of(*this).size(); }

}  // namespace cornu::layers
