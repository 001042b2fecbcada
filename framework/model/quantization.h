// SPDX-License-Identifier: Apache-2.0
// Quantization of the weights that a layer or a model has.
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

// Keras's `filters` of Model.quantize: which layers are quantized. Regular expressions
// (RE2's, which are Python's but for references and looks around), one of which is found in a
// layer's name; or a function that says so. None: all.
class LayerFilter {
 public:
  LayerFilter() = default;
  LayerFilter(const char* pattern) : LayerFilter(std::vector<std::string>{pattern}) {}  // NOLINT
  LayerFilter(const std::string& pattern)
      : LayerFilter(std::vector<std::string>{pattern}) {}  // NOLINT
  // InvalidArgument for what is no regular expression.
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

// Keras's arguments of quantize. One of mode and config must be given.
struct QuantizeOptions {
  std::string mode = {};           // "int8", "int4"
  QuantizationConfig config = {};  // None: the mode's default
  LayerFilter filters = {};        // of a model's layers
};

// A layer whose weights can be quantized derives from this, too.
class Quantizable {
 public:
  virtual ~Quantizable() = default;
  // Makes int8 or int4 weights, as the config says, and gives what puts them in the place of the
  // layer's. The layer is built, wasn't quantized before, and outlives that.
  virtual std::function<void()> quantized(const QuantizationConfig& config) = 0;
};

namespace internal {

// The config that the options ask for. InvalidArgument where they say none, a mode that Keras
// hasn't, or a mode and another one's config; Unimplemented for modes that aren't available here.
// `who`: how errors begin.
QuantizationConfig resolved_config(const QuantizeOptions& options, const std::string& who);

// Throws FailedPrecondition for a layer that isn't built, or is quantized already, InvalidArgument
// for int8 where it computes in float16, and Unimplemented for one without such weights.
Quantizable& require_quantizable(Layer& layer, const std::string& mode);

}  // namespace internal
}  // namespace cornu
