// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/piecewise_constant_decay.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class PiecewiseConstantDecayImpl : public ScheduleImpl {
 public:
  explicit PiecewiseConstantDecayImpl(const PiecewiseConstantDecayOptions& options)
      : options_(options) {
    check<InvalidArgument>(options.values.size() == options.boundaries.size() + 1,
                           "PiecewiseConstantDecay: expected one value more than boundaries, got "
                           "{} values and {} boundaries.",
                           options.values.size(), options.boundaries.size());
  }

  Tensor operator()(const Tensor& step) const override {
    Tensor rate = Tensor::scalar(static_cast<float>(options_.values.back()));
    for (size_t i = options_.boundaries.size(); i-- > 0;) {
      rate = ops::where(step <= options_.boundaries[i], options_.values[i], rate);
    }
    return rate;
  }

  std::string class_name() const override { return "PiecewiseConstantDecay"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  PiecewiseConstantDecayOptions options_;
};

}  // namespace

PiecewiseConstantDecay::PiecewiseConstantDecay(const PiecewiseConstantDecayOptions& options)
    : LearningRate(std::make_shared<const PiecewiseConstantDecayImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
