// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample: serialized named lists of numbers or strings.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/element.h"

namespace cornu::data {

class LinkWriter;

// The features to extract from examples. dtypes are int64, float32 and string.

// Values of a fixed shape. Without a default_value (a scalar, or of that shape), every example must
// have them.
struct FixedLenFeature {
  Shape shape;
  DTypeLike dtype;
  Tensor default_value = {};
};

// A variable number of values. They are returned as dense tensors, not as tf.SparseTensor: (values)
// for a single example, (examples, max values) for several, padded at the end with 0 or "".
struct VarLenFeature {
  DTypeLike dtype;
};

// A variable number of rows of one shape: (rows, shape…) for a single example, (examples, max rows,
// shape…) for several, padded with default_value (a scalar), or 0 or "" by default. In
// parse_single_sequence_example and parse_sequence_example, there is one row per step.
struct FixedLenSequenceFeature {
  Shape shape;
  DTypeLike dtype;
  bool allow_missing = false;  // an example without the feature has no rows
  Tensor default_value = {};
};

using Feature = std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature>;
using Features = std::vector<std::pair<std::string, Feature>>;

// Parses serialized tf.train.Examples into dictionaries of tensors, in the order of the features.
// Other features in the examples are skipped. The functions below construct a parser in each call;
// mapping a parser directly is faster:
//
//   auto parser = data::ExampleParser({{"image", data::FixedLenFeature{{28, 28}, "float32"}},
//                                      {"label", data::FixedLenFeature{{}, "int64"}}});
//   auto dataset = data::TFRecordDataset(paths).batch(64).map(parser);
//
// For a string scalar it returns the result of parse_single_example, for a vector that of
// parse_example, and for tensors of higher rank, results with as many leading axes. Throws
// InvalidArgument, naming the key, when an example lacks a feature without a default or has values
// of another type or number; DataLoss, naming the key and the offset, for malformed bytes. Copies
// share state; thread-safe. Parsing batches is several times faster than parsing single examples: a
// map whose parser has only FixedLenFeatures and which is followed by batch() runs on batches.
class ExampleParser {
 public:
  // Throws InvalidArgument when there are no features, and for duplicate names, other dtypes and
  // unsuitable defaults.
  explicit ExampleParser(const Features& features);
  Element operator()(const Tensor& serialized) const;
  void write(LinkWriter& link) const;  // makes maps with it serializable
  // Whether all features have a fixed length, so that parsing a batch is the same as parsing each
  // example.
  bool works_on_batches() const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

// `serialized`: string (examples). Reference: tf.io.parse_example.
Element parse_example(const Tensor& serialized, const Features& features);
// `serialized`: string (). Reference: tf.io.parse_single_example.
Element parse_single_example(const Tensor& serialized, const Features& features);
// Parses a serialized SequenceExample, string (), into a pair: the context features, and the
// features of the lists, which have a row for each step (VarLenFeature: (steps, max values),
// padded; FixedLenFeature isn't allowed there and throws InvalidArgument). If one of the two is
// empty, returns only the other. Reference: tf.io.parse_single_sequence_example.
Element parse_single_sequence_example(const Tensor& serialized, const Features& context_features,
                                      const Features& sequence_features);

// Parses serialized SequenceExamples, string (examples), into a triple: the context features, as
// returned by parse_example; the features of the lists, (examples, max steps, shape…), padded after
// an example's steps with default_value, 0 or "" (VarLenFeature: (examples, max steps, max
// values)); and the number of steps of each example, int64 (examples), by list. (The third result
// of tf.io has no lengths for VarLenFeatures, which are sparse there.) An empty part is omitted, as
// are the lengths when there are no lists. Throws the same errors as ExampleParser. Reference:
// tf.io.parse_sequence_example.
Element parse_sequence_example(const Tensor& serialized, const Features& context_features,
                               const Features& sequence_features);

// Builds an example: integers and bools of any type are stored as int64, floating-point numbers as
// float32. Tensors may have any shape, which isn't stored.
//
//   writer.write(data::Example({{"label", 3}, {"image", Tensor::scalar(bytes)}}).serialize());
class Example {
 public:
  using Named = std::pair<std::string, Tensor>;

  Example() = default;
  Example(std::initializer_list<Named> features);
  Example& set(const std::string& name, const Tensor& values);  // replaces earlier values
  std::string serialize() const;

 private:
  std::vector<Named> features_;
};

// Builds a tf.train.SequenceExample: a context, and lists with a tensor for each step.
class SequenceExample {
 public:
  SequenceExample& set_context(const std::string& name, const Tensor& values);
  SequenceExample& set_list(const std::string& name, const std::vector<Tensor>& steps);
  std::string serialize() const;

 private:
  std::vector<std::pair<std::string, Tensor>> context_;
  std::vector<std::pair<std::string, std::vector<Tensor>>> lists_;
};

}  // namespace cornu::data
