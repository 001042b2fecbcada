// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/activity_regularization.h"

#include "framework/model/regularizers.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ActivityRegularizationOptions& options) {
  fields("l1", options.l1);
  fields("l2", options.l2);
}

namespace {

class ActivityRegularizationLayer : public KerasLayer {
 public:
  explicit ActivityRegularizationLayer(const ActivityRegularizationOptions& options)
      : KerasLayer("ActivityRegularization", with_regularizer(options)), options_(options) {}
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override { return x; }

  // l1 and l2 replace the regularizer.
  Json get_config() const override {
    const Json base = Layer::get_config();
    Json config = Json::object();
    for (const auto& [key, value] : base.as_object()) {
      if (key != "activity_regularizer") config.set(key, value);
    }
    write_options(config, options_);
    return config;
  }

 private:
  static LayerOptions with_regularizer(const ActivityRegularizationOptions& options) {
    LayerOptions base = base_options(options);
    base.activity_regularizer = regularizers::L1L2({.l1 = options.l1, .l2 = options.l2});
    return base;
  }

  ActivityRegularizationOptions options_;
};

}  // namespace

ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : LayerHandle(std::make_shared<ActivityRegularizationLayer>(options)) {}

ActivityRegularization ActivityRegularization::from_config(const Json& config) {
  return ActivityRegularization(read_layer_options<ActivityRegularizationOptions>(config));
}

}  // namespace cornu::layers
