// SPDX-License-Identifier: Apache-2.0
// Quantization of the weights of a layer or a model.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/quantizers.h"

namespace cornu {

class Layer;
class LayerHandle;

// Selects the layers to quantize, like Keras's `filters` argument of Model.quantize: regular
// expressions, at least one of which must match some part of the layer's name (RE2 syntax, i.e.
// Python's without backreferences and lookarounds), or a predicate. None: all layers.
class LayerFilter {
 public:
  LayerFilter() = default;
  LayerFilter(const char* pattern) : LayerFilter(std::vector<std::string>{pattern}) {}  // NOLINT
  LayerFilter(const std::string& pattern)
      : LayerFilter(std::vector<std::string>{pattern}) {}  // NOLINT
  // Throws InvalidArgument for an invalid regular expression.
  LayerFilter(const std::vector<std::string>& patterns);  // NOLINT
  LayerFilter(std::initializer_list<std::string> patterns)
      : LayerFilter(std::vector<std::string>(patterns)) {}
  template <class F>
  requires std::is_invocable_r_v<bool, F, const LayerHandle&> LayerFilter(F function)  // NOLINT
      : takes_(std::move(function)) {}

  bool given() const { return takes_ != nullptr; }
  bool takes(const LayerHandle& layer) const { return !takes_ || takes_(layer); }

 private:
  std::function<bool(const LayerHandle&)> takes_;
};

// Arguments of quantize, as in Keras. At least one of mode and config is required.
struct QuantizeOptions {
  std::string mode = {};           // "int8", "int4"
  QuantizationConfig config = {};  // None: the mode's default
  LayerFilter filters = {};        // selects among a model's layers
};

// Mixin for layers whose weights can be quantized.
class Quantizable {
 public:
  virtual ~Quantizable() = default;
  // Computes int8 or int4 weights according to the config and returns a function that replaces the
  // layer's weights with them. The layer must be built and not yet quantized, and must outlive the
  // function.
  virtual std::function<void()> quantized(const QuantizationConfig& config) = 0;
};

namespace internal {

// Returns the config that the options request. Throws InvalidArgument when there is none, for a
// mode unknown to Keras, or when mode and config disagree; Unimplemented for modes that aren't
// available here. `who` is the prefix of error messages.
QuantizationConfig resolved_config(const QuantizeOptions& options, const std::string& who);

// Throws FailedPrecondition in a traced function and for a layer that isn't built or is already
// quantized, InvalidArgument for int8 with a layer that computes in float16, and Unimplemented for
// a layer without quantizable weights.
Quantizable& require_quantizable(Layer& layer, const std::string& mode);

}  // namespace internal
}  // namespace cornu
