// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/integer_lookup.h"

#include "layers/preprocessing/lookup_layer.h"

namespace cornu::layers {
namespace {

using IntegerLookupLayer = LookupLayer<IntegerLookupOptions, int64_t>;

IndexLookup<int64_t>& lookup_of(const IntegerLookup& layer) {
  return layer_of<IntegerLookupLayer>(layer).lookup();
}

}  // namespace

IntegerLookup::IntegerLookup(const IntegerLookupOptions& options)
    : LayerHandle(std::make_shared<IntegerLookupLayer>(
          "IntegerLookup", LookupConfig<IntegerLookupOptions>{.options = options})) {}

IntegerLookup IntegerLookup::from_config(const Json& config) {
  return of(LayerHandle(std::make_shared<IntegerLookupLayer>(
      "IntegerLookup", read_lookup_config<IntegerLookupOptions>(config))));
}

IntegerLookup IntegerLookup::of(const LayerHandle& layer) {
  return IntegerLookup(require_class<IntegerLookupLayer>(layer, "IntegerLookup"), Of());
}

void IntegerLookup::adapt(const AdaptData& data, const AdaptOptions& options) const {
  layer_of<IntegerLookupLayer>(*this).adapt(data, options);
}

void IntegerLookup::set_vocabulary(const Vocabulary<int64_t>& vocabulary,
                                   const std::vector<double>& idf_weights) const {
  lookup_of(*this).set_vocabulary(vocabulary, idf_weights);
}

std::vector<int64_t> IntegerLookup::get_vocabulary(bool include_special_tokens) const {
  return lookup_of(*this).vocabulary(include_special_tokens);
}

int64_t IntegerLookup::vocabulary_size() const { return lookup_of(*this).size(); }

}  // namespace cornu::layers
