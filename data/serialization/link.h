// SPDX-License-Identifier: Apache-2.0
// How a link of a dataset's chain is written for another process, and made again there.
//
// A node overrides Node::write, and its file has a function that makes it of what was written:
//   void write(LinkWriter& link) const override { link.kind("take")("count", count_); }
//   NodePtr read_take(LinkReader& link) {
//     return make_take(link.input(), link.get<int64_t>("count"));
//   }
// That function is registered with how many inputs it takes. It goes through the constructor that
// programs use, which checks; it opens no file, computes nothing, and asks for no memory beyond
// what the config holds. Options that are a struct list their fields once, for both directions,
// with fields.hint() those that nothing of what comes depends on:
//   template <class Fields>
//   void visit_fields(Fields& fields, ChooseFromDatasetsOptions& options) {
//     fields("stop_on_empty_dataset", options.stop_on_empty_dataset);
//   }
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/node.h"
#include "framework/core/json.h"
#include "framework/core/registry.h"

namespace cornu::data {

using Blobs = std::map<std::string, std::string>;  // by their SHA-256

class LinkWriter {
 public:
  // Large tensors go to `blobs`, which outlives it; null: checksums stand for them. `hints`: with
  // what changes nothing of what comes.
  explicit LinkWriter(Blobs* blobs, bool hints = true) : blobs_(blobs), hints_(hints) {}

  LinkWriter& kind(std::string kind) {
    kind_ = std::move(kind);
    return *this;
  }
  template <class T>
  LinkWriter& operator()(const char* key, const T& value) {
    config_.set(key, to_json(value));
    return *this;
  }
  // What elements don't depend on, as a number of threads: fingerprints leave it out.
  template <class T>
  LinkWriter& hint(const char* key, const T& value) {
    return hints_ ? (*this)(key, value) : *this;
  }
  // An enumerator, by its name among those of all.
  template <class Enum>
  void choice(const char* key, Enum value, const std::vector<std::string>& names) {
    (*this)(key, names[static_cast<size_t>(value)]);
  }
  // The fields of an options struct.
  template <class Options>
  LinkWriter& options(Options options) {
    visit_fields(*this, options);
    return *this;
  }

  const std::string& kind() const { return kind_; }
  const Json& config() const { return config_; }

 private:
  Json to_json(bool value) { return value; }
  Json to_json(int value) { return value; }
  Json to_json(int64_t value) { return value; }
  Json to_json(double value) { return value; }
  Json to_json(const char* value) { return value; }
  Json to_json(const std::string& value);
  Json to_json(DType value) { return to_string(value); }
  Json to_json(const Shape& value) { return value; }
  Json to_json(const Tensor& value);  // may be undefined
  Json to_json(const Structure& value);
  Json to_json(const ElementSpec& value);
  Json to_json(const Element& value);
  template <class T>
  Json to_json(const std::optional<T>& value) {
    return value ? to_json(*value) : Json();
  }
  template <class T>
  Json to_json(const std::vector<T>& values) {
    Json::Array elements;
    for (const auto& value : values) elements.push_back(to_json(value));
    return elements;
  }

  Blobs* blobs_;
  bool hints_;
  std::string kind_;
  Json config_ = Json::object();
};

// The tensors of blobs, each read once.
class BlobReader {
 public:
  explicit BlobReader(const Blobs& blobs) : blobs_(blobs) {}
  // DataLoss when there is no such blob, or it is no tensor of that digest.
  const Tensor& at(const std::string& key);

 private:
  const Blobs& blobs_;
  std::map<std::string, Tensor> tensors_;
};

// All errors are InvalidArgument or DataLoss, and name the key.
class LinkReader {
 public:
  // `bytes`: of all that was written.
  LinkReader(const Json& config, std::vector<NodePtr> inputs, BlobReader& blobs, size_t bytes)
      : config_(config), inputs_(std::move(inputs)), blobs_(blobs), bytes_(bytes) {}

  const NodePtr& input() const { return inputs_.front(); }
  const std::vector<NodePtr>& inputs() const { return inputs_; }

  // Was it written? Of options that are left out where they are the default.
  bool has(const char* key) const { return config_.contains(key); }

  // How large a number may be that memory is asked for.
  size_t bytes() const { return bytes_; }

  template <class T>
  T get(const char* key) {
    T value{};
    (*this)(key, value);
    return value;
  }
  template <class T>
  void operator()(const char* key, T& value) {
    read(member(key), value);
  }
  template <class T>
  void hint(const char* key, T& value) {
    (*this)(key, value);
  }
  template <class Enum>
  void choice(const char* key, Enum& value, const std::vector<std::string>& names) {
    value = static_cast<Enum>(number_of(get<std::string>(key), names, key));
  }
  template <class Options>
  Options options() {
    Options options;
    visit_fields(*this, options);
    return options;
  }

 private:
  const Json& member(const char* key) const;
  static size_t number_of(const std::string& name, const std::vector<std::string>& names,
                          const char* key);

  void read(const Json& json, bool& value) { value = json.as_bool(); }
  void read(const Json& json, int64_t& value) { value = json.as_int(); }
  void read(const Json& json, double& value) { value = json.as_double(); }
  void read(const Json& json, std::string& value);
  void read(const Json& json, DType& value) { value = dtype_from_string(json.as_string()); }
  void read(const Json& json, Shape& value);
  void read(const Json& json, Tensor& value);
  void read(const Json& json, Structure& value);
  void read(const Json& json, ElementSpec& value);
  void read(const Json& json, Element& value);
  template <class T>
  void read(const Json& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) read(json, value.emplace());
  }
  template <class T>
  void read(const Json& json, std::vector<T>& values) {
    values.clear();
    for (const Json& element : json.as_array()) {
      T value{};
      read(element, value);
      values.push_back(std::move(value));
    }
  }

  const Json& config_;
  std::vector<NodePtr> inputs_;
  BlobReader& blobs_;
  size_t bytes_;
};

// The fingerprint of a chain with links that can't travel, of which the description counts instead.
struct PartialFingerprint {
  std::string digest;
  std::string left_out;  // those links: "map, generator"; empty where it is all
};
PartialFingerprint partial_fingerprint(const NodePtr& node);

// What a chain computes, for comparing it with another process's: equal where fingerprints are, and
// where files lie in other folders. Copies no large tensor. FailedPrecondition for a chain that is
// too long.
Json comparable_pipeline(const NodePtr& node);

// A kind of links.
struct LinkKind {
  size_t least_inputs;
  size_t most_inputs;
  NodePtr (*read)(LinkReader& link);
};

// All kinds by name, the built-in ones first. For links of one's own:
//   link_registry().add("my_transform", {1, 1, [](LinkReader& link) -> NodePtr { … }});
Registry<LinkKind>& link_registry();

}  // namespace cornu::data
