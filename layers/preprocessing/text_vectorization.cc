// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/text_vectorization.h"

#include <numeric>

#include "framework/core/utf8.h"
#include "framework/graph/trace.h"
#include "framework/model/input_dtype.h"
#include "framework/ops/ops.h"
#include "layers/preprocessing/lookup_layer.h"
#include "layers/preprocessing/string_lookup.h"
#include "layers/preprocessing/text_tokens.h"

namespace cornu::layers {

Json config_value(const TextFunction& function) {
  check<FailedPrecondition>(function.function() == nullptr,
                            "TextVectorization: a function of the program's own can't be saved. "
                            "Change the texts in a dataset's map, before the layer.");
  return function.given() ? Json(function.name()) : Json();
}
void set_from_config(const Json& json, TextFunction& function) {
  function = {};
  if (json.is_null()) return;
  check<Unimplemented>(json.is_string(),
                       "TextVectorization: functions of Python can't be loaded, got {}.",
                       json.excerpt());
  function = json.as_string();
}

template <class Fields>
void visit_fields(Fields& fields, LookupConfig<TextVectorizationOptions>& config) {
  TextVectorizationOptions& options = config.options;
  fields("max_tokens", options.max_tokens);
  fields("standardize", options.standardize);
  fields("split", options.split);
  fields("ngrams", options.ngrams);
  fields("output_mode", options.output_mode);
  fields("output_sequence_length", options.output_sequence_length);
  fields("pad_to_max_tokens", options.pad_to_max_tokens);
  absent_field(fields, "sparse", false);
  absent_field(fields, "ragged", false);
  fields("vocabulary", options.vocabulary);
  fields("idf_weights", options.idf_weights);
  fields("encoding", options.encoding);
  fields("vocabulary_size", config.vocabulary_size);
}

namespace {

using TextConfig = LookupConfig<TextVectorizationOptions>;
using TokenLookup = LookupLayer<StringLookupOptions, std::string>;

class TextVectorizationLayer : public KerasLayer,
                               public HasSavedParts,
                               public Adaptable,
                               public HasInputDType {
 public:
  explicit TextVectorizationLayer(const TextConfig& config)
      : KerasLayer("TextVectorization", {.name = config.options.name}), config_(config) {
    TextVectorizationOptions& options = config_.options;
    if (options.output_mode == "binary") options.output_mode = "multi_hot";  // Keras 2's names
    if (options.output_mode == "tf-idf") options.output_mode = "tf_idf";
    check_function("standardize", options.standardize,
                   {"lower_and_strip_punctuation", "lower", "strip_punctuation"});
    check_function("split", options.split, {"whitespace", "character"});
    const auto& length = options.output_sequence_length;
    require(!length || options.output_mode == "int",
            "output_sequence_length goes with output_mode \"int\", not \"{}\".",
            options.output_mode);
    require(!length || *length > 0, "expected output_sequence_length > 0, got {}.",
            length.value_or(0));
    constexpr int64_t kMaxWidth = 1 << 16;
    for (const int64_t width : options.ngrams.values()) {
      require(width > 0 && width <= kMaxWidth, "expected ngrams of 1 to {} tokens, got {}.",
              kMaxWidth, width);
    }
    widths_ = options.ngrams.values();
    if (options.ngrams.is_one()) {
      widths_.assign(static_cast<size_t>(widths_[0]), 0);
      std::iota(widths_.begin(), widths_.end(), 1);
    }
    lookup_layer_ = std::make_shared<TokenLookup>(
        "StringLookup",
        LookupConfig<StringLookupOptions>{
            .options = {.max_tokens = options.max_tokens,
                        .mask_token = "",
                        .vocabulary = options.vocabulary,
                        .idf_weights = options.idf_weights,
                        .output_mode = options.output_mode,
                        .pad_to_max_tokens = options.pad_to_max_tokens,
                        .encoding = options.encoding},
            .vocabulary_size = known_size(options, config)},
        label());
    track("_lookup_layer", lookup_layer_);
  }
  bool autocast() const override { return false; }
  DType input_dtype() const override { return DType::String; }

  Json get_config() const override {
    Json config = Layer::get_config();
    TextConfig now = config_;
    now.vocabulary_size = lookup().size();
    write_options(config, now);
    return config;
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    require(x.dtype() == DType::String, "expected strings, got {}.", x.dtype());
    const bool inferring = is_inferring_types() && x.is_symbolic();
    const Tensor found =
        inferring ? lookup().stand_in(shape_of_tokens(x)) : lookup().call(tokens_of(x));
    const auto& length = config_.options.output_sequence_length;
    if (!length || found.rank() == 0) return found;
    const int64_t given = found.dim(-1);
    if (given >= *length) return ops::slice_axis(found, -1, 0, *length);
    Shape missing = found.shape();
    missing[missing.rank() - 1] = *length - given;
    return ops::concatenate({found, ops::zeros(missing, found.dtype())}, -1);
  }

  void adapt(const AdaptData& data, const AdaptOptions& options) override {
    lookup().adapt(data, options, [this](const Tensor& texts) {
      require(texts.dtype() == DType::String, "adapt expected strings, got {}.", texts.dtype());
      return tokens_of(texts);
    });
  }
  bool learns() const override { return lookup().learns(); }
  bool has_learned() const override { return lookup().has_learned(); }

  std::shared_ptr<SavedParts> saved_parts() const override { return lookup_layer_->saved_parts(); }
  IndexLookup<std::string>& lookup() const { return lookup_layer_->lookup(); }

 private:
  void check_function(const char* what, const TextFunction& function,
                      const std::vector<std::string>& known) const {
    if (!function.name().empty()) check_one_of(label(), what, function.name(), known);
  }

  // The output size, if it is in the config of a layer that had a vocabulary: without a vocabulary,
  // Keras writes the size of the special tokens only.
  static std::optional<int64_t> known_size(const TextVectorizationOptions& options,
                                           const TextConfig& config) {
    const int64_t special = options.output_mode == "int" ? 2 : 1;
    if (!config.vocabulary_size || *config.vocabulary_size <= special) return {};
    return config.vocabulary_size;
  }

  Shape shape_of_texts(const Tensor& x) const {
    const Shape& shape = x.shape();
    if (!config_.options.split.given() || shape.rank() < 2) return shape;
    require(shape.back() == 1, "expected texts of shape (batch) or (batch, 1), got {}.", shape);
    return shape.slice(0, shape.rank() - 1);
  }

  // Before there are texts, whose number of tokens is unknown.
  Shape shape_of_tokens(const Tensor& x) const {
    Shape shape = shape_of_texts(x);
    if (config_.options.split.given()) {
      shape = shape.concat({unknown_size()});
    } else if (!widths_.empty() && shape.rank() > 0) {
      shape[shape.rank() - 1] = unknown_size();
    }
    return shape;
  }

  Tensor tokens_of(const Tensor& x) const {
    const Shape shape = shape_of_texts(x);
    const Tensor texts = changed(x.with_shape(shape));
    const TextFunction& split = config_.options.split;
    if (!split.given() && widths_.empty()) return texts;
    Shape leading = shape;
    std::vector<TokenRow> rows;
    if (split.function()) {
      rows = rows_of_tokens(result_of(split, "split", texts, texts.rank() + 1));
    } else if (split.given()) {
      const bool words = split.name() == "whitespace";
      for (const std::string& text : texts.data<std::string>()) {
        rows.push_back(words ? words_of(text) : utf8_characters(text));
      }
    } else {
      require(texts.rank() > 0, "expected tokens to make ngrams of, got a single text.");
      leading = shape.slice(0, shape.rank() - 1);
      rows = rows_of_tokens(texts);
    }
    if (!widths_.empty()) {
      for (TokenRow& row : rows) row = ngrams_of(row, widths_);
    }
    return padded_rows(rows, leading);
  }

  Tensor changed(const Tensor& texts) const {
    const TextFunction& standardize = config_.options.standardize;
    if (standardize.function()) return result_of(standardize, "standardize", texts, texts.rank());
    if (!standardize.given()) return texts;
    const std::string& name = standardize.name();
    Tensor result = Tensor::empty(texts.shape(), DType::String);
    auto place = result.mutable_data<std::string>().begin();
    for (const std::string& text : texts.data<std::string>()) {
      *place++ = standardized(text, name != "strip_punctuation", name != "lower");
    }
    return result;
  }

  // The result of a user's function, after checking it.
  Tensor result_of(const TextFunction& function, const char* what, const Tensor& texts,
                   int64_t rank) const {
    const Tensor result = function.function()(texts);
    const bool fits = result.dtype() == DType::String && result.rank() == rank &&
                      result.shape().slice(0, texts.rank()) == texts.shape();
    require(fits,
            "expected {} to give strings of {} axes for texts of shape {}, got {} of shape {}.",
            what, rank, texts.shape(), result.dtype(), result.shape());
    return result;
  }

  TextConfig config_;
  std::vector<int64_t> widths_;  // n-gram lengths; empty: only tokens
  std::shared_ptr<TokenLookup> lookup_layer_;
};

IndexLookup<std::string>& lookup_of(const TextVectorization& layer) {
  return layer_of<TextVectorizationLayer>(layer).lookup();
}

}  // namespace

TextVectorization::TextVectorization(const TextVectorizationOptions& options)
    : LayerHandle(std::make_shared<TextVectorizationLayer>(TextConfig{.options = options})) {}

TextVectorization TextVectorization::from_config(const Json& config) {
  return of(LayerHandle(std::make_shared<TextVectorizationLayer>(
      read_lookup_config<TextVectorizationOptions>(config))));
}

TextVectorization TextVectorization::of(const LayerHandle& layer) {
  return TextVectorization(require_class<TextVectorizationLayer>(layer, "TextVectorization"), Of());
}

void TextVectorization::adapt(const AdaptData& data, const AdaptOptions& options) const {
  layer_of<TextVectorizationLayer>(*this).adapt(data, options);
}

void TextVectorization::set_vocabulary(const Vocabulary<std::string>& vocabulary,
                                       const std::vector<double>& idf_weights) const {
  lookup_of(*this).set_vocabulary(vocabulary, idf_weights);
}

std::vector<std::string> TextVectorization::get_vocabulary(bool include_special_tokens) const {
  return lookup_of(*this).vocabulary(include_special_tokens);
}

int64_t TextVectorization::vocabulary_size() const { return lookup_of(*this).size(); }

}  // namespace cornu::layers
