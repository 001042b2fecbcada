// SPDX-License-Identifier: Apache-2.0
// The formats of model files, by file name ending: what `cornu convert` reads and writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace apps {

enum class Format { Keras, Weights, Hdf5, Json, Onnx };

struct FormatRow {
  Format format;
  std::string_view ending;
  bool reads;  // all formats can be written
  std::string_view about;
};

// To add a format, add a row here, a value of Format, and a case in each of the two functions in
// commands/convert.cc.
inline constexpr FormatRow kFormats[] = {
    {Format::Keras, ".keras", true,
     "a whole model: architecture, weights, compile arguments, optimizer"},
    {Format::Hdf5, ".h5", true, "the same in the form of Keras 2, which Keras calls legacy"},
    {Format::Hdf5, ".hdf5", true, "the same as .h5"},
    {Format::Weights, ".weights.h5", false, "weights alone; --weights reads them"},
    {Format::Json, ".json", true,
     "an architecture (model.to_json() in Keras), with fresh weights when it is read"},
    {Format::Onnx, ".onnx", true, "what predicts, with its weights, of and for other programs"},
};

// Returns null for any other ending.
inline const FormatRow* format_of(std::string_view path) {
  const FormatRow* found = nullptr;
  for (const FormatRow& row : kFormats) {
    const bool fits = path.ends_with(row.ending);
    if (fits && (!found || row.ending.size() > found->ending.size())) found = &row;
  }
  return found;
}

inline std::vector<std::string> endings() {
  std::vector<std::string> result;
  for (const FormatRow& row : kFormats) result.emplace_back(row.ending);
  return result;
}

}  // namespace apps
