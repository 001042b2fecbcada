// SPDX-License-Identifier: Apache-2.0
#include "framework/model/quantization.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/model/layer.h"
#include "framework/model/title.h"

namespace cornu {
namespace {

constexpr std::array<const char*, 5> kModes = {"int8", "float8", "int4", "gptq", "awq"};

}  // namespace

LayerFilter::LayerFilter(const std::vector<std::string>& patterns) {
  std::vector<std::shared_ptr<const re2::RE2>> compiled;
  for (const std::string& pattern : patterns) {
    compiled.push_back(std::make_shared<const re2::RE2>(pattern, re2::RE2::Quiet));
    check<InvalidArgument>(compiled.back()->ok(),
                           "filters: expected a regular expression, got \"{}\": {}.",
                           printable(pattern), compiled.back()->error());
  }
  takes_ = [compiled = std::move(compiled)](const LayerHandle& layer) {
    return std::ranges::any_of(compiled, [&](const auto& pattern) {
      return re2::RE2::PartialMatch(layer.name(), *pattern);
    });
  };
}

QuantizationConfig internal::resolved_config(const QuantizeOptions& options,
                                             const std::string& who) {
  const std::string& mode = options.mode;
  check<InvalidArgument>(!mode.empty() || options.config,
                         "{}: quantize expected a mode or a config, got none. Call "
                         "quantize(\"int8\").",
                         who);
  const std::vector<std::string> known(kModes.begin(), kModes.end());
  check<InvalidArgument>(mode.empty() || std::find(known.begin(), known.end(), mode) != known.end(),
                         "{}: quantize expected the mode \"int8\" or \"int4\", got \"{}\".{}", who,
                         printable(mode), did_you_mean(mode, known));
  check<Unimplemented>(mode.empty() || mode == "int8" || mode == "int4",
                       "{}: quantize expected the mode \"int8\" or \"int4\", which alone are "
                       "available here, got \"{}\".",
                       who, mode);
  check<InvalidArgument>(
      mode.empty() || !options.config || options.config.mode() == mode,
      "{}: quantize expected one mode, got \"{}\" with a config of {}. Omit one of them.", who,
      mode, options.config.mode());
  if (options.config) return options.config;
  if (mode == "int4") return quantizers::Int4QuantizationConfig();
  return quantizers::Int8QuantizationConfig();
}

Quantizable& internal::require_quantizable(Layer& layer, const std::string& mode) {
  check<FailedPrecondition>(current_tracer() == nullptr,
                            "{}: quantize replaces weights, which a function that is traced can't. "
                            "Call it outside.",
                            title_of(layer));
  check<FailedPrecondition>(layer.built(),
                            "{}: quantize needs its weights. Call the layer first, or build it for "
                            "the shape of its input.",
                            title_of(layer));
  check<FailedPrecondition>(
      layer.dtype_policy().quantization_mode.empty(),
      "{} is already quantized, with dtype policy {}. That can be done only once.", title_of(layer),
      layer.dtype_policy().name());
  auto* weights = dynamic_cast<Quantizable*>(&layer);
  check<Unimplemented>(weights != nullptr,
                       "{} has no weights that can be quantized. Dense, EinsumDense, Embedding and "
                       "ReversibleEmbedding have some.",
                       title_of(layer));
  check<InvalidArgument>(mode != "int8" || layer.compute_dtype() != DType::Float16,
                         "{}: int8 doesn't go with layers that compute in float16. Make it with "
                         "another dtype policy, such as mixed_bfloat16.",
                         title_of(layer));
  return *weights;
}

void Layer::quantize(const QuantizeOptions& options) {
  const auto config = internal::resolved_config(options, title_of(*this));
  check<InvalidArgument>(!options.filters.given(),
                         "{}: filters choose among a model's layers. Omit them for a layer.",
                         title_of(*this));
  internal::require_quantizable(*this, config.mode()).quantized(config)();
}

}  // namespace cornu
