// SPDX-License-Identifier: Apache-2.0
// Serializes the links of a dataset's chain, and creates them again in another process.
//
// A node overrides Node::write, and its file has a function that reads what was written:
//   void write(LinkWriter& link) const override { link.kind("take")("count", count_); }
//   NodePtr read_take(LinkReader& link) {
//     return make_take(link.input(), link.get<int64_t>("count"));
//   }
// That function is registered along with its number of inputs. It uses the same constructor as
// programs do, which validates the arguments; it opens no file, computes nothing, and allocates no
// memory beyond what the config holds. Options structs list their fields once, for both directions,
// using fields.hint() for those that don't affect the elements:
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

using Blobs = std::map<std::string, std::string>;  // keyed by their SHA-256

class LinkWriter {
 public:
  // Large tensors are written to `blobs`, which must outlive the writer; if null, they are
  // represented by checksums. `hints`: whether to write values that don't affect the elements.
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
  // Writes a value that doesn't affect the elements, such as a number of threads; fingerprints omit
  // it.
  template <class T>
  LinkWriter& hint(const char* key, const T& value) {
    return hints_ ? (*this)(key, value) : *this;
  }
  // Writes an enumerator by its name; `names` lists those of all enumerators.
  template <class Enum>
  void choice(const char* key, Enum value, const std::vector<std::string>& names) {
    (*this)(key, names[static_cast<size_t>(value)]);
  }
  // Writes the fields of an options struct.
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

// Reads the tensors in blobs, each once.
class BlobReader {
 public:
  explicit BlobReader(const Blobs& blobs) : blobs_(blobs) {}
  // Throws DataLoss when there is no such blob, or when it isn't a tensor with that digest.
  const Tensor& at(const std::string& key);

 private:
  const Blobs& blobs_;
  std::map<std::string, Tensor> tensors_;
};

// All errors are InvalidArgument or DataLoss, and name the key.
class LinkReader {
 public:
  // `bytes`: the size of everything that was written.
  LinkReader(const Json& config, std::vector<NodePtr> inputs, BlobReader& blobs, size_t bytes)
      : config_(config), inputs_(std::move(inputs)), blobs_(blobs), bytes_(bytes) {}

  const NodePtr& input() const { return inputs_.front(); }
  const std::vector<NodePtr>& inputs() const { return inputs_; }

  // Whether the key was written, for options that are omitted when they have the default value.
  bool has(const char* key) const { return config_.contains(key); }

  // An upper bound for numbers that determine the size of an allocation.
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

// The fingerprint of a chain that may have links that can't be serialized, for which their
// descriptions are used instead.
struct PartialFingerprint {
  std::string digest;
  std::string left_out;  // those links: "map, generator"; empty if there are none
};
PartialFingerprint partial_fingerprint(const NodePtr& node);

// What a chain computes, for comparison with another process's chain: equal if the fingerprints
// are, even if files are in other directories. Copies no large tensor. Throws FailedPrecondition
// for a chain that is too long.
Json comparable_pipeline(const NodePtr& node);

// A kind of link.
struct LinkKind {
  size_t least_inputs;
  size_t most_inputs;
  NodePtr (*read)(LinkReader& link);
};

// All kinds by name, the built-in ones first. Custom links are added with
//   link_registry().add("my_transform", {1, 1, [](LinkReader& link) -> NodePtr { … }});
Registry<LinkKind>& link_registry();

}  // namespace cornu::data
