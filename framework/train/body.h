// SPDX-License-Identifier: Apache-2.0
// State that handles to a functional or Sequential model share.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "framework/model/functional.h"
#include "framework/model/layer.h"
#include "framework/model/title.h"

namespace cornu {

class Model;

// Builds a Sequential model that starts with an Input, so that it has weights before its first
// call.
void build_if_known(Model& model);

class ModelBody {
 public:
  virtual ~ModelBody() = default;
  virtual std::string class_name() const = 0;
  virtual Json get_config(const Model& model) const = 0;
  // `names`: the names of the inputs, if they have any.
  virtual void build(const std::vector<Shape>& input_shapes,
                     const std::vector<std::string>& names) = 0;
  // Throws InvalidArgument if the model is built for an input of another shape.
  virtual void check_build(const Shape&, const std::string&) const {}
  virtual Tensors call(const Tensors& inputs) = 0;
  virtual std::vector<std::shared_ptr<Layer>> layers() const = 0;
  // The graph: always set for a functional model, and for a Sequential one once its input is known.
  // Null otherwise.
  virtual const FunctionalGraph* graph() const = 0;
  virtual DType input_dtype() const = 0;  // of the first input

  // The handle that functional graphs hold when the model is called on placeholders through a
  // handle that isn't itself shared-owned; the same for all such calls.
  std::weak_ptr<Layer> shared_handle;
};

class FunctionalBody : public ModelBody {
 public:
  FunctionalBody(const Tensors& inputs, const Tensors& outputs) : graph_(inputs, outputs) {}
  std::string class_name() const override { return "Functional"; }
  Json get_config(const Model& model) const override;
  void build(const std::vector<Shape>&, const std::vector<std::string>&) override {}
  Tensors call(const Tensors& inputs) override { return graph_.call(inputs); }
  std::vector<std::shared_ptr<Layer>> layers() const override { return graph_.layers(); }
  const FunctionalGraph* graph() const override { return &graph_; }
  DType input_dtype() const override { return graph_.inputs()[0].dtype(); }

 private:
  FunctionalGraph graph_;
};

// A list of layers that becomes a functional graph once the input shapes are known: from an Input,
// or at the first call (with several inputs if the first layer accepts them).
class SequentialBody : public ModelBody {
 public:
  std::string class_name() const override { return "Sequential"; }
  Json get_config(const Model& model) const override;
  void build(const std::vector<Shape>& input_shapes,
             const std::vector<std::string>& names) override;
  void check_build(const Shape& input_shape, const std::string& model_name) const override;
  Tensors call(const Tensors& inputs) override;
  std::vector<std::shared_ptr<Layer>> layers() const override;
  const FunctionalGraph* graph() const override;
  DType input_dtype() const override;

  const Tensors& inputs() const { return inputs_; }  // placeholders, once known
  void add(const LayerHandle& layer, const std::string& model_name);
  void add_input(const Tensor& input);
  void pop();

 private:
  Tensors fitted(const Tensors& given) const;

  std::vector<LayerHandle> layers_;  // excluding the InputLayer
  std::set<std::string> names_;      // of the layers and the InputLayer
  Tensors inputs_;                   // placeholders, once known; a single one if set by add_input
  bool input_given_ = false;         // set by add_input, with a dtype of its own
  std::vector<Tensors> outputs_;     // placeholders after each layer, once the input is known
  mutable std::mutex graph_mutex_;
  mutable std::unique_ptr<FunctionalGraph> graph_;  // created lazily
};

}  // namespace cornu
