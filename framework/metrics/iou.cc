// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/iou.h"

#include <utility>

#include "framework/core/logging.h"
#include "framework/losses/operands.h"
#include "framework/metrics/register.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

// Added to denominators (keras.config.epsilon()).
constexpr double kIoUEpsilon = 1e-7;

// What distinguishes the five metrics.
struct IoURule {
  const char* class_name;
  IoUOptions options;   // target_class_ids is empty if all classes count
  bool of_all = false;  // all classes count
  std::optional<double> threshold = {};
};

void check_rule(const IoURule& rule) {
  const IoUOptions& options = rule.options;
  check<InvalidArgument>(options.num_classes > 0,
                         "{}: expected num_classes > 0, got {}. Say how many classes there are.",
                         rule.class_name, options.num_classes);
  check<InvalidArgument>(rule.of_all || !options.target_class_ids.empty(),
                         "{}: expected target_class_ids, got none. Say which classes count: "
                         ".target_class_ids = {{0}}.",
                         rule.class_name);
  for (int64_t id : options.target_class_ids) {
    check<InvalidArgument>(id >= 0 && id < options.num_classes,
                           "{}: expected target_class_ids in [0, {}), got {}.", rule.class_name,
                           options.num_classes, id);
  }
}

void check_dtype(const IoURule& rule, DType dtype) {
  check<InvalidArgument>(dtype == DType::Int32 || dtype == DType::Int64 ||
                             dtype == DType::Float32 || dtype == DType::Float64,
                         "{}: expected dtype int32, int64, float32 or float64, got {}.",
                         rule.class_name, to_string(dtype));
}

// The class of each position, and which positions have a valid class.
struct Classes {
  Tensor ids;
  Tensor known;
};

class IoUImpl : public MetricImpl {
 public:
  IoUImpl(IoURule rule, Json config)
      : MetricImpl(rule.options.name.empty() ? unique_name(to_snake_case(rule.class_name))
                                             : rule.options.name,
                   rule.options.dtype.empty() ? DTypeName(DType::Int64) : rule.options.dtype),
        rule_(std::move(rule)),
        config_(std::move(config)) {
    check_rule(rule_);
    check_dtype(rule_, dtype());
    const int64_t classes = rule_.options.num_classes;
    matrix_ = add_variable({classes, classes}, "total_confusion_matrix", 0, dtype());
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    const IoUOptions& options = rule_.options;
    const Tensor truth = options.sparse_y_true ? y_true : ops::argmax(y_true, options.axis);
    check<InvalidArgument>(truth.num_elements() == predicted(y_pred).num_elements(),
                           "expected a label for each prediction, got y_true of shape {} and "
                           "y_pred of shape {}. Set sparse_y_true and sparse_y_pred to whether "
                           "they are class indices, or reshape one of them.",
                           y_true.shape(), y_pred.shape());
    const Classes labels = classes_of(truth);
    const Classes predictions = classes_of(predicted(y_pred));
    Tensor counted = ops::logical_and(labels.known, predictions.known);
    if (options.ignore_class) {
      counted = ops::logical_and(counted, ops::not_equal(labels.ids, *options.ignore_class));
    }
    const int64_t classes = options.num_classes;
    const Tensor place = ops::where(counted, labels.ids * classes + predictions.ids, 0);
    const Tensor weights = weights_of(sample_weight, truth.shape(), counted);
    const Tensor sums = ops::segment_sum(weights, place, classes * classes);
    add_to(matrix_, ops::reshape(sums, {classes, classes}));
  }

  Tensor result() const override {
    const Tensor matrix = matrix_.value();
    const Tensor right = ops::diagonal(matrix);
    const Tensor all = ops::sum(matrix, 0) + ops::sum(matrix, 1) - right;
    auto of_targets = [&](const Tensor& x) {
      const auto& ids = rule_.options.target_class_ids;
      return ops::cast(rule_.of_all ? x : ops::take(x, Tensor::from(ids), 0), DType::Float32);
    };
    const Tensor whole = of_targets(all);
    const Tensor occurs = whole > 1e-9;
    const Tensor iou = ops::where(occurs, of_targets(right) / (whole + kIoUEpsilon), 0.0);
    return ops::sum(iou) / (ops::sum(ops::cast(occurs, DType::Float32)) + kIoUEpsilon);
  }

  std::string class_name() const override { return rule_.class_name; }

  Json get_config() const override {
    Json config = config_;
    config.set("name", name());
    config.set("dtype", to_string(dtype()));
    return config;
  }

 private:
  Tensor predicted(const Tensor& y_pred) const {
    if (rule_.threshold) return ops::cast(y_pred, DType::Float32) >= *rule_.threshold;
    return rule_.options.sparse_y_pred ? y_pred : ops::argmax(y_pred, rule_.options.axis);
  }

  Classes classes_of(const Tensor& given) const {
    Tensor x = ops::reshape(given, {-1});
    if (!is_floating(x.dtype())) {
      x = ops::cast(x, DType::Int64);
    } else if (!is_floating(dtype())) {
      x = ops::trunc(x);
    }
    // NaN belongs to no class, so it is checked before conversion to an integer.
    const Tensor known = ops::logical_and(x >= 0, x < rule_.options.num_classes);
    return {ops::cast(ops::where(known, x, 0), DType::Int64), known};
  }

  Tensor weights_of(const Tensor& sample_weight, const Shape& shape, const Tensor& counted) {
    if (!sample_weight.defined()) return ops::cast(counted, dtype());
    if (is_floating(sample_weight.dtype()) && !is_floating(dtype()) &&
        !std::exchange(warned_, true)) {
      logging::warn(fmt::format(
          "{} '{}': weights of dtype {} are cut to integers, since the metric counts in {}. Make "
          "it with .dtype = \"float32\" to count them as they are.",
          rule_.class_name, name(), to_string(sample_weight.dtype()), to_string(dtype())));
    }
    Tensor weights = ops::cast(sample_weight, dtype());
    if (weights.num_elements() == 1) weights = ops::reshape(weights, {});
    if (weights.num_elements() != shape.num_elements()) {
      weights = ops::broadcast_to(with_rank(weights, shape.rank()), shape);
    }
    return ops::where(counted, ops::reshape(weights, {-1}), 0);
  }

  IoURule rule_;
  Json config_;
  Variable matrix_;
  bool warned_ = false;
};

// In the position that the field has in each config.
template <class Fields, class Options>
void visit_common(Fields& fields, Options& options) {
  fields("name", options.name);
  std::optional<std::string> dtype = options.dtype;
  fields("dtype", dtype);
  options.dtype = dtype.value_or("");
}

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, IoUOptions& options) {
  visit_common(fields, options);
  fields("num_classes", options.num_classes);
  fields("target_class_ids", options.target_class_ids);
  fields("ignore_class", options.ignore_class);
  fields("sparse_y_true", options.sparse_y_true);
  fields("sparse_y_pred", options.sparse_y_pred);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, BinaryIoUOptions& options) {
  fields("target_class_ids", options.target_class_ids);
  fields("threshold", options.threshold);
  visit_common(fields, options);
}
template <class Fields>
void visit_fields(Fields& fields, MeanIoUOptions& options) {
  fields("num_classes", options.num_classes);
  visit_common(fields, options);
  fields("ignore_class", options.ignore_class);
  fields("sparse_y_true", options.sparse_y_true);
  fields("sparse_y_pred", options.sparse_y_pred);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, OneHotIoUOptions& options) {
  fields("num_classes", options.num_classes);
  fields("target_class_ids", options.target_class_ids);
  visit_common(fields, options);
  fields("ignore_class", options.ignore_class);
  fields("sparse_y_pred", options.sparse_y_pred);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, OneHotMeanIoUOptions& options) {
  fields("num_classes", options.num_classes);
  visit_common(fields, options);
  fields("ignore_class", options.ignore_class);
  fields("sparse_y_pred", options.sparse_y_pred);
  fields("axis", options.axis);
}

IoU::IoU(const IoUOptions& options)
    : Metric(std::make_shared<IoUImpl>(IoURule{.class_name = "IoU", .options = options},
                                       config_of(options))) {}

BinaryIoU::BinaryIoU(const BinaryIoUOptions& options)
    : Metric(std::make_shared<IoUImpl>(
          IoURule{.class_name = "BinaryIoU",
                  .options = {.num_classes = 2,
                              .target_class_ids = options.target_class_ids,
                              .name = options.name,
                              .dtype = options.dtype},
                  .threshold = options.threshold},
          config_of(options))) {}

MeanIoU::MeanIoU(const MeanIoUOptions& options)
    : Metric(std::make_shared<IoUImpl>(IoURule{.class_name = "MeanIoU",
                                               .options = {.num_classes = options.num_classes,
                                                           .name = options.name,
                                                           .dtype = options.dtype,
                                                           .ignore_class = options.ignore_class,
                                                           .sparse_y_true = options.sparse_y_true,
                                                           .sparse_y_pred = options.sparse_y_pred,
                                                           .axis = options.axis},
                                               .of_all = true},
                                       config_of(options))) {}

OneHotIoU::OneHotIoU(const OneHotIoUOptions& options)
    : Metric(std::make_shared<IoUImpl>(
          IoURule{.class_name = "OneHotIoU",
                  .options = {.num_classes = options.num_classes,
                              .target_class_ids = options.target_class_ids,
                              .name = options.name,
                              .dtype = options.dtype,
                              .ignore_class = options.ignore_class,
                              .sparse_y_true = false,
                              .sparse_y_pred = options.sparse_y_pred,
                              .axis = options.axis}},
          config_of(options))) {}

OneHotMeanIoU::OneHotMeanIoU(const OneHotMeanIoUOptions& options)
    : Metric(std::make_shared<IoUImpl>(IoURule{.class_name = "OneHotMeanIoU",
                                               .options = {.num_classes = options.num_classes,
                                                           .name = options.name,
                                                           .dtype = options.dtype,
                                                           .ignore_class = options.ignore_class,
                                                           .sparse_y_true = false,
                                                           .sparse_y_pred = options.sparse_y_pred,
                                                           .axis = options.axis},
                                               .of_all = true},
                                       config_of(options))) {}

void register_iou(Registry<MetricFactory>& registry) {
  registry.add("IoU", metric_from_config<IoU, IoUOptions>);
  registry.add("BinaryIoU", metric_from_config<BinaryIoU, BinaryIoUOptions>);
  registry.add("MeanIoU", metric_from_config<MeanIoU, MeanIoUOptions>);
  registry.add("OneHotIoU", metric_from_config<OneHotIoU, OneHotIoUOptions>);
  registry.add("OneHotMeanIoU", metric_from_config<OneHotMeanIoU, OneHotMeanIoUOptions>);
}

}  // namespace cornu::metrics
