// SPDX-License-Identifier: Apache-2.0
// Intersection over union of predicted and true classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// The metrics below count pairs of a true and a predicted class in a matrix of num_classes x
// num_classes, the variable `total_confusion_matrix`. The intersection over union of a class is
//   true positives / (true positives + false positives + false negatives),
// and the result is its mean over the target classes that occur among labels or predictions; 0
// without any. Positions with a class outside of [0, num_classes) count nothing.
//
// y_true and y_pred have equally many classes after argmax, whatever their shapes are.
// `sample_weight` has one weight for each of them, or broadcasts to y_true's shape from the left.
//
// `dtype` is that of the matrix (None: int64): an integer counts exactly, and cuts weights to
// integers, as Keras does (with a warning); "float32" takes weights as they are. Int32, Int64,
// Float32 or Float64.

struct IoUOptions {
  int64_t num_classes = 0;                     // must be given, > 0
  std::vector<int64_t> target_class_ids = {};  // must be given, each in [0, num_classes)
  std::string name = {};                       // empty: "io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};  // labels that count nothing (255 for a void class)
  bool sparse_y_true = true;                 // class indices; else scores or one-hot along `axis`
  bool sparse_y_pred = true;
  int64_t axis = -1;  // of classes
};
class IoU : public Metric {
 public:
  explicit IoU(const IoUOptions& options = {});
};

struct BinaryIoUOptions {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // predictions from here on are class 1
  std::string name = {};   // empty: "binary_io_u", made unique
  DTypeName dtype = {};
};
// Of two classes, from probabilities or logits.
class BinaryIoU : public Metric {
 public:
  explicit BinaryIoU(const BinaryIoUOptions& options = {});
};

struct MeanIoUOptions {
  int64_t num_classes = 0;  // must be given, > 0
  std::string name = {};    // empty: "mean_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_true = true;
  bool sparse_y_pred = true;
  int64_t axis = -1;
};
// IoU of all classes.
class MeanIoU : public Metric {
 public:
  explicit MeanIoU(const MeanIoUOptions& options = {});
};

struct OneHotIoUOptions {
  int64_t num_classes = 0;                     // must be given, > 0
  std::vector<int64_t> target_class_ids = {};  // must be given, each in [0, num_classes)
  std::string name = {};                       // empty: "one_hot_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int64_t axis = -1;
};
// IoU of one-hot labels.
class OneHotIoU : public Metric {
 public:
  explicit OneHotIoU(const OneHotIoUOptions& options = {});
};

struct OneHotMeanIoUOptions {
  int64_t num_classes = 0;  // must be given, > 0
  std::string name = {};    // empty: "one_hot_mean_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int64_t axis = -1;
};
// OneHotIoU of all classes.
class OneHotMeanIoU : public Metric {
 public:
  explicit OneHotMeanIoU(const OneHotMeanIoUOptions& options = {});
};

}  // namespace cornu::metrics
