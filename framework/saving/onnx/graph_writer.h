// SPDX-License-Identifier: Apache-2.0
// Writes graphs in ONNX's form, for the op mappings (mappings.h).
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/saving/onnx/lowering.h"
#include "framework/saving/onnx/onnx_proto.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx {

using Names = std::vector<std::string>;

// Returns the name unchanged. Throws InvalidArgument for a name that can't be written: readers
// expect UTF-8 without zeros.
const std::string& writable(const std::string& name);

// State shared by all graphs of a file: names, constants, and sizes computed at inference time. The
// latter two are in the main graph, where loop bodies and branches can access them.
class FileWriter {
 public:
  FileWriter(NamedConstants& constants, std::vector<OpenAxis> axes)
      : constants_(constants), axes_(std::move(axes)) {}

  ProtoGraph& graph() { return graph_; }
  NamedConstants& constants() { return constants_; }

  // Returns `wanted`, with a number appended if it is taken.
  std::string unique(const std::string& wanted);
  // Adds an initializer, once per tensor (small ones: once per value).
  std::string constant(const Tensor& value, const std::string& wanted = "constant");
  std::string integers(const std::vector<int64_t>& values);
  // Returns an int64 vector. `where` is for the error when a size doesn't follow an open axis in a
  // known way.
  std::string sizes(const Sizes& sizes, const std::string& where);
  // Whether sizes() can write it.
  bool can_write(const Size& size) const;
  // Declares an input or output of a graph.
  ProtoValue declared(const std::string& name, DType dtype, const Sizes& shape) const;
  // Registers a value of the main graph whose axes provide sizes from now on.
  void know(const std::string& name, const Sizes& shape);

  // factor * (product of open axes) + offset.
  struct Formula {
    int64_t factor = 1;
    std::vector<size_t> axes = {};
    int64_t offset = 0;
  };
  std::optional<Formula> formula_of(const Size& size) const;

 private:
  std::string size(const Size& size, const std::string& where);
  std::optional<std::pair<Size, Size>> factors_of(const Size& size) const;
  std::string written(const Formula& formula);
  std::string axis_of(const std::string& value, size_t axis);
  std::string add(const char* op, Names inputs, std::string attributes = {});

  NamedConstants& constants_;
  std::vector<OpenAxis> axes_;
  ProtoGraph graph_;
  std::set<std::string> names_;
  std::map<const void*, std::string> by_id_;
  std::map<std::string, std::string> by_value_;
  std::map<Size, std::string> sizes_;
  std::map<Sizes, std::string> size_lists_;
  std::map<Size, std::pair<std::string, size_t>> known_;
};

class NodeWriter;

// A single graph: the main graph, a loop body, or a branch.
class GraphWriter {
 public:
  GraphWriter(FileWriter& file, const Traces& traces, ProtoGraph& graph);

  FileWriter& file() { return file_; }
  const Traces& traces() const { return traces_; }
  ProtoGraph& graph() { return graph_; }

  // Sets the name of an input of this graph, or of a value it reads from outside.
  void bind(ValueId id, std::string name) { names_[static_cast<size_t>(id)] = std::move(name); }
  // Writes all nodes, then the outputs under these names ("": any), each produced by a separate
  // node.
  void write(const Names& output_names);
  void write_nodes();  // only the nodes, as part of another graph

  const std::string& name_of(ValueId id);
  // Returns the constant if the value is one and is the same in all traces.
  std::optional<Tensor> constant(ValueId id) const;
  // Returns the node that computes a value if it has no other reader; otherwise null.
  const Node* only_read_from(ValueId id) const;
  bool is_read(ValueId id) const { return uses_[static_cast<size_t>(id)] > 0; }
  ProtoNode& written_node(const std::string& output);

 private:
  friend class NodeWriter;
  std::string write_constant(size_t index);
  std::string of_open_axes(size_t index);
  std::string of_sizes(size_t index);
  std::string of_origin(size_t index);
  void write_node(size_t index);
  void add_output(ValueId id, const std::string& wanted);

  FileWriter& file_;
  Traces traces_;
  ProtoGraph& graph_;
  Names names_;   // by value; "": not written yet
  Names wanted_;  // by value: the name of an output
  std::vector<int32_t> producers_;
  std::vector<int32_t> uses_;
};

// A single node being written.
class NodeWriter {
 public:
  NodeWriter(GraphWriter& graph, size_t index)
      : graph_(graph), index_(index), node_(graph.traces().node(index)) {}

  GraphWriter& graph() { return graph_; }
  FileWriter& file() { return graph_.file(); }
  const Node& node() const { return node_; }
  std::string where() const;  // the layer and the op

  size_t inputs() const { return node_.inputs.size(); }
  const std::string& in(size_t i = 0) { return graph_.name_of(node_.inputs[i]); }
  Names all_in();
  Sizes shape(size_t i = 0) const { return graph_.traces().shape(node_.inputs[i]); }
  Sizes out_shape(size_t i = 0) const { return graph_.traces().shape(node_.outputs[i]); }
  int64_t rank(size_t i = 0) const { return static_cast<int64_t>(shape(i).size()); }
  DType dtype(size_t i = 0) const { return graph_.traces().dtype(node_.inputs[i]); }
  DType out_dtype(size_t i = 0) const { return graph_.traces().dtype(node_.outputs[i]); }
  std::optional<Tensor> constant(size_t i) const { return graph_.constant(node_.inputs[i]); }

  // Attributes; for integer() and fixed(), they must not depend on the sizes of open axes.
  bool flag(std::string_view name) const { return node_.attributes.get_bool(name); }
  Size size(std::string_view name) const { return graph_.traces().integer(index_, name); }
  int64_t integer(std::string_view name) const;
  std::vector<int64_t> fixed(std::string_view name) const;
  Sizes integers(std::string_view name) const { return graph_.traces().integers(index_, name); }
  Traces body(std::string_view name) const { return graph_.traces().graph(index_, name); }

  // Adds a node and returns its only output, or all of them.
  std::string add(const std::string& op, Names inputs, std::string attributes = {});
  Names add_many(const std::string& op, Names inputs, std::string attributes, size_t outputs);
  std::string cast(const std::string& value, DType from, DType to);
  std::string transpose(const std::string& value, const std::vector<int64_t>& order);
  std::string reversed(const std::string& value, const std::vector<int64_t>& axes);
  // Returns an input with its axes permuted; for a constant, a constant.
  std::string transposed(size_t i, const std::vector<int64_t>& order);
  // A scalar with the dtype of the first input.
  std::string scalar(double value) { return scalar(value, dtype()); }
  std::string scalar(double value, DType dtype);
  std::string integers_constant(const std::vector<int64_t>& values) {
    return file().integers(values);
  }
  std::string sizes(const Sizes& sizes) { return file().sizes(sizes, where()); }

  // Sets the name of an output.
  void give(const std::string& name, size_t output = 0);
  void give_all(const Names& names);
  // Throws Unimplemented, naming layer and op: `why` is a sentence without its period.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  GraphWriter& graph_;
  size_t index_;
  const Node& node_;
};

}  // namespace cornu::onnx
