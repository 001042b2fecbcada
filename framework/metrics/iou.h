// SPDX-License-Identifier: Apache-2.0
// Intersection over union of predicted and true classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// The metrics below count pairs of true and predicted classes in a num_classes x num_classes
// matrix, the variable `total_confusion_matrix`. The intersection over union of a class is
//   true positives / (true positives + false positives + false negatives),
// and the result is its mean over the target classes that occur in labels or predictions; 0 if
// there are none. Positions with a class outside [0, num_classes) don't count.
//
// y_true and y_pred must have equally many class indices after argmax; their shapes don't matter.
// `sample_weight` has one weight for each of these, or broadcasts to y_true's shape from the left.
//
// `dtype` is that of the matrix (None: int64). An integer dtype counts exactly and truncates
// weights to integers, as in Keras (with a warning); "float32" keeps weights as they are. Supported
// are Int32, Int64, Float32 and Float64.

struct IoUOptions {
  int64_t num_classes = 0;                     // required, > 0
  std::vector<int64_t> target_class_ids = {};  // required, each in [0, num_classes)
  std::string name = {};                       // empty: "io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};  // label to ignore (e.g. 255 for void)
  bool sparse_y_true = true;                 // class indices; else scores or one-hot along `axis`
  bool sparse_y_pred = true;
  int64_t axis = -1;  // of classes
};
class IoU final : public Metric {
 public:
  explicit IoU(const IoUOptions& options = {});
};

struct BinaryIoUOptions {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // predictions >= threshold are class 1
  std::string name = {};   // empty: "binary_io_u", made unique
  DTypeName dtype = {};
};
// IoU for two classes, from probabilities or logits.
class BinaryIoU final : public Metric {
 public:
  explicit BinaryIoU(const BinaryIoUOptions& options = {});
};

struct MeanIoUOptions {
  int64_t num_classes = 0;  // required, > 0
  std::string name = {};    // empty: "mean_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_true = true;
  bool sparse_y_pred = true;
  int64_t axis = -1;
};
// IoU averaged over all classes.
class MeanIoU final : public Metric {
 public:
  explicit MeanIoU(const MeanIoUOptions& options = {});
};

struct OneHotIoUOptions {
  int64_t num_classes = 0;                     // required, > 0
  std::vector<int64_t> target_class_ids = {};  // required, each in [0, num_classes)
  std::string name = {};                       // empty: "one_hot_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int64_t axis = -1;
};
// IoU for one-hot labels.
class OneHotIoU final : public Metric {
 public:
  explicit OneHotIoU(const OneHotIoUOptions& options = {});
};

struct OneHotMeanIoUOptions {
  int64_t num_classes = 0;  // required, > 0
  std::string name = {};    // empty: "one_hot_mean_io_u", made unique
  DTypeName dtype = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int64_t axis = -1;
};
// OneHotIoU averaged over all classes.
class OneHotMeanIoU final : public Metric {
 public:
  explicit OneHotMeanIoU(const OneHotMeanIoUOptions& options = {});
};

}  // namespace cornu::metrics
