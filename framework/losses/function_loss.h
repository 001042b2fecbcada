// SPDX-License-Identifier: Apache-2.0
// Helpers that define the losses in this directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "framework/core/strings.h"
#include "framework/losses/dtype_option.h"
#include "framework/losses/loss.h"
#include "framework/model/serialized.h"

namespace cornu::losses {

using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

// A loss computed by a function. `config` is returned by get_config.
class FunctionLoss : public LossImpl {
 public:
  FunctionLoss(std::string class_name, const LossOptions& options, LossFunction function,
               Json config = Json::object())
      : LossImpl(options.name, options.reduction, options.dtype),
        class_name_(std::move(class_name)),
        function_(std::move(function)),
        config_(std::move(config)) {}
  Tensor call(const Tensor& y_true, const Tensor& y_pred) const override {
    return function_(y_true, y_pred);
  }
  std::string class_name() const override { return class_name_; }
  Json get_config() const override { return config_; }

 private:
  std::string class_name_;
  LossFunction function_;
  Json config_;
};

// `options` must have a name, a reduction and a dtype; visit_fields lists any further fields.
template <class Options>
std::shared_ptr<const LossImpl> make_loss(const char* class_name, Options options,
                                          LossFunction function) {
  if (options.name.empty()) options.name = to_snake_case(class_name);
  Json config = Json::object();
  ConfigWriter fields(config);
  fields("name", options.name);
  fields("reduction", options.reduction);
  if constexpr (!std::is_same_v<Options, LossOptions>) visit_fields(fields, options);
  if (!options.dtype.empty()) fields("dtype", std::string(options.dtype));  // Keras only reads it
  const LossOptions common = {options.reduction, options.name, options.dtype};
  return std::make_shared<const FunctionLoss>(class_name, common, std::move(function),
                                              std::move(config));
}

// Creates a `Handle` from its config.
template <class Handle, class Options>
Loss loss_from_config(const Json& config) {
  Options options;
  ConfigReader fields(config);
  fields("name", options.name);
  fields("reduction", options.reduction);
  if constexpr (!std::is_same_v<Options, LossOptions>) visit_fields(fields, options);
  options.dtype = dtype_in_config(config);
  return Handle(options);
}

// Probabilities are clipped to stay this far from 0 and 1 (keras.config.epsilon()).
inline constexpr double kEpsilon = 1e-7;

}  // namespace cornu::losses
