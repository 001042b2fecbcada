// SPDX-License-Identifier: Apache-2.0
// Circle loss, which pulls embeddings of the same class together and pushes those of different
// classes apart.
#pragma once

#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

struct CircleArguments {
  Tensor ref_labels = {};       // labels of ref_embeddings; undefined: y_true
  Tensor ref_embeddings = {};   // (references, size), unit length; undefined: y_pred
  bool remove_diagonal = true;  // don't compare an embedding with the reference of the same index
  double gamma = 80.0;
  double margin = 0.4;
};
// Sun et al., "Circle loss: a unified perspective of pair similarity optimization", CVPR 2020, as
// implemented in Keras: computed for each embedding over all references of its own and of other
// classes.
//
// y_true: (batch) or (batch, 1), integers. y_pred: (batch, size), each of unit length
// (layers::UnitNormalization). Returns (batch,); embeddings whose loss is 0, such as those without
// another one of their class, are masked out, so that they don't count in a mean.
Tensor circle(const Tensor& y_true, const Tensor& y_pred, const CircleArguments& arguments = {});

struct CircleOptions {
  double gamma = 80.0;  // scale of differences in distance
  double margin = 0.4;  // target: within a class < margin, between classes > 1 - margin
  bool remove_diagonal = true;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "circle";
  DTypeName dtype = {};
};
// Compares each embedding of a batch with the others in it; with several replicas, within each
// replica's part.
class Circle final : public Loss {
 public:
  explicit Circle(const CircleOptions& options = {});
};

}  // namespace cornu::losses
