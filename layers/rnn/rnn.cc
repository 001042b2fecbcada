// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/rnn.h"

#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RNNOptions& options) {
  visit_loop_fields(fields, options);
}

namespace {

class RNNLayer : public RecurrentLayerOf<RNNOptions> {
 public:
  RNNLayer(const LayerHandle& cell, const RNNOptions& options)
      : RecurrentLayerOf("RNN", options, cell, kUnknown) {}

  Json get_config() const override {
    Json config = RecurrentLayerOf::get_config();
    config.set("cell", serialize_layer(cell().get()));
    return config;
  }
};

class StackedRNNCellsLayer : public KerasLayer, public SteppedCell {
 public:
  StackedRNNCellsLayer(const std::vector<LayerHandle>& cells, const StackedRNNCellsOptions& options)
      : KerasLayer("StackedRNNCells", base_options(options)), cells_(cells) {
    require(!cells.empty(), "expected cells, got none.");
    for (const LayerHandle& cell : cells_) as_cell(cell, label());
    track("cells", cells_);
  }

  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"inputs", "states"}, .built = 1};
    return signature;
  }
  void build_list(const std::vector<Shape>& shapes) override {
    Shape shape = shapes.at(0);
    for (const LayerHandle& cell : cells_) {
      cell.get().ensure_built({shape});
      require_states(cell, label());
      shape = {shape[0], as_cell(cell, label()).output_size()};
    }
  }
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    return step(inputs, args);
  }
  Json get_config() const override {
    Json config = Layer::get_config();
    Json::Array cells;
    for (const LayerHandle& cell : cells_) cells.push_back(serialize_layer(cell.get()));
    config.set("cells", std::move(cells));
    return config;
  }

  std::vector<int64_t> state_size() const override {
    std::vector<int64_t> sizes;
    for (const LayerHandle& cell : cells_) {
      const std::vector<int64_t> own = as_cell(cell, label()).state_size();
      sizes.insert(sizes.end(), own.begin(), own.end());
    }
    return sizes;
  }
  int64_t output_size() const override { return as_cell(cells_.back(), label()).output_size(); }
  int64_t features() const override {
    const auto* first = dynamic_cast<const SteppedCell*>(&cells_.front().get());
    return first ? first->features() : kUnknown;
  }

  std::vector<Tensor> get_initial_state(const Tensor& step_input) const override {
    std::vector<Tensor> states;
    for (const LayerHandle& cell : cells_) {
      const Tensor input = ops::cast(step_input, cell.get().compute_dtype());
      for (const Tensor& state : as_cell(cell, label()).get_initial_state(input)) {
        states.push_back(state);
      }
    }
    return states;
  }

  StepConstants prepare(const Tensor& step_input, const CallArgs& args) override {
    StepConstants constants;
    Tensor input = step_input;
    for (const LayerHandle& handle : cells_) {
      const auto cell = stepped(handle, args);
      constants.stepped.push_back(cell);
      input = ops::cast(input, handle.get().compute_dtype());
      constants.cells.push_back(cell->prepare(input, args));
      input = ops::zeros({input.dim(0), cell->output_size()}, input.dtype());
    }
    return constants;
  }

  Tensor project(const Tensor& inputs, const StepConstants& constants) const override {
    return constants.stepped[0]->project(as_of(0, inputs), constants.cells[0]);
  }

  std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                              const StepConstants& constants) const override {
    std::vector<Tensor> result = {Tensor()};
    Tensor input = projected;
    auto next = states.begin();
    for (size_t i = 0; i < cells_.size(); ++i) {
      const SteppedCell& cell = *constants.stepped[i];
      if (i > 0) input = cell.project_step(as_of(i, input), constants.cells[i]);
      const auto end = next + static_cast<std::ptrdiff_t>(cell.state_size().size());
      std::vector<Tensor> after = cell.advance(input, {next, end}, constants.cells[i]);
      next = end;
      input = after.front();
      result.insert(result.end(), after.begin() + 1, after.end());
    }
    result.front() = ops::cast(input, compute_dtype());
    return result;
  }

 private:
  // Casts floats to the cell's compute dtype.
  Tensor as_of(size_t cell, const Tensor& x) const {
    return is_floating(x.dtype()) ? ops::cast(x, cells_[cell].get().compute_dtype()) : x;
  }

  std::vector<LayerHandle> cells_;
};

}  // namespace

RNN::RNN(const LayerHandle& cell, const RNNOptions& options)
    : LayerHandle(std::make_shared<RNNLayer>(cell, options)) {}

RNN::RNN(const std::vector<LayerHandle>& cells, const RNNOptions& options)
    : RNN(StackedRNNCells(cells), options) {}

RNN RNN::from_config(const Json& config) {
  return RNN(layer_from_json(config.at("cell")), read_layer_options<RNNOptions>(config));
}

void RNN::reset_state() const { as_recurrent(*this, "RNN").reset_state(); }
std::vector<Variable> RNN::states() const { return as_recurrent(*this, "RNN").states(); }

template <class Fields>
void visit_fields(Fields&, StackedRNNCellsOptions&) {}

StackedRNNCells::StackedRNNCells(const std::vector<LayerHandle>& cells,
                                 const StackedRNNCellsOptions& options)
    : LayerHandle(std::make_shared<StackedRNNCellsLayer>(cells, options)) {}

StackedRNNCells StackedRNNCells::from_config(const Json& config) {
  std::vector<LayerHandle> cells;
  for (const Json& cell : config.at("cells").as_array()) cells.push_back(layer_from_json(cell));
  return StackedRNNCells(cells, read_layer_options<StackedRNNCellsOptions>(config));
}

}  // namespace cornu::layers
