// SPDX-License-Identifier: Apache-2.0
#include "tests/distribute/models.h"

#include <algorithm>
#include <cstdlib>

#include "tests/support/layer_conformance.h"

namespace cornu::test {
namespace {

constexpr double kMomentum = 0.9;
constexpr double kEpsilon = 1e-3;

// Normalizes each part of a batch by its own mean and variance; the moving averages follow the mean
// over the parts that have examples.
class PartsNormalization : public Layer {
 public:
  explicit PartsNormalization(int64_t parts)
      : Layer({.name = "parts_normalization", .dtype = DType::Float64}), parts_(parts) {}

  void build(const Shape& input_shape) override {
    const Shape shape = {input_shape.back()};
    gamma_ = add_weight({.shape = shape, .initializer = "ones", .name = "gamma"});
    beta_ = add_weight({.shape = shape, .initializer = "zeros", .name = "beta"});
    mean_ = add_weight(
        {.shape = shape, .initializer = "zeros", .trainable = false, .name = "moving_mean"});
    variance_ = add_weight(
        {.shape = shape, .initializer = "ones", .trainable = false, .name = "moving_variance"});
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!args.training) return normalized(x, mean_, variance_);
    std::vector<Tensor> outputs;
    std::vector<Tensor> means;
    std::vector<Tensor> variances;
    int64_t begin = 0;
    for (int64_t i = 0; i < parts_; ++i) {
      const int64_t end = begin + x.dim(0) / parts_ + (i < x.dim(0) % parts_ ? 1 : 0);
      if (begin == end) break;
      const Tensor part = x(Slice(begin, end));
      const auto [mean, variance] = ops::moments(part, {0, 1, 2});
      means.push_back(mean);
      variances.push_back(variance);
      outputs.push_back(normalized(part, mean, variance));
      begin = end;
    }
    move(mean_, ops::mean(ops::stack(means), 0));
    move(variance_, ops::mean(ops::stack(variances), 0));
    return ops::concatenate(outputs, 0);
  }

 private:
  static void move(const Variable& average, const Tensor& value) {
    average.assign(average * kMomentum + value * (1 - kMomentum));
  }
  Tensor normalized(const Tensor& x, const Tensor& mean, const Tensor& variance) const {
    return (x - mean) / ops::sqrt(variance + kEpsilon) * gamma_ + beta_;
  }

  int64_t parts_;
  Variable gamma_, beta_, mean_, variance_;
};

LayerHandle make_normalization(Normalization normalization, int64_t parts) {
  if (normalization == Normalization::Parts) return make_layer<PartsNormalization>(parts);
  return layers::BatchNormalization({.momentum = kMomentum,
                                     .epsilon = kEpsilon,
                                     .synchronized = normalization == Normalization::Synchronized,
                                     .dtype = DType::Float64});
}

}  // namespace

std::vector<std::string> devices(int count) {
  std::vector<std::string> names;
  const std::string_view type = to_string(default_device().type);
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}:{}", type, i));
  return names;
}

distribute::MirroredStrategy mirrored(int replicas) {
  return distribute::MirroredStrategy({.devices = devices(replicas)});
}

Tensor floats(std::vector<float> values) { return Tensor::from(std::move(values)); }

namespace {

// The number of replicas per process when several processes run one test program together
// (on_workers.py); 0 for a single process.
int replicas_of_worker() {
  const char* replicas = std::getenv("CORNU_TEST_REPLICAS");
  return replicas ? std::atoi(replicas) : 0;
}

// One strategy for all tests of the process, as in a program.
const Strategy& on_workers() {
  static const Strategy strategy =
      distribute::MultiWorkerMirroredStrategy({.devices = devices(replicas_of_worker())});
  return strategy;
}

}  // namespace

const std::vector<int>& replica_counts() {
  static const std::vector<int> counts =
      is_alone() ? std::vector<int>{1, 2, 3, 5}
                 : std::vector<int>{static_cast<int>(on_workers().num_replicas_in_sync())};
  return counts;
}

bool is_alone() { return replicas_of_worker() == 0; }

Strategy workers() { return replicated(replica_counts().front()); }

Strategy replicated(int replicas) { return strategy_kinds().front().make(replicas); }

int replicas_or_all(int alone) { return is_alone() ? alone : replica_counts().front(); }

std::string of_first_worker(const std::string& own) {
  if (is_alone()) return own;
  return on_workers().impl().exchange("a test's text", own).front();
}

distribute::PerReplica own_of(const Strategy& strategy, const std::vector<Tensors>& all) {
  const auto count = static_cast<int64_t>(strategy.impl().devices().size());
  const auto first = all.begin() + strategy.impl().worker() * count;
  return distribute::PerReplica(std::vector<Tensors>(first, first + count));
}

distribute::PerReplica divided(const Strategy& strategy, const Tensor& x) {
  std::vector<Tensors> parts;
  for (const Batch& part : strategy.impl().split({.x = x, .y = {}, .sample_weight = {}})) {
    parts.push_back(part.x);
  }
  return distribute::PerReplica(parts);
}

const std::vector<StrategyKind>& strategy_kinds() {
  using namespace distribute;
  static const std::vector<StrategyKind> workers = {
      {"MultiWorkerMirrored", [](int n) -> Strategy {
         const bool all = n == on_workers().num_replicas_in_sync();
         return all ? on_workers() : MirroredStrategy({.devices = devices(n)});
       }}};
  if (!is_alone()) return workers;
  static const std::vector<StrategyKind> kinds = {
      {"Mirrored", [](int n) { return MirroredStrategy({.devices = devices(n)}); }},
      {"Mirrored, reduction to one device",
       [](int n) {
         return MirroredStrategy(
             {.devices = devices(n), .cross_device_ops = ReductionToOneDevice()});
       }},
      {"CentralStorage",
       [](int n) { return CentralStorageStrategy({.compute_devices = devices(n)}); }},
  };
  return kinds;
}

Model make_model(Normalization normalization, int64_t parts) {
  const char* wide = "float64";
  const Tensor input = Input({.shape = {6, 6, 2}, .dtype = DType::Float64});
  Tensor x = layers::Conv2D({.filters = 3,
                             .kernel_size = 3,
                             .kernel_regularizer = regularizers::L2(0.02),
                             .activity_regularizer = regularizers::L2(0.01),
                             .dtype = wide})(input);
  x = make_normalization(normalization, parts)(x);
  x = layers::ReLU({.dtype = wide})(x);
  x = layers::Dropout({.rate = 0.25, .seed = 11, .dtype = wide})(x);
  x = layers::Flatten({.dtype = wide})(x);
  const Tensor kind = layers::Dense({.units = 4, .name = "kind", .dtype = wide})(x);
  const Tensor size = layers::Dense({.units = 1, .name = "size", .dtype = wide})(x);
  Model model(input, {kind, size});
  int64_t seed = 100;
  for (const Variable& weight : model.trainable_weights()) {
    weight.assign(
        random::normal(weight.shape(), {.stddev = 0.3, .dtype = DType::Float64, .seed = seed++}));
  }
  return model;
}

Examples make_examples(int64_t count) {
  return {.x = random::normal({count, 6, 6, 2}, {.dtype = DType::Float64, .seed = 1}),
          .kind = random::randint({count}, 0, 4, {.seed = 2}),
          .size = random::normal({count, 1}, {.dtype = DType::Float64, .seed = 3}),
          .weight = random::uniform({count}, {.dtype = DType::Float64, .seed = 4})};
}

double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, distance(a[i], b[i]));
  return largest;
}

}  // namespace cornu::test
