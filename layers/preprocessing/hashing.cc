// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/hashing.h"

#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"
#include "layers/preprocessing/string_hash.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, HashingOptions& options) {
  fields("num_bins", options.num_bins);
  fields("salt", options.salt);
  fields("mask_value", options.mask_value);
  fields("output_mode", options.output_mode);
  absent_field(fields, "sparse", false);
}

namespace {

HashingOptions with_hashing_defaults(HashingOptions options) {
  if (options.dtype.empty()) options.dtype = options.output_mode == "int" ? "int64" : "float32";
  const auto& salt = options.salt.values();
  if (salt.size() == 1) options.salt = {salt[0], salt[0]};
  return options;
}

class HashingLayer : public KerasLayerOf<HashingOptions> {
 public:
  explicit HashingLayer(const HashingOptions& options)
      : KerasLayerOf("Hashing", with_hashing_defaults(options)) {
    require(options.num_bins > 0, "expected num_bins > 0, got {}.", options.num_bins);
    check_one_of(label(), "output_mode", options.output_mode,
                 {"int", "one_hot", "multi_hot", "count"});
    const DType dtype = compute_dtype();
    require(options.output_mode != "int" || dtype == DType::Int32 || dtype == DType::Int64,
            "expected a dtype of int32 or int64 for output_mode \"int\", got {}.", dtype);
    const auto& salt = options_.salt.values();
    require(salt.empty() || salt.size() == 2, "expected a salt of one or two numbers, got {}.",
            salt.size());
    if (!salt.empty()) {
      key_ = HashKey{static_cast<uint64_t>(salt[0]), static_cast<uint64_t>(salt[1])};
    }
    const Json& mask = options.mask_value;
    require(mask.is_null() || mask.is_string() || mask.is_number(),
            "expected a string or a number for mask_value, got {}.", mask.excerpt());
  }
  bool autocast() const override { return false; }  // small floats can't hold large numbers

  Tensor call(const Tensor& x, const CallArgs&) override {
    const bool masks = !options_.mask_value.is_null() && options_.num_bins > 1;
    const Tensor hashes =
        hash_elements(is_floating(x.dtype()) ? ops::cast(x, DType::Int64) : x, key_);
    const auto bins = static_cast<uint64_t>(options_.num_bins - (masks ? 1 : 0));
    Tensor bin = ops::cast(ops::mod(hashes, Tensor::scalar(bins)), DType::Int64);
    if (masks) bin = ops::where(is_mask(x), 0, bin + 1);
    if (options_.output_mode == "one_hot" && x.rank() > 0 && x.dim(-1) == 1) {
      bin = ops::squeeze(bin, -1);
    }
    return encode_categories(bin, options_.output_mode, options_.num_bins, compute_dtype());
  }

 private:
  Tensor is_mask(const Tensor& x) const {
    const Json& mask = options_.mask_value;
    const bool strings = x.dtype() == DType::String;
    require(strings == mask.is_string(), "expected inputs of mask_value's kind ({}), got {}.",
            mask.is_string() ? "strings" : "numbers", x.dtype());
    // While a model is built, there are no strings yet.
    if (strings && is_inferring_types() && x.is_symbolic())
      return ops::zeros(x.shape(), DType::Bool);
    if (strings) return ops::equal(x, Tensor::scalar(mask.as_string()));
    if (is_floating(x.dtype())) return ops::equal(x, mask.as_double());
    require(mask.is_int(), "expected a mask_value that is an integer, as the inputs are, got {}.",
            mask.dump());
    return ops::equal(ops::cast(x, DType::Int64), Tensor::scalar(mask.as_int()));
  }

  std::optional<HashKey> key_;
};

}  // namespace

Hashing::Hashing(const HashingOptions& options)
    : LayerHandle(std::make_shared<HashingLayer>(options)) {}

Hashing Hashing::from_config(const Json& config) {
  return Hashing(read_layer_options<HashingOptions>(config));
}

}  // namespace cornu::layers
