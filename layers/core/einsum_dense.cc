// SPDX-License-Identifier: Apache-2.0
#include "layers/core/einsum_dense.h"

#include <algorithm>
#include <regex>

#include "framework/model/initializers.h"
#include "framework/ops/ops.h"
#include "layers/core/quantized_weight.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EinsumDenseOptions& options) {
  fields("output_shape", options.output_shape);
  fields("equation", options.equation);
  fields("activation", options.activation);
  fields("bias_axes", options.bias_axes);
  fields("kernel_initializer", options.kernel_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("kernel_constraint", options.kernel_constraint);
  fields("bias_constraint", options.bias_constraint);
  fields("quantization_config", options.quantization_config);
  visit_lora_fields(fields, options);
}

namespace {

// An equation's letters, and the position of its "...".
struct Equation {
  std::string input;
  std::string kernel;
  std::string output;
  bool left = false;   // "...ab"
  bool right = false;  // "ab..."

  bool has_rank(int64_t rank) const {
    const auto letters = static_cast<int64_t>(input.size());
    return left ? rank > letters : right ? rank >= letters : rank == letters;
  }
  // The input's or output's letters as in the equation.
  std::string term(const std::string& letters) const {
    return (left ? "..." : "") + letters + (right ? "..." : "");
  }
  // As above, with a character for each axis of an input of this rank.
  std::string labels(const std::string& letters, int64_t input_rank) const {
    std::string elided;
    for (auto axis = static_cast<int64_t>(input.size()); axis < input_rank; ++axis) {
      elided += static_cast<char>('0' + elided.size());
    }
    return left ? elided + letters : letters + elided;
  }
  // The layout of the scales of an operand with this shape and these labels, along the output's
  // axes.
  ScaleLayout scale_layout(const std::string& operand, const Shape& shape,
                           int64_t input_rank) const {
    ScaleLayout layout;
    std::string kept;
    const std::string result = labels(output, input_rank);
    for (size_t i = 0; i < operand.size(); ++i) {
      if (result.find(operand[i]) == std::string::npos) {
        layout.summed.push_back(static_cast<int64_t>(i));
      } else {
        kept += operand[i];
      }
    }
    for (const char label : result) {
      const size_t place = kept.find(label);
      const bool is_there = place != std::string::npos;
      if (is_there) layout.order.push_back(static_cast<int64_t>(place));
      layout.shape.push_back(is_there ? shape[static_cast<int64_t>(operand.find(label))] : 1);
    }
    return layout;
  }
};

Equation parse_equation(const std::string& who, const std::string& text) {
  static const std::regex form(
      R"((\.\.\.)?([A-Za-z]+)(\.\.\.)?,([A-Za-z]+)->(\.\.\.)?([A-Za-z]+)(\.\.\.)?)");
  std::smatch match;
  const bool matches = text.size() < 256 && std::regex_match(text, match, form) &&
                       match[1].matched == match[5].matched &&
                       match[3].matched == match[7].matched &&
                       !(match[1].matched && match[3].matched);
  check<InvalidArgument>(matches,
                         "{}: expected an equation \"ab,bc->ac\", \"...ab,bc->...ac\" or "
                         "\"ab...,bc->ac...\", got \"{}\".",
                         who, text);
  return {match[2], match[4], match[6], match[1].matched, match[3].matched};
}

// Sets the input and output axes of a VarianceScaling that doesn't specify them.
Initializer with_axes(const Initializer& initializer, const std::vector<int64_t>& inputs,
                      const std::vector<int64_t>& outputs) {
  if (!initializer || !dynamic_cast<const initializers::VarianceScaling*>(&*initializer))
    return initializer;
  Json json = serialize(initializer);
  Json config = json.at("config");
  if (!config.at("input_axes").is_null() && !config.at("output_axes").is_null()) return initializer;
  config.set("input_axes", Json(inputs));
  config.set("output_axes", Json(outputs));
  json.set("config", std::move(config));
  return initializer_from_json(json);
}

class EinsumDenseLayer : public WithQuantization<KerasLayerOf<EinsumDenseOptions>> {
 public:
  explicit EinsumDenseLayer(const EinsumDenseOptions& options)
      : WithQuantization("EinsumDense", options),
        equation_(parse_equation(label(), options.equation)) {
    const auto letters = static_cast<int64_t>(equation_.output.size()) - (equation_.left ? 0 : 1);
    require(options.output_shape.rank() == letters,
            "expected an output_shape of {} sizes for equation \"{}\" (the batch's is left out), "
            "got {}.",
            letters, options.equation, options.output_shape);
    for (const int64_t size : options.output_shape) {
      require(size > 0 || size == kUnknown, "expected an output_shape of sizes > 0, got {}.",
              options.output_shape);
    }
    for (const char letter : options.bias_axes.value_or("")) {
      require(has(equation_.output, letter),
              "expected bias_axes of the output's letters \"{}\", got \"{}\".", equation_.output,
              *options.bias_axes);
    }
    require(options.bias_axes != "", "expected bias_axes of at least one letter, got \"\".");
    for (const char letter : equation_.kernel) {
      require(has(equation_.output, letter) || has(equation_.input, letter),
              "the kernel's axis '{}' is neither the input's nor the output's in \"{}\".", letter,
              options.equation);
    }
    for (const char letter : equation_.output) {
      require(has(equation_.kernel, letter) || has(equation_.input, letter),
              "the output's axis '{}' is neither the input's nor the kernel's in \"{}\".", letter,
              options.equation);
    }
  }

  void build(const Shape& input_shape) override {
    const Shape output = output_shape(input_shape);
    check_shared(input_shape, output);
    Shape shape;
    std::vector<int64_t> inputs, outputs;
    Shape matrix{1, 1};  // total sizes of the kernel's inputs and outputs
    for (const char letter : equation_.kernel) {
      const bool is_output = has(equation_.output, letter);
      (is_output ? outputs : inputs).push_back(shape.rank());
      shape.push_back(is_output ? known_output(output, letter)
                                : known_axis(input_shape, input_axis(letter, input_shape.rank())));
      matrix[is_output ? 1 : 0] *= shape.back();
    }
    const Variable kernel = add_quantizable(
        {.shape = shape,
         .initializer = with_axes(options_.kernel_initializer, inputs, outputs),
         .regularizer = options_.kernel_regularizer,
         .constraint = options_.kernel_constraint,
         .name = "kernel"},
        equation_.scale_layout(equation_.kernel, shape, input_shape.rank()), {.matrix = matrix});
    if (options_.bias_axes) add_bias(output);
    adapt(kernel, options_.kernel_regularizer, options_.kernel_constraint, options_.lora_alpha);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor inputs = ops::cast(x, compute_dtype());
    Tensor y = quantized_weight() ? quantized_product(inputs)
                                  : ops::einsum(options_.equation, inputs, adapted());
    if (bias_.defined()) y = ops::add(y, compute(bias_));
    return options_.activation(y);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(equation_.has_rank(shape.rank()),
            "expected an input of {} axes{} for equation \"{}\", got {}.",
            equation_.input.size() + (equation_.left ? 1 : 0),
            equation_.left || equation_.right ? " or more" : "", options_.equation, shape);
    if (!adaptable().defined()) return;
    require(
        !quantized_weight() || built_shapes().empty() || shape.rank() == built_shapes()[0].rank(),
        "expected an input of {} axes, as it was built for, since its scales run along the "
        "output's axes, got {}.",
        built_shapes().empty() ? 0 : built_shapes()[0].rank(), shape);
    for (size_t i = 0; i < equation_.kernel.size(); ++i) {
      if (!has(equation_.input, equation_.kernel[i])) continue;
      require_axis(shape, input_axis(equation_.kernel[i], shape.rank()),
                   adapted_shape()[static_cast<int64_t>(i)]);
    }
  }

 private:
  static bool has(const std::string& letters, char letter) {
    return letters.find(letter) != std::string::npos;
  }
  int64_t input_axis(char letter, int64_t rank) const {
    const auto at = static_cast<int64_t>(equation_.input.find(letter));
    return equation_.left ? rank - static_cast<int64_t>(equation_.input.size()) + at : at;
  }
  // The number of axes that "..." represents.
  int64_t elided(int64_t input_rank) const {
    return input_rank - static_cast<int64_t>(equation_.input.size());
  }

  // Including the batch and the axes of "..."; kUnknown where output_shape says so.
  Shape output_shape(const Shape& input) const {
    Shape shape = equation_.left ? input.slice(0, elided(input.rank())) : Shape{input[0]};
    shape = shape.concat(options_.output_shape);
    return equation_.right ? shape.concat(input.slice(input.rank() - elided(input.rank()))) : shape;
  }

  int64_t output_size(const Shape& output, size_t letter) const {
    const int64_t before =
        equation_.left ? output.rank() - static_cast<int64_t>(equation_.output.size()) : 0;
    return output[before + static_cast<int64_t>(letter)];
  }

  int64_t known_output(const Shape& output, char letter) const {
    const int64_t size = output_size(output, equation_.output.find(letter));
    require(size != kUnknown,
            "expected a known size of axis '{}' in output_shape, got {}. Weights have it.", letter,
            options_.output_shape);
    return size;
  }

  // Checks that axes shared by input and output have the same size.
  void check_shared(const Shape& input, const Shape& output) const {
    for (const char letter : equation_.input) {
      if (!has(equation_.output, letter)) continue;
      const int64_t size = output_size(output, equation_.output.find(letter));
      const int64_t given = input[input_axis(letter, input.rank())];
      require(size == kUnknown || given == kUnknown || size == given,
              "expected {} elements on the input's axis '{}', as output_shape {} says, got {}.",
              size, letter, options_.output_shape, input);
    }
  }

  void add_bias(const Shape& output) {
    const std::string& letters = equation_.output;
    Shape shape;
    for (size_t i = letters.find_first_of(*options_.bias_axes); i < letters.size(); ++i) {
      const bool biased = has(*options_.bias_axes, letters[i]);
      shape.push_back(biased ? known_output(output, letters[i]) : 1);
    }
    const int64_t after =
        equation_.right ? output.rank() - static_cast<int64_t>(letters.size()) : 0;
    for (int64_t i = 0; i < after; ++i) shape.push_back(1);
    bias_ = add_weight({.shape = shape,
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint,
                        .name = "bias"});
  }

  Tensor quantized_product(const Tensor& x) const {
    const Equation& e = equation_;
    // Axes that the product sums over but the kernel lacks have a single gradient.
    std::string kept;
    std::vector<int64_t> summed;
    for (const char letter : e.input) {
      const bool is_known = has(e.kernel, letter) || has(e.output, letter);
      if (is_known) kept += letter;
      if (!is_known) summed.push_back(input_axis(letter, x.rank()));
    }
    const std::string gradient = fmt::format("{},{}->{}", e.term(e.output), e.kernel, e.term(kept));
    const ScaleLayout layout = e.scale_layout(e.labels(e.input, x.rank()), x.shape(), x.rank());
    const QuantizedProduct how{
        .multiply =
            [&](const Tensor& inputs, const Tensor& kernel) {
              return ops::einsum(options_.equation, inputs, kernel);
            },
        .gradient =
            [&](const Tensor& upstream, const Tensor& kernel) {
              Tensor dx = ops::einsum(gradient, upstream, kernel);
              for (const int64_t axis : summed) dx = ops::expand_dims(dx, axis);
              return summed.empty() ? dx : ops::add(dx, ops::zeros_like(x));
            },
        .summed = layout.summed,
        .aligned = [&](const Tensor& scale) { return layout.from_quantizer(scale); }};
    const Tensor y = quantized_weight()->product(x, activation_quantizer(), how);
    return lora() ? ops::add(y, lora_product(x)) : y;
  }

  // LoRA's contribution, computed with its small matrices if the kernel's last axis is an output
  // axis.
  Tensor lora_product(const Tensor& x) const {
    const char last = equation_.kernel.back();
    if (equation_.right || equation_.output.back() != last || has(equation_.input, last)) {
      return ops::einsum(options_.equation, x, ops::cast(lora()->added(), compute_dtype()));
    }
    const Tensor low = ops::einsum(options_.equation, x, compute(lora()->a()));
    return ops::matmul(low, compute(lora()->b())) * lora()->scale();
  }

  Equation equation_;
  Variable bias_;
};

}  // namespace

EinsumDense::EinsumDense(const EinsumDenseOptions& options)
    : LayerHandle(std::make_shared<EinsumDenseLayer>(options)) {}

EinsumDense EinsumDense::from_config(const Json& config) {
  return EinsumDense(read_layer_options<EinsumDenseOptions>(config));
}

}  // namespace cornu::layers
