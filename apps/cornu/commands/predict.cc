// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "apps/cornu/commands/commands.h"
#include "apps/cornu/commands/data.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/console.h"

namespace apps {
namespace {

using cornu::check;
using cornu::InvalidArgument;
using cornu::Tensor;
using cornu::Tensors;

constexpr size_t kMaxNames = size_t{16} << 20;  // maximum size of a file of class names

// Pictures are processed in parts, so that they needn't all be in memory.
Tensors predictions_of(cornu::Model& model, const Inputs& inputs, int64_t batch_size) {
  const bool in_parts = !inputs.names().empty();
  const int64_t part = in_parts ? batch_size : std::max<int64_t>(inputs.size(), 1);
  std::vector<std::vector<Tensor>> outputs;
  Tensors last;
  for (int64_t begin = 0; begin == 0 || begin < inputs.size(); begin += part) {
    last =
        model.predict(inputs.rows(begin, begin + part), {.batch_size = batch_size, .verbose = 0});
    outputs.resize(last.size());
    for (size_t i = 0; i < last.size(); ++i) outputs[i].push_back(last[i]);
  }
  std::vector<Tensor> whole;
  for (const std::vector<Tensor>& parts : outputs) {
    whole.push_back(parts.size() == 1 ? parts[0] : cornu::ops::concatenate(parts, 0));
  }
  return last.with(std::move(whole));
}

// ---- CSV ----

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

// A type that can represent all values of a dtype.
cornu::DType csv_dtype(cornu::DType dtype) {
  if (dtype == cornu::DType::Float64 || dtype == cornu::DType::UInt64) return dtype;
  return cornu::is_floating(dtype) ? cornu::DType::Float32 : cornu::DType::Int64;
}

// The values of an output, row by row, in the shortest form that reads back equal.
class CsvColumns {
 public:
  CsvColumns(const std::string& name, const Tensor& output) : name_(csv_field(name)) {
    rows_ = output.dim(0);
    width_ = rows_ == 0 ? 1 : output.num_elements() / rows_;
    values_ = cornu::ops::cast(output, csv_dtype(output.dtype()));
  }
  int64_t rows() const { return rows_; }
  void append_header(std::string& text) const {
    for (int64_t i = 0; i < width_; ++i) {
      text += width_ == 1 ? name_ + "," : fmt::format("{}_{},", name_, i);
    }
  }
  void append_row(std::string& text, int64_t row) const {
    switch (values_.dtype()) {
      case cornu::DType::Float64:
        return append_values<double>(text, row);
      case cornu::DType::UInt64:
        return append_values<uint64_t>(text, row);
      case cornu::DType::Int64:
        return append_values<int64_t>(text, row);
      default:
        return append_values<float>(text, row);
    }
  }

 private:
  template <class T>
  void append_values(std::string& text, int64_t row) const {
    const auto width = static_cast<size_t>(width_);
    for (const T value : values_.data<T>().subspan(static_cast<size_t>(row) * width, width)) {
      text += fmt::format("{},", value);
    }
  }

  std::string name_;
  int64_t rows_ = 0;
  int64_t width_ = 1;
  Tensor values_;
};

std::string csv_of(const Tensors& outputs, const std::vector<std::string>& names,
                   const std::vector<std::string>& files) {
  std::vector<CsvColumns> columns;
  for (size_t i = 0; i < outputs.size(); ++i) {
    columns.emplace_back(names[i], outputs[i]);
    check<InvalidArgument>(
        columns[i].rows() == columns[0].rows(),
        "The model's output '{}' has {} rows, '{}' has {}, which can't be columns "
        "of one table. Write an archive (--output p.npz).",
        names[0], columns[0].rows(), names[i], columns[i].rows());
  }
  std::string text = files.empty() ? "" : "file,";
  for (const CsvColumns& column : columns) column.append_header(text);
  text.back() = '\n';
  for (int64_t row = 0; row < columns.front().rows(); ++row) {
    if (!files.empty()) text += csv_field(files[static_cast<size_t>(row)]) + ",";
    for (const CsvColumns& column : columns) column.append_row(text, row);
    text.back() = '\n';
  }
  return text;
}

// ---- classes ----

std::vector<std::string> lines_of(const std::string& path) {
  const std::vector<std::byte> bytes = cornu::read_file(path, kMaxNames);
  std::istringstream text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

using Scores = std::vector<std::pair<std::string, double>>;

std::vector<Scores> imagenet_scores(const Tensor& output, int64_t top) {
  constexpr int64_t kClasses = 1000;
  check<InvalidArgument>(output.rank() == 2 && output.dim(1) == kClasses,
                         "--top without --classes prints the names of ImageNet's {} classes; the "
                         "model's output is {}. Give a file with its classes' names: --classes.",
                         kClasses, output.shape());
  std::vector<Scores> result;
  for (const auto& example : cornu::applications::imagenet_utils::decode_predictions(output, top)) {
    Scores& scores = result.emplace_back();
    for (const auto& prediction : example) scores.emplace_back(prediction.name, prediction.score);
  }
  return result;
}

std::vector<Scores> named_scores(const Tensor& output, const std::vector<std::string>& names,
                                 const std::string& file, int64_t top) {
  check<InvalidArgument>(output.rank() == 2 && output.dim(1) == static_cast<int64_t>(names.size()),
                         "'{}' names {} classes, a line each; the model's output is {}. Expected "
                         "(examples, classes).",
                         file, names.size(), output.shape());
  const Tensor values = cornu::ops::cast(output, cornu::DType::Float32);
  const std::span<const float> all = values.data<float>();
  const size_t count = std::min(static_cast<size_t>(top), names.size());
  std::vector<Scores> result;
  for (size_t row = 0; row * names.size() < all.size(); ++row) {
    const auto scores = all.subspan(row * names.size(), names.size());
    std::vector<size_t> order(names.size());
    std::iota(order.begin(), order.end(), size_t{0});
    // NaN comes last.
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return scores[a] > scores[b] || (std::isnan(scores[b]) && !std::isnan(scores[a]));
    });
    Scores& best = result.emplace_back();
    for (size_t i = 0; i < count; ++i) best.emplace_back(names[order[i]], scores[order[i]]);
  }
  return result;
}

void print_classes(const Tensors& outputs, const PredictArguments& arguments,
                   const std::vector<std::string>& files) {
  const Tensor& output = outputs.single();
  const std::vector<Scores> scores =
      arguments.classes.empty()
          ? imagenet_scores(output, arguments.top)
          : named_scores(output, lines_of(arguments.classes), arguments.classes, arguments.top);
  std::string text;
  for (size_t row = 0; row < scores.size(); ++row) {
    text +=
        files.empty() ? fmt::format("example {}:", row) : cornu::printable(files[row], 1000) + ":";
    for (const auto& [name, score] : scores[row]) text += fmt::format(" {} {:.4f}", name, score);
    text += '\n';
  }
  cornu::console::write(text);
}

void write(const Tensors& outputs, const std::vector<std::string>& names, const std::string& path,
           const std::vector<std::string>& files) {
  if (path.ends_with(".csv")) {
    return cornu::write_file_atomically(path, std::string_view(csv_of(outputs, names, files)));
  }
  if (path.ends_with(".npy")) return cornu::data::save_npy(path, outputs.single());
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < outputs.size(); ++i) named.emplace_back(names[i], outputs[i]);
  cornu::data::savez(path, Tensors::named(std::move(named)));
}

}  // namespace

void predict(const PredictArguments& arguments) {
  require_other_file(arguments.output, arguments.model);
  cornu::Model model = open_trained_model(arguments.model);
  const Inputs inputs(model, arguments.x, arguments.pictures);
  for (const std::string& file : inputs.files()) require_other_file(arguments.output, file);
  const Tensors outputs = predictions_of(model, inputs, arguments.batch_size);
  const std::vector<std::string> names = output_names(model, outputs.size());
  check<InvalidArgument>(outputs.size() == 1 || !arguments.output.ends_with(".npy"),
                         "The model has {} outputs ({}), and '{}' can hold one array. Write an "
                         "archive (.npz).",
                         outputs.size(), cornu::join(names, ", "), arguments.output);
  // A model may produce several rows per picture, which have no names.
  std::vector<std::string> files = inputs.names();
  const Tensor& first = outputs[0];
  if (first.rank() == 0 || first.dim(0) != static_cast<int64_t>(files.size())) files.clear();
  if (arguments.top > 0) print_classes(outputs, arguments, files);
  if (!arguments.output.empty()) {
    write(outputs, names, arguments.output, files);
  } else if (arguments.top == 0) {
    cornu::console::write(csv_of(outputs, names, files));
  }
}

}  // namespace apps
