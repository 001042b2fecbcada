// SPDX-License-Identifier: Apache-2.0
// HDF5 files: what Keras keeps weights in. Format: "HDF5 File Format Specification", version 3.0.
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

// Paths are names joined by '/', from the root group, which is "" (or "/").

// A file's bytes, as pieces that follow each other.
struct Hdf5Image {
  std::vector<std::span<const std::byte>> pieces;
  std::any owner = {};  // of the bytes
  size_t size() const;
};

// Makes an HDF5 file in memory, as h5py writes it: bool as an enumeration of FALSE and TRUE,
// bfloat16 as two opaque bytes with the attribute dtype = "bfloat16" (as Keras), strings in UTF-8.
// The same calls give the same bytes. Elements of large tensors stay where they are, and shared
// with them: what is written to such a tensor later goes to a copy, as always. Works through the
// HDF5 library, one call at a time in the whole process; the library never touches the disk (after
// a failed write it can't even end properly).
//
// Errors name the path: AlreadyExists for one in use, InvalidArgument for one with an empty name,
// ResourceExhausted when there is no memory.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;

  // Groups above `path` are made as needed.
  void make_group(const std::string& path);
  // Writes a tensor's elements; they must lie on the host.
  void write(const std::string& path, const Tensor& tensor);
  // Adds an attribute to a group or dataset that was made before.
  void set_attribute(const std::string& path, const std::string& name, std::string_view value);
  void set_attribute(const std::string& path, const std::string& name, int64_t value);
  // A list, as h5py writes one of bytes: all have the longest one's length. It has at most
  // kMostInList bytes, which is Keras's limit (HDF5's is 64 KiB for all of an attribute):
  // InvalidArgument.
  void set_attribute(const std::string& path, const std::string& name,
                     const std::vector<std::string>& values);
  static constexpr size_t kMostInList = 64512;

  // Ends the file and gives its bytes.
  Hdf5Image take();
  std::vector<std::byte> take_bytes();  // copied

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads HDF5 files that anybody may have written, damaged ones included: the library crashes or
// hangs on some of those, so this is a reader of its own for what Keras, h5py and Hdf5Writer write
// (superblock versions 0 to 3, both forms of groups and attributes, all forms of datasets but
// virtual ones, the filters gzip, shuffle and fletcher32). Nothing but the file is ever opened, no
// memory is taken for a dataset before its shape was compared, and beside the elements none but for
// a chunk or two.
//
// Errors name file and path: NotFound for what isn't there, DataLoss for a damaged file or elements
// that were never written, ResourceExhausted for chunks of over 16 MiB that are larger than their
// dataset, Unimplemented for what is refused: links to other places, other files' data, other
// filters and element types. Not thread-safe.
class Hdf5Reader {
 public:
  struct Dataset {
    Shape shape;
    DType dtype;
  };

  // NotFound when there is no such file, DataLoss when it isn't a complete HDF5 file.
  static Hdf5Reader open(const std::string& path);
  // A file that is part of another one, or in memory; `name` is what errors call it.
  static Hdf5Reader open(const FileRange& range, const std::string& name);
  static Hdf5Reader from_bytes(std::vector<std::byte> bytes, const std::string& name);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;

  // False when a name on the way isn't there; errors as above.
  bool is_group(const std::string& path) const;
  bool is_dataset(const std::string& path) const;
  // The names in a group, sorted by their bytes ("0", "1", "10", "2"), as h5py lists them.
  std::vector<std::string> children(const std::string& path) const;

  Dataset describe(const std::string& path) const;
  // A dataset of this shape (InvalidArgument otherwise), converted to `dtype`: floats are rounded,
  // all others must be the same number there (InvalidArgument otherwise).
  Tensor read(const std::string& path, const Shape& shape, DType dtype) const;
  // Throws what read() would throw, unless the system fails. Takes memory only where the elements
  // themselves must be looked at, for that long.
  void verify(const std::string& path, const Shape& shape, DType dtype) const;
  // How many bytes all datasets have, unpacked: no more than the file can hold.
  uint64_t bytes_of_datasets() const;

  // Attributes of a group or dataset; None when there is none of this name. InvalidArgument when it
  // is something else than a single string, or integer.
  std::optional<std::string> string_attribute(const std::string& path,
                                              const std::string& name) const;
  std::optional<int64_t> int_attribute(const std::string& path, const std::string& name) const;
  // One of a list of strings, as h5py writes them; of no elements, whatever their type.
  std::optional<std::vector<std::string>> strings_attribute(const std::string& path,
                                                            const std::string& name) const;

 private:
  struct State;
  explicit Hdf5Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cornu
