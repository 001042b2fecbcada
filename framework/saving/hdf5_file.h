// SPDX-License-Identifier: Apache-2.0
// HDF5 files, in which Keras stores weights. Format: "HDF5 File Format Specification", version 3.0.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/io/archive.h"

namespace cornu {

// Paths are names separated by '/', starting from the root group, which is "" (or "/").

// The bytes of a file, as consecutive pieces.
struct Hdf5Image {
  std::vector<std::span<const std::byte>> pieces;
  std::any owner = {};  // keeps the bytes alive
  size_t size() const;
};

// Creates an HDF5 file in memory, in the form written by h5py: bool as an enumeration of FALSE and
// TRUE, bfloat16 as two opaque bytes with the attribute dtype = "bfloat16" (as in Keras), strings
// in UTF-8. Output is deterministic. Elements of large tensors are shared rather than copied; later
// writes to such a tensor go to a copy, as always. Uses the HDF5 library, one call at a time in the
// whole process; the library never accesses the disk (after a failed write it can't even shut down
// properly).
//
// Errors name the path: AlreadyExists if it is in use, InvalidArgument for an empty name in it,
// ResourceExhausted when out of memory.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;

  // Groups above `path` are created as needed.
  void make_group(const std::string& path);
  // Writes a tensor's elements, which must be on the host.
  void write(const std::string& path, const Tensor& tensor);
  // Adds an attribute to an existing group or dataset.
  void set_attribute(const std::string& path, const std::string& name, std::string_view value);
  void set_attribute(const std::string& path, const std::string& name, int64_t value);
  // Adds a list, in the form in which h5py writes a list of bytes: all have the length of the
  // longest. Throws InvalidArgument beyond kMaxInList bytes, which is Keras's limit (HDF5's is 64
  // KiB for a whole attribute).
  void set_attribute(const std::string& path, const std::string& name,
                     const std::vector<std::string>& values);
  static constexpr size_t kMaxInList = 64512;

  // Finishes the file and returns its bytes.
  Hdf5Image take();
  std::vector<std::byte> take_bytes();  // as a copy

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether the file exists and begins like an HDF5 file, whatever its name.
bool is_hdf5_file(const std::string& path);

// Reads untrusted HDF5 files, including damaged ones. The HDF5 library crashes or hangs on some of
// those, so this is an independent reader for everything that Keras, h5py and Hdf5Writer write
// (superblock versions 0 to 3, both forms of groups and attributes, all forms of datasets except
// virtual ones, the filters gzip, shuffle and fletcher32). It never opens other files, allocates no
// memory for a dataset before its shape has been checked, and needs at most memory for a chunk or
// two besides the elements.
//
// Errors name file and path: NotFound for anything missing, DataLoss for a damaged file or elements
// that were never written, ResourceExhausted for chunks of over 16 MiB that are larger than their
// dataset, Unimplemented for unsupported features: links to other places, data in other files,
// other filters and element types. Not thread-safe.
class Hdf5Reader {
 public:
  struct Dataset {
    Shape shape;
    DType dtype;
  };

  // Throws NotFound when the file doesn't exist, and DataLoss when it isn't a complete HDF5 file.
  static Hdf5Reader open(const std::string& path);
  // Opens a file that is part of another file, or in memory; `name` is its name in errors.
  static Hdf5Reader open(const FileRange& range, const std::string& name);
  static Hdf5Reader from_bytes(std::vector<std::byte> bytes, const std::string& name);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;

  // False when a name in the path doesn't exist; other errors as above.
  bool is_group(const std::string& path) const;
  bool is_dataset(const std::string& path) const;
  // Returns the names in a group, sorted bytewise ("0", "1", "10", "2") as in h5py.
  std::vector<std::string> children(const std::string& path) const;

  Dataset describe(const std::string& path) const;
  // Reads a dataset, which must have this shape (otherwise InvalidArgument), and converts it to
  // `dtype`: floats are rounded, other values must be representable (otherwise InvalidArgument).
  Tensor read(const std::string& path, const Shape& shape, DType dtype) const;
  // Throws what read() would throw, except for system failures. Allocates memory only, and
  // temporarily, if the elements themselves need to be checked.
  void verify(const std::string& path, const Shape& shape, DType dtype) const;
  // Total uncompressed size of all datasets in bytes, limited to what the file can hold.
  uint64_t bytes_of_datasets() const;

  // Return attributes of a group or dataset, or nullopt when there is none of this name. Throw
  // InvalidArgument when it isn't a single string or integer.
  std::optional<std::string> string_attribute(const std::string& path,
                                              const std::string& name) const;
  std::optional<int64_t> int_attribute(const std::string& path, const std::string& name) const;
  // Returns a list of strings, as written by h5py; empty for an attribute without elements,
  // whatever its type.
  std::optional<std::vector<std::string>> strings_attribute(const std::string& path,
                                                            const std::string& name) const;

 private:
  struct State;
  explicit Hdf5Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cornu
