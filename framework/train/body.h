// SPDX-License-Identifier: Apache-2.0
// What functional and Sequential models share between their handles.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "framework/model/functional.h"
#include "framework/model/layer.h"

namespace cornu {

class Model;

// "Sequential 'm'", as errors name it.
inline std::string title_of(const Layer& model) {
  return fmt::format("{} '{}'", model.class_name(), model.name());
}

// A Sequential model that starts with an Input has its weights before its first call.
void build_if_known(Model& model);

class ModelBody {
 public:
  virtual ~ModelBody() = default;
  virtual std::string class_name() const = 0;
  virtual Json get_config(const Model& model) const = 0;
  virtual void build(const std::vector<Shape>& input_shapes) = 0;
  virtual Tensors call(const Tensors& inputs) = 0;
  virtual std::vector<std::shared_ptr<Layer>> layers() const = 0;
  // The graph, where there is one: always of a functional model, of a Sequential one once its input
  // is known. Null otherwise.
  virtual const FunctionalGraph* graph() const = 0;
  virtual DType input_dtype() const = 0;  // of the first input

  // The handle that functional graphs hold when the model was called on placeholders by one that
  // isn't shared itself: the same for all calls.
  std::weak_ptr<Layer> shared_handle;
};

class FunctionalBody : public ModelBody {
 public:
  FunctionalBody(const Tensors& inputs, const Tensors& outputs) : graph_(inputs, outputs) {}
  std::string class_name() const override { return "Functional"; }
  Json get_config(const Model& model) const override;
  void build(const std::vector<Shape>&) override {}
  Tensors call(const Tensors& inputs) override { return graph_.call(inputs); }
  std::vector<std::shared_ptr<Layer>> layers() const override { return graph_.layers(); }
  const FunctionalGraph* graph() const override { return &graph_; }
  DType input_dtype() const override { return graph_.inputs()[0].dtype(); }

 private:
  FunctionalGraph graph_;
};

// A list of layers that becomes a functional graph when the input's shape is known: from an Input,
// or at the first call.
class SequentialBody : public ModelBody {
 public:
  std::string class_name() const override { return "Sequential"; }
  Json get_config(const Model& model) const override;
  void build(const std::vector<Shape>& input_shapes) override;
  Tensors call(const Tensors& inputs) override;
  std::vector<std::shared_ptr<Layer>> layers() const override;
  const FunctionalGraph* graph() const override;
  DType input_dtype() const override;

  const Tensor& input() const { return input_; }  // a placeholder, once known
  void add(const LayerHandle& layer, const std::string& model_name);
  void add_input(const Tensor& input);
  void pop();

 private:
  Tensor fitted(const Tensor& x) const;

  std::vector<LayerHandle> layers_;  // without the InputLayer
  std::set<std::string> names_;      // of the layers and the InputLayer
  Tensor input_;                     // a placeholder, once known
  bool input_given_ = false;         // by add_input, with the dtype that it wants
  std::vector<Tensors> outputs_;     // placeholders, of each layer, once the input is known
  mutable std::mutex graph_mutex_;
  mutable std::unique_ptr<FunctionalGraph> graph_;  // made when it is asked for
};

}  // namespace cornu
