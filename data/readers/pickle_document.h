// SPDX-License-Identifier: Apache-2.0
// What a pickle held. Internal to the readers.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/numpy_array.h"
#include "data/readers/pickle.h"

namespace cornu::data {

// An array as it was pickled; it becomes a tensor when it is asked for.
struct PickledArray {
  bool complete = false;  // the rest is there
  NumpyType type;
  size_t shape = 0;  // in lists: a tuple of integers
  bool fortran_order = false;
  PickleItem elements = {};  // Bytes; of objects, a List
};

// Items are in the stack or in lists; those that don't fit an item are in a table, by index.
struct PickleDocument {
  std::string name;
  std::span<const std::byte> file;
  std::shared_ptr<const void> owner;
  std::vector<std::string_view> texts;         // Bytes and Str: in the file, or decoded
  std::deque<std::string> decoded;             // those that are written otherwise in the file
  std::vector<std::vector<PickleItem>> lists;  // List and Tuple; Dict: keys and values in turn
  std::vector<NumpyType> types;                // DType
  std::vector<PickledArray> arrays;            // Array
};

// What a pickle may name.
enum class PickleGlobal : uint8_t {
  NdArray,
  DType,
  Reconstruct,
  Scalar,
  FromBuffer,
  Encode,
  Bytes
};
struct NamedGlobal {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};
inline constexpr std::array kPickleGlobals = {
    NamedGlobal{"numpy", "ndarray", PickleGlobal::NdArray},
    NamedGlobal{"numpy", "dtype", PickleGlobal::DType},
    NamedGlobal{"numpy.core.multiarray", "_reconstruct", PickleGlobal::Reconstruct},
    NamedGlobal{"numpy._core.multiarray", "_reconstruct", PickleGlobal::Reconstruct},
    NamedGlobal{"numpy.core.multiarray", "scalar", PickleGlobal::Scalar},
    NamedGlobal{"numpy._core.multiarray", "scalar", PickleGlobal::Scalar},
    NamedGlobal{"numpy.core.numeric", "_frombuffer", PickleGlobal::FromBuffer},
    NamedGlobal{"numpy._core.numeric", "_frombuffer", PickleGlobal::FromBuffer},
    NamedGlobal{"_codecs", "encode", PickleGlobal::Encode},
    NamedGlobal{"__builtin__", "bytes", PickleGlobal::Bytes},
    NamedGlobal{"builtins", "bytes", PickleGlobal::Bytes},
};

// The shape of an array; DataLoss when its tuple isn't one.
Shape pickled_shape(const PickleDocument& document, const PickledArray& array);

}  // namespace cornu::data
