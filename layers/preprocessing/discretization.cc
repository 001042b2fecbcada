// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/discretization.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/adaptable.h"
#include "layers/preprocessing/category_output.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, DiscretizationOptions& options) {
  fields("bin_boundaries", options.bin_boundaries);
  fields("num_bins", options.num_bins);
  fields("epsilon", options.epsilon);
  fields("output_mode", options.output_mode);
  absent_field(fields, "sparse", false);
}

namespace {

// Values in ascending order, and the number of data elements that each represents.
struct Summary {
  std::vector<float> values;
  std::vector<float> weights;
};

// Interpolates `y` linearly at `x`, between ascending points.
double interpolated(double x, const std::vector<double>& at, const std::vector<double>& y) {
  const auto above = std::upper_bound(at.begin(), at.end(), x) - at.begin();
  if (above == 0) return y.front();
  if (above == std::ssize(at)) return y.back();
  const auto i = static_cast<size_t>(above - 1);
  const double slope = (y[i + 1] - y[i]) / (at[i + 1] - at[i]);
  return slope * (x - at[i]) + y[i];
}

// Reduces a summary to about 1 / epsilon values.
Summary compressed(const Summary& summary, double epsilon) {
  if (static_cast<double>(summary.values.size()) * epsilon < 1) return summary;
  std::vector<float> sums(summary.weights.size());
  std::partial_sum(summary.weights.begin(), summary.weights.end(), sums.begin());
  std::vector<double> parts;
  for (const float sum : sums) parts.push_back(static_cast<double>(sum / sums.back()));
  const std::vector<double> values(summary.values.begin(), summary.values.end());
  const std::vector<double> totals(sums.begin(), sums.end());
  Summary result;
  double before = 0;
  const auto count = static_cast<int64_t>(std::ceil(1.0 / epsilon));
  for (int64_t i = 0; i < count; ++i) {
    const double part = epsilon + static_cast<double>(i) * epsilon;
    const double total = interpolated(part, parts, totals);
    result.values.push_back(static_cast<float>(interpolated(part, parts, values)));
    result.weights.push_back(static_cast<float>(total - before));
    before = total;
  }
  return result;
}

// Ascending order, with NaN last.
bool comes_before(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

Summary summary_of(const Tensor& batch, double epsilon) {
  std::vector<float> values = ops::cast(batch, DType::Float32).to_vector<float>();
  std::sort(values.begin(), values.end(), comes_before);
  const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon), 1.0);
  Summary result;
  for (auto i = static_cast<size_t>(step - 1); i < values.size(); i += static_cast<size_t>(step)) {
    result.values.push_back(values[i]);
    result.weights.push_back(static_cast<float>(step));
  }
  return result;
}

Summary merged(const Summary& a, const Summary& b, double epsilon) {
  Summary both = a;
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  both.weights.insert(both.weights.end(), b.weights.begin(), b.weights.end());
  std::vector<size_t> order(both.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t k) {
    return comes_before(both.values[i], both.values[k]);
  });
  Summary sorted;
  for (const size_t i : order) {
    sorted.values.push_back(both.values[i]);
    sorted.weights.push_back(both.weights[i]);
  }
  return compressed(sorted, epsilon);
}

class DiscretizationLayer : public KerasLayerOf<DiscretizationOptions>, public Adaptable {
 public:
  explicit DiscretizationLayer(const DiscretizationOptions& options)
      : KerasLayerOf("Discretization", options), boundaries_(options.bin_boundaries) {
    if (boundaries_.is_one()) boundaries_ = boundaries_.values();
    check_one_of(label(), "output_mode", options.output_mode,
                 {"int", "one_hot", "multi_hot", "count"});
    require(options.epsilon > 0 && options.epsilon < 1, "expected an epsilon in (0, 1), got {}.",
            options.epsilon);
    require(!options.num_bins || *options.num_bins > 0, "expected num_bins > 0, got {}.",
            options.num_bins.value_or(0));
    require(options.num_bins || options.bin_boundaries.given(),
            "expected bin_boundaries, or num_bins and a call of adapt.");
    require(std::is_sorted(boundaries_.values().begin(), boundaries_.values().end()),
            "expected bin_boundaries that ascend.");
  }
  bool autocast() const override { return false; }  // boundaries need full precision

  Json get_config() const override {
    DiscretizationOptions now = options_;
    now.bin_boundaries = boundaries_;
    Json config = Json::object();
    write_options(config, now);
    config.set("name", name());
    config.set("dtype", to_string(variable_dtype()));
    return config;
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    require(x.dtype() != DType::String, "expected numbers, got strings.");
    if (!boundaries_.given() && is_inferring_types() && x.is_symbolic()) {
      return encoded(ops::zeros(x.shape(), DType::Int32), *options_.num_bins);
    }
    check<FailedPrecondition>(
        boundaries_.given(),
        "{} has no boundaries yet. Pass bin_boundaries, or call adapt with data first.", label());
    const std::vector<float> boundaries(boundaries_.values().begin(), boundaries_.values().end());
    return encoded(ops::digitize(ops::cast(x, DType::Float32), Tensor::from(boundaries)),
                   std::ssize(boundaries) + 1);
  }

  void adapt(const AdaptData& data, const AdaptOptions& options) override {
    check<FailedPrecondition>(options_.num_bins.has_value(),
                              "{}: adapt finds boundaries, which were given when it was made. Give "
                              "num_bins there instead.",
                              label());
    Summary summary;
    data.for_each_batch(options, [&](const Tensor& batch) {
      require(batch.dtype() != DType::String, "adapt expected numbers, got strings.");
      summary = merged(summary_of(batch, options_.epsilon), summary, options_.epsilon);
    });
    require(!summary.values.empty(), "adapt expected examples, got none.");
    const Summary bins = compressed(summary, 1.0 / static_cast<double>(*options_.num_bins));
    boundaries_ = std::vector<double>(bins.values.begin(), bins.values.end() - 1);
  }
  bool learns() const override { return options_.num_bins.has_value(); }
  bool has_learned() const override { return boundaries_.given(); }

  const std::vector<double>& boundaries() const { return boundaries_.values(); }

 private:
  Tensor encoded(const Tensor& bins, int64_t depth) const {
    return encode_categories(bins, options_.output_mode, depth,
                             options_.output_mode == "int" ? DType::Int32 : compute_dtype());
  }

  NumberList boundaries_;  // given or determined by adapt
};

}  // namespace

Discretization::Discretization(const DiscretizationOptions& options)
    : LayerHandle(std::make_shared<DiscretizationLayer>(options)) {
  check<InvalidArgument>(!options.bin_boundaries.given() || !options.num_bins,
                         "Discretization '{}': expected bin_boundaries or num_bins, got both.",
                         name());
}

Discretization Discretization::from_config(const Json& config) {
  // An adapted layer has both, and may adapt again.
  Discretization layer;
  layer.impl_ =
      std::make_shared<DiscretizationLayer>(read_layer_options<DiscretizationOptions>(config));
  return layer;
}

void Discretization::adapt(const AdaptData& data, const AdaptOptions& options) const {
  layer_of<DiscretizationLayer>(*this).adapt(data, options);
}

std::vector<double> Discretization::bin_boundaries() const {
  return layer_of<DiscretizationLayer>(*this).boundaries();
}

}  // namespace cornu::layers
