// SPDX-License-Identifier: Apache-2.0
// Circle loss, which brings embeddings of a class together and keeps those of others apart.
#pragma once

#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

struct CircleArguments {
  Tensor ref_labels = {};       // of what embeddings are compared with; undefined: y_true
  Tensor ref_embeddings = {};   // (references, size), of length 1; undefined: y_pred
  bool remove_diagonal = true;  // an embedding isn't compared with the reference of its number
  double gamma = 80.0;
  double margin = 0.4;
};
// Sun et al., "Circle loss: a unified perspective of pair similarity optimization", CVPR 2020, as
// Keras computes it: of each embedding, over all references of its class and of others.
//
// y_true: (batch) or (batch, 1), integers. y_pred: (batch, size), of length 1 each
// (layers::UnitNormalization). Gives (batch,); embeddings whose loss is 0, as without another one
// of their class, are masked, so that they count nothing in a mean.
Tensor circle(const Tensor& y_true, const Tensor& y_pred, const CircleArguments& arguments = {});

struct CircleOptions {
  double gamma = 80.0;  // how much a difference in distance counts
  double margin = 0.4;  // distances of a class aim below it, those of others above 1 - margin
  bool remove_diagonal = true;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "circle";
  DTypeName dtype = {};
};
// Each embedding of a batch is compared with the others in it: with several replicas, of the
// replica's part.
class Circle : public Loss {
 public:
  explicit Circle(const CircleOptions& options = {});
};

}  // namespace cornu::losses
