// SPDX-License-Identifier: Apache-2.0
#include "layers/core/einsum_dense.h"

#include <algorithm>
#include <regex>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EinsumDenseOptions& options) {
  fields("output_shape", options.output_shape);
  fields("equation", options.equation);
  fields("activation", options.activation);
  std::optional<std::string> bias_axes;
  if (!options.bias_axes.empty()) bias_axes = options.bias_axes;
  fields("bias_axes", bias_axes);
  options.bias_axes = bias_axes.value_or("");
  fields("kernel_initializer", options.kernel_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("kernel_constraint", options.kernel_constraint);
  fields("bias_constraint", options.bias_constraint);
  absent_field(fields, "quantization_config", nullptr);
}

namespace {

// "x,kernel->y" taken apart.
struct Equation {
  std::string input;
  std::string kernel;
  std::string output;
  bool elided_left = false;
  bool elided_right = false;
};

struct WeightShapes {
  Shape kernel;
  Shape bias;
  std::vector<int64_t> input_axes;  // of the kernel: those that are summed over
  std::vector<int64_t> output_axes;
};

class EinsumDenseLayer : public KerasLayerOf<EinsumDenseOptions> {
 public:
  explicit EinsumDenseLayer(const EinsumDenseOptions& options)
      : KerasLayerOf("EinsumDense", options), equation_(parse()) {
    require(options.output_shape.given(), "expected an output_shape, got none.");
  }

  void build(const Shape& input_shape) override {
    const WeightShapes shapes = shapes_for(input_shape);
    kernel_ = add_weight({.shape = shapes.kernel,
                          .initializer = kernel_initializer(shapes),
                          .regularizer = options_.kernel_regularizer,
                          .constraint = options_.kernel_constraint,
                          .name = "kernel"});
    if (options_.bias_axes.empty()) return;
    bias_ = add_weight({.shape = shapes.bias,
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint,
                        .name = "bias"});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    Tensor y = ops::einsum(options_.equation, {x, compute(kernel_)});
    if (bias_.defined()) y = y + compute(bias_);
    return options_.activation(y);
  }

 protected:
  void check_input(const Shape& shape) const override {
    const auto letters = static_cast<int64_t>(equation_.input.size());
    const bool elided = equation_.elided_left || equation_.elided_right;
    require(elided ? shape.rank() >= letters : shape.rank() == letters,
            "expected an input of {} axes{} for the equation '{}', got {}.", letters,
            elided ? " or more" : "", options_.equation, shape);
  }

 private:
  Equation parse() const {
    static const std::regex form(
        R"(^(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?$)");
    std::smatch found;
    const bool fits =
        options_.equation.size() < 200 && std::regex_match(options_.equation, found, form) &&
        found[1].matched == found[5].matched && found[3].matched == found[7].matched &&
        !(found[1].matched && found[3].matched);
    require(fits,
            "expected an equation of the form \"[X],[Y]->[Z]\", \"...[X],[Y]->...[Z]\" or "
            "\"[X]...,[Y]->[Z]...\", got \"{}\".",
            options_.equation);
    return {found[2], found[4], found[6], found[1].matched, found[3].matched};
  }

  // The output's whole shape, where it is known.
  Shape full_output(const Shape& input) const {
    Shape output = {input[0]};
    const int64_t elided = input.rank() - static_cast<int64_t>(equation_.input.size());
    for (int64_t i = 1; equation_.elided_left && i < elided; ++i) output.push_back(input[i]);
    for (const int64_t size : options_.output_shape.values()) output.push_back(size);
    for (int64_t i = input.rank() - elided; equation_.elided_right && i < input.rank(); ++i) {
      output.push_back(input[i]);
    }
    const int64_t expected = static_cast<int64_t>(equation_.output.size()) + elided;
    require(output.rank() == expected,
            "expected an output_shape of {} axes for the equation '{}' and an input {}, got {}.",
            options_.output_shape.values().size() + static_cast<size_t>(expected - output.rank()),
            options_.equation, input, Shape(options_.output_shape.values()));
    return output;
  }

  WeightShapes shapes_for(const Shape& input) const {
    const Shape output = full_output(input);
    const int64_t elided = input.rank() - static_cast<int64_t>(equation_.input.size());
    const int64_t skipped = equation_.elided_left ? elided : 0;
    const auto size_of = [&](const std::string& letters, const Shape& shape, char letter) {
      const size_t at = letters.find(letter);
      return at == std::string::npos ? std::optional<int64_t>()
                                     : shape[static_cast<int64_t>(at) + skipped];
    };
    for (const char letter : equation_.input) {
      const auto given = size_of(equation_.input, input, letter);
      const auto wanted = size_of(equation_.output, output, letter);
      require(!wanted || *wanted == kUnknown || *given == kUnknown || *wanted == *given,
              "expected the same size of axis '{}' in input and output_shape, got {} and {}.",
              letter, given.value_or(0), wanted.value_or(0));
    }
    WeightShapes shapes;
    for (const char letter : equation_.kernel) {
      auto size = size_of(equation_.output, output, letter);
      const auto axis = static_cast<int64_t>(shapes.kernel.rank());
      (size ? shapes.output_axes : shapes.input_axes).push_back(axis);
      if (!size) size = size_of(equation_.input, input, letter);
      require(size && *size != kUnknown,
              "expected axis '{}' of the kernel to be known from the input or output_shape, got "
              "input {} for the equation '{}'.",
              letter, input, options_.equation);
      shapes.kernel.push_back(*size);
    }
    if (!options_.bias_axes.empty()) shapes.bias = bias_shape(output, skipped);
    return shapes;
  }

  Shape bias_shape(const Shape& output, int64_t skipped) const {
    size_t first = std::string::npos;
    for (const char letter : options_.bias_axes) {
      const size_t at = equation_.output.find(letter);
      require(at != std::string::npos,
              "expected bias_axes to be letters of the output '{}', got '{}'.", equation_.output,
              options_.bias_axes);
      first = std::min(first, at);
    }
    Shape shape;
    for (size_t i = first; i < equation_.output.size(); ++i) {
      const bool has = options_.bias_axes.find(equation_.output[i]) != std::string::npos;
      const int64_t size = output[static_cast<int64_t>(i) + skipped];
      require(!has || size != kUnknown,
              "expected a known size of axis '{}', which the bias has, got output {}.",
              equation_.output[i], output);
      shape.push_back(has ? size : 1);
    }
    if (equation_.elided_right) {
      for (int64_t i = static_cast<int64_t>(equation_.output.size()); i < output.rank(); ++i) {
        shape.push_back(1);
      }
    }
    return shape;
  }

  // Initializers that scale by fans count those of the equation.
  Initializer kernel_initializer(const WeightShapes& shapes) const {
    const Initializer& given = options_.kernel_initializer;
    if (!given || given.shared()->class_name().empty()) return given;  // a function
    Json json = serialize(given);
    const Json* config = json.is_object() ? json.find("config") : nullptr;
    if (!config || !config->find("input_axes")) return options_.kernel_initializer;
    Json own = *config;
    if (!own.at("input_axes").is_null() && !own.at("output_axes").is_null()) {
      return options_.kernel_initializer;
    }
    own.set("input_axes", shapes.input_axes);
    own.set("output_axes", shapes.output_axes);
    json.set("config", own);
    return initializer_from_json(json);
  }

  Equation equation_;
  Variable kernel_;
  Variable bias_;
};

}  // namespace

EinsumDense::EinsumDense(const EinsumDenseOptions& options)
    : LayerHandle(std::make_shared<EinsumDenseLayer>(options)) {}

EinsumDense EinsumDense::from_config(const Json& config) {
  return EinsumDense(read_layer_options<EinsumDenseOptions>(config));
}

}  // namespace cornu::layers
