// SPDX-License-Identifier: Apache-2.0
// The objects of an HDF5 file, as described by its bytes. Sections refer to the "HDF5 File Format
// Specification", version 3.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "framework/saving/hdf5_bytes.h"

namespace cornu::hdf5 {

inline constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";  // a file's first bytes

// Types of header messages (IV.A.2).
enum class MessageType : uint16_t {
  Dataspace = 0x01,
  LinkInfo = 0x02,
  Datatype = 0x03,
  Link = 0x06,
  ExternalFiles = 0x07,
  Layout = 0x08,
  FilterPipeline = 0x0B,
  Attribute = 0x0C,
  Continuation = 0x10,
  SymbolTable = 0x11,
  AttributeInfo = 0x15,
};

struct Message {
  MessageType type;
  bool shared = false;  // stored elsewhere: the data is a reference
  std::vector<std::byte> data;
};

// An object header (IV.A.1): the complete description of a group or dataset.
struct Object {
  std::vector<Message> messages;

  const Message* find(MessageType type) const;
  // Throws DataLoss when it is missing, Unimplemented when it is stored elsewhere.
  const Message& at(MessageType type, std::string_view what) const;
  bool is_group() const;
  bool is_dataset() const;
};

// Checks the superblock (II.A) and returns the address of the root group's header.
uint64_t read_root_address(const Bytes& file);
Object read_object(const Bytes& file, uint64_t address);

// The target of a name in a group.
struct Link {
  bool hard = true;  // refers to an object in this file
  uint64_t address = kUndefined;
};
// Reads all links of a group, in either form. Reads count toward the budget.
std::map<std::string, Link> read_links(const Bytes& file, const Object& group, Budget& budget);

enum class TypeClass : uint8_t {
  Integer = 0,
  Float = 1,
  String = 3,
  Opaque = 5,
  Enum = 8,
  VariableLength = 9
};

// A datatype (IV.A.2.d), as far as Keras's files use it.
struct Datatype {
  TypeClass type_class = TypeClass::Integer;
  uint32_t size = 0;
  bool is_signed = false;   // for integers
  bool big_endian = false;  // for integers and floats
  bool is_text = false;     // for variable length: characters
  std::string form;         // for floats: positions of sign, exponent and fraction
  bool is_bool = false;     // for enumerations: h5py's FALSE and TRUE

  std::string to_string() const;
};
Datatype read_datatype(Cursor& cursor);

// The axes of a dataspace (IV.A.2.b).
struct Dataspace {
  Shape shape;
  std::vector<uint64_t> most = {};  // maximum sizes, kUndefined: unlimited; empty: the current ones
};
Dataspace read_dataspace(Cursor& cursor);

struct Attribute {
  Datatype type;
  Shape shape;
  std::vector<std::byte> data;
};
// Appends the attributes that an object stores in a heap to its messages. Reads count toward the
// budget.
void add_dense_attributes(const Bytes& file, Object& object, Budget& budget);
// Returns the attribute of this name among the messages; nullopt when there is none.
std::optional<Attribute> find_attribute(const Object& object, const std::string& name);

// Strings in global heaps (III.E), which elements of a variable-length type refer to. Each heap is
// read once; all heaps together can't be larger than the file.
class StringHeaps {
 public:
  explicit StringHeaps(const Bytes& file) : file_(file), blocks_(file) {}
  std::string read(std::span<const std::byte> element);

 private:
  struct Heap {
    std::vector<std::byte> bytes;
    std::map<uint32_t, std::span<const std::byte>> objects;
  };
  const Heap& heap_at(uint64_t address);

  const Bytes& file_;
  Blocks blocks_;
  std::map<uint64_t, Heap> heaps_;
};

// How the chunks of a dataset are located (IV.A.2.i, VII).
enum class ChunkIndex : uint8_t {
  OldTree = 0,  // in the earliest format; the others are numbered as in layouts
  Single = 1,
  Consecutive = 2,
  FixedArray = 3,
  ExtensibleArray = 4,
  NewTree = 5,
};

// Where a dataset's elements are stored (IV.A.2.i).
struct Layout {
  enum class Kind : uint8_t { Compact = 0, Contiguous = 1, Chunked = 2 };
  Kind kind = Kind::Contiguous;
  std::vector<std::byte> compact;  // within the header
  uint64_t address = kUndefined;   // of the elements, or of the chunk index
  uint64_t size = 0;               // unless chunked
  // For chunks:
  ChunkIndex index = ChunkIndex::OldTree;
  std::vector<uint64_t> chunk;  // the shape of a chunk
  uint64_t element_bytes = 0;
  bool edges_plain = false;  // chunks that extend past the end are unfiltered
  uint64_t single_stored = 0;
  uint32_t single_mask = 0;
};
Layout read_layout(const Object& dataset);

// Returns the dtype stored in this way, in either byte order; `named` is the attribute "dtype".
// Throws Unimplemented, describing the type, when there is none.
DType to_dtype(const Datatype& type, const std::string& named);

}  // namespace cornu::hdf5
