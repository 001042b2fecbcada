// SPDX-License-Identifier: Apache-2.0
// Crossentropy losses between labels and predicted probabilities or logits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/losses/loss.h"

namespace cornu::losses {

// Keras's `alpha`: a weight for all classes, or one for each class.
class ClassWeighting {
 public:
  ClassWeighting(double weight) : weights_({weight}) {}  // NOLINT: implicit on purpose
  ClassWeighting(std::vector<double> weights)            // NOLINT
      : weights_(std::move(weights)), of_each_(true) {}
  ClassWeighting(std::initializer_list<double> weights)
      : ClassWeighting(std::vector<double>(weights)) {}

  // Returns the factors for the classes along an axis of x. Throws InvalidArgument when the number
  // of classes differs.
  Tensor for_classes(const Tensor& x, int64_t axis) const;
  Json to_json() const;

 private:
  std::vector<double> weights_;
  bool of_each_ = false;
};
inline Json config_value(const ClassWeighting& weighting) { return weighting.to_json(); }
void set_from_config(const Json& json, ClassWeighting& weighting);

// ---- unreduced ----

// y_true and y_pred have the same shape; returns the mean over `axis`. Probabilities are clipped to
// [1e-7, 1 - 1e-7].
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                           double label_smoothing = 0.0, int64_t axis = -1);

struct BinaryFocalArguments {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
};
// Lin et al., "Focal loss for dense object detection", ICCV 2017.
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                 const BinaryFocalArguments& arguments = {});

// y_true has y_pred's shape (one-hot or soft labels), with classes along `axis`.
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                bool from_logits = false, double label_smoothing = 0.0,
                                int64_t axis = -1);

struct CategoricalFocalArguments {
  ClassWeighting alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
};
Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalArguments& arguments = {});

// y_true: class indices of any dtype, with y_pred's shape excluding the last axis (or with size 1
// there). Classes are along the last axis of y_pred, which is the only supported `axis`. With
// `ignore_class`, positions with that label don't count: the result is 0 there and carries a mask
// that excludes them.
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                       bool from_logits = false,
                                       std::optional<int64_t> ignore_class = {}, int64_t axis = -1);

// Zhang & Sabuncu, "Generalized cross entropy loss for training deep neural networks with noisy
// labels", NeurIPS 2018. y_true: class indices; y_pred: probabilities.
Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred, double q);

// sum(y_true * log(y_true / y_pred)) over the last axis, both clipped to [1e-7, 1].
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);

// mean(y_pred - y_true * log(y_pred + 1e-7)) over the last axis.
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);

// ---- losses ----

struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "binary_crossentropy";
  DTypeName dtype = {};
};
class BinaryCrossentropy final : public Loss {
 public:
  explicit BinaryCrossentropy(const BinaryCrossentropyOptions& options = {});
};

struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "binary_focal_crossentropy";
  DTypeName dtype = {};
};
class BinaryFocalCrossentropy final : public Loss {
 public:
  explicit BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options = {});
};

struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "categorical_crossentropy";
  DTypeName dtype = {};
};
class CategoricalCrossentropy final : public Loss {
 public:
  explicit CategoricalCrossentropy(const CategoricalCrossentropyOptions& options = {});
};

struct CategoricalFocalCrossentropyOptions {
  ClassWeighting alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "categorical_focal_crossentropy";
  DTypeName dtype = {};
};
class CategoricalFocalCrossentropy final : public Loss {
 public:
  explicit CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyOptions& options = {});
};

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class = {};
  Reduction reduction = Reduction::SumOverBatchSize;
  int64_t axis = -1;
  std::string name = "sparse_categorical_crossentropy";
  DTypeName dtype = {};
};
class SparseCategoricalCrossentropy final : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& options = {});
};

struct CategoricalGeneralizedCrossEntropyOptions {
  double q = 0.5;  // in (0, 1), between crossentropy and mean absolute error
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "categorical_generalized_cross_entropy";
  DTypeName dtype = {};
};
class CategoricalGeneralizedCrossEntropy final : public Loss {
 public:
  explicit CategoricalGeneralizedCrossEntropy(
      const CategoricalGeneralizedCrossEntropyOptions& options = {});
};

class KLDivergence final : public Loss {
 public:
  explicit KLDivergence(const LossOptions& options = {});
};

class Poisson final : public Loss {
 public:
  explicit Poisson(const LossOptions& options = {});
};

}  // namespace cornu::losses
