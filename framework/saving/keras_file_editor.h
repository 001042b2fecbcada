// SPDX-License-Identifier: Apache-2.0
// Inspects and edits weights files (keras.saving.KerasFileEditor).
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

// Opens a .keras or .weights.h5 file, holds its weights in memory, and saves the changes:
//
//   KerasFileEditor editor("model.weights.h5");
//   editor.summary();
//   editor.rename_object("dense_2", "dense_3");
//   editor.delete_object("layers/dropout");
//   editor.add_object("layers/einsum_dense", {{"0", kernel}, {"1", bias}});
//   editor.save("edited.weights.h5");
//
// Objects (layers, "optimizer") are identified by their path ("layers/dense_2") or the last part of
// it ("dense_2"); throws NotFound if there is no such object and InvalidArgument if there are
// several. Renaming or deleting an object includes everything below it. Unlike in Keras, objects
// that have both weights and nested objects keep both. Not thread-safe.
class KerasFileEditor {
 public:
  using Weights = std::map<std::string, Tensor>;  // "0", "1", …

  // Throws InvalidArgument for other file extensions; NotFound, DataLoss and Unimplemented like
  // load_weights; and DataLoss for groups nested more than 64 levels deep.
  explicit KerasFileEditor(const std::string& filepath);

  // The paths of objects that have weights; "" is the model itself.
  std::vector<std::string> objects() const;
  const Weights& weights(const std::string& object_name) const;
  // The model's config for a .keras file, otherwise null.
  const Json& config() const { return config_; }

  // Prints a line for each object and each of its weights; None: to standard output.
  void summary(const std::function<void(const std::string&)>& print_fn = {}) const;

  struct Comparison {
    std::string status;  // "success" or "error"
    int64_t error_count = 0;
    int64_t match_count = 0;          // number of weights
    std::vector<std::string> errors;  // one message each
  };
  // Compares the weights with those in a file of this model, which must be built. Optimizers are
  // ignored.
  Comparison compare(const Layer& reference_model) const;

  // `new_name` is the new last part of the path. Throws InvalidArgument if it contains '/', and
  // AlreadyExists if it is taken.
  void rename_object(const std::string& object_name, const std::string& new_name);
  void delete_object(const std::string& object_name);
  // Adds an object by its path. Throws AlreadyExists if there is one, and NotFound if the parent
  // doesn't exist.
  void add_object(const std::string& object_path, const Weights& weights);
  void delete_weight(const std::string& object_name, const std::string& weight_name);  // NotFound
  // Weights whose names are taken replace the existing ones.
  void add_weights(const std::string& object_name, const Weights& weights);

  // Saves a .weights.h5 file, whatever the original file was. Throws InvalidArgument for other
  // extensions; for other errors see atomic_file.h.
  void save(const std::string& filepath) const;

 private:
  struct Object {
    Weights weights;
    std::string name;  // the object's name in the file; empty: none
  };
  class Reading;
  std::string path_of(const std::string& object_name) const;
  bool is_there(const std::string& path) const;
  Object& at(const std::string& object_name);

  std::string filepath_;
  Json config_;
  std::map<std::string, Object> objects_;  // objects with weights, by path
};

}  // namespace cornu
