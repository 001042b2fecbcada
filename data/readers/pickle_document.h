// SPDX-License-Identifier: Apache-2.0
// The contents of a pickle. Internal to the readers.
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

// An array as it was pickled; converted to a tensor on demand.
struct PickledArray {
  bool complete = false;  // the other members are set
  NumpyType type;
  size_t shape = 0;  // index in lists: a tuple of integers
  bool fortran_order = false;
  PickleItem elements = {};  // Bytes; a List for objects
};

// Items are on the stack or in lists; values that don't fit into an item are in a table, by index.
struct PickleDocument {
  std::string name;
  std::span<const std::byte> file;
  std::shared_ptr<const void> owner;
  std::vector<std::string_view> texts;         // Bytes and Str: views into the file or `decoded`
  std::deque<std::string> decoded;             // texts that are encoded differently in the file
  std::vector<std::vector<PickleItem>> lists;  // List and Tuple; Dict: alternating keys and values
  std::vector<NumpyType> types;                // DType
  std::vector<PickledArray> arrays;            // Array
};

// The globals that a pickle may name.
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

// The shape of an array; throws DataLoss when its tuple isn't a valid shape.
Shape pickled_shape(const PickleDocument& document, const PickledArray& array);

}  // namespace cornu::data
