// SPDX-License-Identifier: Apache-2.0
// Code shared by StringLookup and IntegerLookup. Internal: layers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/input_dtype.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/adaptable.h"
#include "layers/preprocessing/category_output.h"
#include "layers/preprocessing/index_lookup.h"

namespace cornu::layers {

// Options, and further fields of configs.
template <class Options>
struct LookupConfig {
  Options options;
  std::optional<int64_t> vocabulary_size = {};
};

template <class Token>
Json config_value(const Vocabulary<Token>& vocabulary) {
  if (!vocabulary.is_list()) return nullptr;  // stored as an asset
  return Json::Array(vocabulary.tokens().begin(), vocabulary.tokens().end());
}
template <class Token>
void set_from_config(const Json& json, Vocabulary<Token>& vocabulary) {
  vocabulary = {};
  if (json.is_null()) return;
  check<InvalidArgument>(
      json.is_array(),
      "expected a list of tokens for 'vocabulary', got {}: a config opens no file.",
      json.excerpt());
  std::vector<Token> tokens;
  for (const Json& token : json.as_array()) {
    if constexpr (std::is_same_v<Token, std::string>) {
      tokens.push_back(token.as_string());
    } else {
      tokens.push_back(token.as_int());
    }
  }
  vocabulary = std::move(tokens);
}

// Keras's keys, in its order.
template <class Fields, class Options>
void visit_fields(Fields& fields, LookupConfig<Options>& config) {
  Options& options = config.options;
  fields("invert", options.invert);
  fields("max_tokens", options.max_tokens);
  fields("num_oov_indices", options.num_oov_indices);
  fields("oov_token", options.oov_token);
  fields("mask_token", options.mask_token);
  fields("output_mode", options.output_mode);
  absent_field(fields, "sparse", false);
  fields("pad_to_max_tokens", options.pad_to_max_tokens);
  if constexpr (requires { options.oov_method; }) {
    absent_field(fields, "vocabulary_dtype", "int64");
  }
  fields("idf_weights", options.idf_weights);
  fields("vocabulary", options.vocabulary);
  fields("vocabulary_size", config.vocabulary_size);
  if constexpr (requires { options.oov_method; }) {
    fields("oov_method", options.oov_method);
  } else {
    std::string unused = "floormod";  // for strings
    fields("oov_method", unused);
  }
  fields("salt", options.salt);
  if constexpr (requires { options.encoding; }) fields("encoding", options.encoding);
}

template <class Options>
LookupConfig<Options> read_lookup_config(const Json& config) {
  LookupConfig<Options> read;
  ConfigReader fields(config);
  visit_fields(fields, read);
  fields("name", read.options.name);
  return read;
}

template <class Options, class Token>
class LookupLayer : public KerasLayer,
                    public HasSavedParts,
                    public Adaptable,
                    public HasInputDType {
 public:
  // `owner`: the prefix of errors if the layer is part of another layer; "": its own label.
  LookupLayer(const char* class_name, const LookupConfig<Options>& config,
              const std::string& owner = "")
      : KerasLayer(class_name, {.name = config.options.name}), config_(config) {
    Options& options = config_.options;
    if (options.output_mode == "binary") options.output_mode = "multi_hot";  // Keras 2's names
    if (options.output_mode == "tf-idf") options.output_mode = "tf_idf";
    const auto& salt = options.salt.values();
    require(salt.size() <= 2, "expected a salt of one or two numbers, got {}.", salt.size());
    if (salt.size() == 1) options.salt = {salt[0], salt[0]};
    LookupSettings<Token> settings = {.label = owner.empty() ? label() : owner,
                                      .max_tokens = options.max_tokens,
                                      .num_oov_indices = options.num_oov_indices,
                                      .mask_token = options.mask_token,
                                      .oov_token = options.oov_token,
                                      .idf_weights = options.idf_weights.values(),
                                      .invert = options.invert,
                                      .output_mode = options.output_mode,
                                      .pad_to_max_tokens = options.pad_to_max_tokens,
                                      .hash_oov = true,
                                      .salt = {},
                                      .vocabulary = options.vocabulary,
                                      .vocabulary_size = config.vocabulary_size};
    if constexpr (requires { options.oov_method; }) {
      check_one_of(label(), "oov_method", options.oov_method, {"floormod", "farmhash"});
      settings.hash_oov = options.oov_method == "farmhash";
      require(settings.hash_oov || salt.empty(), "a salt goes with oov_method \"farmhash\".");
    } else {
      check_one_of(owner.empty() ? label() : owner, "encoding", options.encoding, {"utf-8"});
    }
    if (!salt.empty()) {
      settings.salt = HashKey{static_cast<uint64_t>(salt[0]), static_cast<uint64_t>(salt[1])};
    }
    lookup_ = std::make_shared<IndexLookup<Token>>(std::move(settings));
  }
  bool autocast() const override { return false; }
  DType input_dtype() const override {
    return config_.options.invert ? DType::Int64 : DTypeOf<Token>::value;
  }

  Json get_config() const override {
    Json config = Layer::get_config();
    LookupConfig<Options> now = config_;
    now.vocabulary_size = lookup_->frozen_size();
    write_options(config, now);
    return config;
  }

  Tensor call(const Tensor& x, const CallArgs&) override { return lookup_->call(x); }

  void adapt(const AdaptData& data, const AdaptOptions& options) override {
    lookup_->adapt(data, options, [](const Tensor& tokens) { return tokens; });
  }
  bool learns() const override { return lookup_->learns(); }
  bool has_learned() const override { return lookup_->has_learned(); }

  std::shared_ptr<SavedParts> saved_parts() const override { return lookup_; }
  IndexLookup<Token>& lookup() { return *lookup_; }

 private:
  LookupConfig<Options> config_;
  std::shared_ptr<IndexLookup<Token>> lookup_;
};

}  // namespace cornu::layers
