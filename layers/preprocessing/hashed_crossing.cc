// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/hashed_crossing.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"
#include "layers/preprocessing/string_hash.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, HashedCrossingOptions& options) {
  fields("num_bins", options.num_bins);
  fields("output_mode", options.output_mode);
  absent_field(fields, "sparse", false);
}

namespace {

constexpr uint64_t kCrossKey = 0xdecafcaffe;  // TensorFlow's default

HashedCrossingOptions with_crossing_defaults(HashedCrossingOptions options) {
  if (options.dtype.empty()) options.dtype = options.output_mode == "int" ? "int64" : "float32";
  return options;
}

class HashedCrossingLayer : public KerasLayerOf<HashedCrossingOptions> {
 public:
  explicit HashedCrossingLayer(const HashedCrossingOptions& options)
      : KerasLayerOf("HashedCrossing", with_crossing_defaults(options)) {
    check_one_of(label(), "output_mode", options.output_mode, {"int", "one_hot"});
    require(options.num_bins > 0, "expected num_bins > 0, got {}.", options.num_bins);
  }
  bool autocast() const override { return false; }

  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    config.set("name", name());
    config.set("dtype", to_string(variable_dtype()));
    return config;
  }

  void build_list(const std::vector<Shape>& shapes) override { check_shapes(shapes); }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    check_shapes(shapes);
    Tensor hash = Tensor::scalar(kCrossKey);
    for (const Tensor& input : inputs) {
      const bool strings = input.dtype() == DType::String;
      require(strings || is_integer(input.dtype()), "expected strings or integers, got {}.",
              input.dtype());
      // A number is its own fingerprint.
      hash = join_fingerprints(hash,
                               strings ? hash_elements(input)
                                       : ops::cast(ops::cast(input, DType::Int64), DType::UInt64));
    }
    const auto bins = static_cast<uint64_t>(options_.num_bins);
    const Tensor bin = ops::cast(ops::mod(hash, Tensor::scalar(bins)), DType::Int64);
    return encode_categories(bin, options_.output_mode, options_.num_bins, compute_dtype());
  }

 private:
  void check_shapes(const std::vector<Shape>& shapes) const {
    require(shapes.size() >= 2, "expected two inputs or more, got {}.", shapes.size());
    const Shape& first = shapes[0];
    require(first.rank() < 2 || (first.rank() == 2 && first[1] == 1),
            "expected inputs of shape (), (batch) or (batch, 1), got {}.", first);
    for (const Shape& shape : shapes) {
      require(shape == first, "expected inputs of one shape, got {} and {}.", first, shape);
    }
  }
};

}  // namespace

HashedCrossing::HashedCrossing(const HashedCrossingOptions& options)
    : LayerHandle(std::make_shared<HashedCrossingLayer>(options)) {}

HashedCrossing HashedCrossing::from_config(const Json& config) {
  return HashedCrossing(read_layer_options<HashedCrossingOptions>(config));
}

}  // namespace cornu::layers
