// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "framework/graph/open_axes.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

// The error text of one substitute, for the user: numbers that differ with the other substitute
// become None, but for those of names ("dense_1"). Unchanged where the two texts don't match.
std::string with_unknowns(const std::string& text, const std::string& other) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto number_at = [&](const std::string& from, size_t i) {
    size_t end = i;
    while (end < from.size() && is_digit(from[end])) ++end;
    return from.substr(i, end - i);
  };
  std::string result;
  size_t i = 0;
  size_t j = 0;
  while (i < text.size() && j < other.size()) {
    const std::string number = number_at(text, i);
    const std::string number_of_other = number_at(other, j);
    if (number.empty() != number_of_other.empty()) return text;
    if (number.empty()) {
      if (text[i] != other[j++]) return text;
      result += text[i++];
      continue;
    }
    const bool in_name =
        !result.empty() &&
        (result.back() == '_' || std::isalnum(static_cast<unsigned char>(result.back())));
    result += in_name || number == number_of_other ? number : "None";
    i += number.size();
    j += number_of_other.size();
  }
  return i == text.size() && j == other.size() ? result : text;
}

// The first one is the batch's, which nothing divides.
bool has_open_axis_behind_first(const TensorType& type) {
  return std::find(type.shape.begin() + std::min<int64_t>(type.shape.rank(), 1), type.shape.end(),
                   kUnknown) != type.shape.end();
}

class Inference;
thread_local const Inference* innermost = nullptr;

// One trace for types, on this thread.
class Inference {
 public:
  explicit Inference(int64_t size) : size_(size), outer_(innermost) { innermost = this; }
  ~Inference() { innermost = outer_; }
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  int64_t unknown_size() const {
    has_unknown_ = true;
    return size_;
  }
  // Whether somebody asked for one.
  bool has_unknown() const { return has_unknown_; }

 private:
  int64_t size_;
  const Inference* outer_;
  mutable bool has_unknown_ = false;
};

}  // namespace

std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  const TraceOptions options{.name = "shape inference"};
  StopRecordingScope quiet;
  bool known = std::all_of(inputs.begin(), inputs.end(),
                           [](const TensorType& type) { return type.shape.is_static(); });
  auto output_types = [&](int64_t size) {
    const Inference inference(size);
    const TracedGraph traced = trace(with_sizes(inputs, size), body, options);
    std::vector<TensorType> types;
    for (ValueId id : traced.graph.outputs) types.push_back(traced.graph.type(id));
    known = known && !inference.has_unknown();
    return types;
  };
  std::vector<TensorType> types;
  try {
    types = output_types(kSubstituteSizes[0]);
    if (known) return types;
  } catch (const Error& error) {
    if (known) throw;
    for (const auto& [size, other] : kMultipleSizes) {
      try {
        types = output_types(size);
        return open_where_different(std::move(types), output_types(other));
      } catch (const Error&) {  // NOLINT: the first one tells
      }
    }
    std::string text = error.what();
    try {
      output_types(kSubstituteSizes[1]);
    } catch (const Error& other) {
      text = with_unknowns(text, other.what());
    }
    std::rethrow_exception(error.with_text(text));
  }
  types = open_where_different(std::move(types), output_types(kSubstituteSizes[1]));
  if (std::ranges::none_of(inputs, has_open_axis_behind_first)) return types;
  try {
    return open_where_different(types, output_types(kDistantSize));
  } catch (const Error&) {
    return types;
  }
}

bool is_inferring_types() { return innermost != nullptr; }

int64_t unknown_size() {
  check<Internal>(innermost != nullptr, "unknown_size: nobody infers types.");
  return innermost->unknown_size();
}

}  // namespace cornu
