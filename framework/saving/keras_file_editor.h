// SPDX-License-Identifier: Apache-2.0
// What lies in a file of weights, and changes to it (keras.saving.KerasFileEditor).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"
#include "framework/model/layer.h"

namespace cornu {

// Opens a .keras or .weights.h5 file, holds its weights in memory, and saves what was changed:
//
//   KerasFileEditor editor("model.weights.h5");
//   editor.summary();
//   editor.rename_object("dense_2", "dense_3");
//   editor.delete_object("layers/dropout");
//   editor.add_object("layers/einsum_dense", {{"0", kernel}, {"1", bias}});
//   editor.save("edited.weights.h5");
//
// Objects (layers, "optimizer") go by their paths ("layers/dense_2"), or by the last part of one
// ("dense_2"): NotFound where there is none, InvalidArgument where there are several. A rename or
// deletion takes what lies below along. Unlike Keras's, objects with weights and further objects
// below them keep both. Not thread-safe.
class KerasFileEditor {
 public:
  using Weights = std::map<std::string, Tensor>;  // "0", "1", …

  // InvalidArgument for a path that ends otherwise; NotFound, DataLoss and Unimplemented as
  // load_weights has them, and DataLoss for groups more than 64 deep.
  explicit KerasFileEditor(const std::string& filepath);

  // The objects that have weights, by their paths; "": the model itself.
  std::vector<std::string> objects() const;
  const Weights& weights(const std::string& object_name) const;
  // Of a .keras file: the model's config. null for others.
  const Json& config() const { return config_; }

  // A line for each object, and one for each of its weights; None: on standard output.
  void summary(const std::function<void(const std::string&)>& print_fn = {}) const;

  struct Comparison {
    std::string status;  // "success" or "error"
    int64_t error_count = 0;
    int64_t match_count = 0;          // of weights
    std::vector<std::string> errors;  // a text each
  };
  // With the weights that a file of this model has, which must be built. Optimizers are left out.
  Comparison compare(const Layer& reference_model) const;

  // `new_name` is the last part of its path. InvalidArgument for one with a '/', AlreadyExists.
  void rename_object(const std::string& object_name, const std::string& new_name);
  void delete_object(const std::string& object_name);
  // By its path. AlreadyExists; NotFound where nothing lies where it is to be.
  void add_object(const std::string& object_path, const Weights& weights);
  void delete_weight(const std::string& object_name, const std::string& weight_name);  // NotFound
  // Those of names that are taken replace the others.
  void add_weights(const std::string& object_name, const Weights& weights);

  // As a .weights.h5 file, whatever it was. InvalidArgument for another path; for others see
  // atomic_file.h.
  void save(const std::string& filepath) const;

 private:
  struct Object {
    Weights weights;
    std::string name;  // that the file has for it; empty: none
  };
  class Reading;
  std::string path_of(const std::string& object_name) const;
  bool is_there(const std::string& path) const;
  Object& at(const std::string& object_name);

  std::string filepath_;
  Json config_;
  std::map<std::string, Object> objects_;  // by path, of those with weights
};

}  // namespace cornu
