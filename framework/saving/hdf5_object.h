// SPDX-License-Identifier: Apache-2.0
// The objects of an HDF5 file, as its bytes describe them. The sections named are those of the
// "HDF5 File Format Specification", version 3.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "framework/saving/hdf5_bytes.h"

namespace cornu::hdf5 {

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

// An object header (IV.A.1): all there is to know about a group or dataset.
struct Object {
  std::vector<Message> messages;

  const Message* find(MessageType type) const;
  // DataLoss when it isn't there, Unimplemented when it is stored elsewhere.
  const Message& at(MessageType type, std::string_view what) const;
  bool is_group() const;
  bool is_dataset() const;
};

// Checks the superblock (II.A) and returns the address of the root group's header.
uint64_t read_root_address(const Bytes& file);
Object read_object(const Bytes& file, uint64_t address);

// Where a name in a group leads to.
struct Link {
  bool hard = true;  // to an object of this file
  uint64_t address = kUndefined;
};
// All links of a group, of either form. What is read for them is taken from the budget.
std::map<std::string, Link> read_links(const Bytes& file, const Object& group, Budget& budget);

enum class TypeClass : uint8_t {
  Integer = 0,
  Float = 1,
  String = 3,
  Opaque = 5,
  Enum = 8,
  VariableLength = 9
};

// A datatype (IV.A.2.d), as far as Keras's files need it.
struct Datatype {
  TypeClass type_class = TypeClass::Integer;
  uint32_t size = 0;
  bool is_signed = false;   // of integers
  bool big_endian = false;  // of integers and floats
  bool is_text = false;     // of variable length: characters
  std::string form;         // of floats: where sign, exponent and fraction lie
  bool is_bool = false;     // of enumerations: h5py's FALSE and TRUE

  std::string to_string() const;
};
Datatype read_datatype(Cursor& cursor);

// The axes of a dataspace (IV.A.2.b).
struct Dataspace {
  Shape shape;
  std::vector<uint64_t> most =
      {};  // what it may grow to, kUndefined without bound; empty: it can't
};
Dataspace read_dataspace(Cursor& cursor);

struct Attribute {
  Datatype type;
  Shape shape;
  std::vector<std::byte> data;
};
// Adds the attributes that an object keeps in a heap to its messages. What is read is taken from
// the budget.
void add_dense_attributes(const Bytes& file, Object& object, Budget& budget);
// The attribute of this name among the messages; None when there is none.
std::optional<Attribute> find_attribute(const Object& object, const std::string& name);

// Strings that elements of a variable-length type refer to, in global heaps (III.E). Each heap is
// read once; all of them together have no more bytes than the file.
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

// How the chunks of a dataset are found (IV.A.2.i, VII).
enum class ChunkIndex : uint8_t {
  OldTree = 0,  // of files in the earliest format; the others are numbered as in layouts
  Single = 1,
  Consecutive = 2,
  FixedArray = 3,
  ExtensibleArray = 4,
  NewTree = 5,
};

// Where a dataset's elements lie (IV.A.2.i).
struct Layout {
  enum class Kind : uint8_t { Compact = 0, Contiguous = 1, Chunked = 2 };
  Kind kind = Kind::Contiguous;
  std::vector<std::byte> compact;  // within the header
  uint64_t address = kUndefined;   // of the elements, or of the chunks' index
  uint64_t size = 0;               // unless in chunks
  // Of chunks:
  ChunkIndex index = ChunkIndex::OldTree;
  std::vector<uint64_t> chunk;  // its shape
  uint64_t element_bytes = 0;
  bool edges_plain = false;  // those that reach past the end went through no filter
  uint64_t single_stored = 0;
  uint32_t single_mask = 0;
};
Layout read_layout(const Object& dataset);

// The dtype whose elements are stored so, in either order of bytes; `named` is the attribute
// "dtype". Unimplemented, saying which type it is, when there is none.
DType to_dtype(const Datatype& type, const std::string& named);

}  // namespace cornu::hdf5
