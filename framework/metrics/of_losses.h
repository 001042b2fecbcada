// SPDX-License-Identifier: Apache-2.0
// Losses as metrics, averaged over examples; losses.h describes the computations. The dtype is that
// of the mean (for RootMeanSquaredError, also of the errors); losses are computed in the dtype of
// predictions, at least float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct BinaryCrossentropyOptions {
  std::string name = "binary_crossentropy";
  DTypeName dtype = {};
  bool from_logits = false;
  double label_smoothing = 0;
};
class BinaryCrossentropy final : public Metric {
 public:
  explicit BinaryCrossentropy(const BinaryCrossentropyOptions& options = {});
};

struct CategoricalCrossentropyOptions {
  std::string name = "categorical_crossentropy";
  DTypeName dtype = {};
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;
};
class CategoricalCrossentropy final : public Metric {
 public:
  explicit CategoricalCrossentropy(const CategoricalCrossentropyOptions& options = {});
};

struct SparseCategoricalCrossentropyOptions {
  std::string name = "sparse_categorical_crossentropy";
  DTypeName dtype = {};
  bool from_logits = false;
  std::optional<int64_t> ignore_class = {};
  int64_t axis = -1;
};
class SparseCategoricalCrossentropy final : public Metric {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& options = {});
};

struct CosineSimilarityOptions {
  std::string name = "cosine_similarity";
  DTypeName dtype = {};
  int64_t axis = -1;
};
// The cosine itself: 1 for the same direction.
class CosineSimilarity final : public Metric {
 public:
  explicit CosineSimilarity(const CosineSimilarityOptions& options = {});
};

class KLDivergence final : public Metric {
 public:
  explicit KLDivergence(const MetricOptions& options = {});
};
class Poisson final : public Metric {
 public:
  explicit Poisson(const MetricOptions& options = {});
};
class MeanSquaredError final : public Metric {
 public:
  explicit MeanSquaredError(const MetricOptions& options = {});
};
// The root of the mean squared error over all updates.
class RootMeanSquaredError final : public Metric {
 public:
  explicit RootMeanSquaredError(const MetricOptions& options = {});
};
class MeanAbsoluteError final : public Metric {
 public:
  explicit MeanAbsoluteError(const MetricOptions& options = {});
};
class MeanAbsolutePercentageError final : public Metric {
 public:
  explicit MeanAbsolutePercentageError(const MetricOptions& options = {});
};
class MeanSquaredLogarithmicError final : public Metric {
 public:
  explicit MeanSquaredLogarithmicError(const MetricOptions& options = {});
};
class LogCoshError final : public Metric {
 public:
  explicit LogCoshError(const MetricOptions& options = {});  // named "logcosh"
};
class Hinge final : public Metric {
 public:
  explicit Hinge(const MetricOptions& options = {});
};
class SquaredHinge final : public Metric {
 public:
  explicit SquaredHinge(const MetricOptions& options = {});
};
class CategoricalHinge final : public Metric {
 public:
  explicit CategoricalHinge(const MetricOptions& options = {});
};

}  // namespace cornu::metrics
