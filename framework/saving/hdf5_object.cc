// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_object.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kHeader = "an object's header";
constexpr uint64_t kPrefix1 = 16;    // bytes before the messages in version 1, with padding
constexpr uint64_t kMaxPrefix = 34;  // as above for version 2, with all optional fields
constexpr uint64_t kMaxChunks = 4096;

// The sizes that follow the superblock: all addresses and lengths must have eight bytes.
void expect_wide(uint8_t offsets, uint8_t lengths) {
  check<Unimplemented>(offsets == 8 && lengths == 8,
                       "its addresses have {} bytes and its lengths {}; only 8 can be read.",
                       offsets, lengths);
}

void expect_complete(const Bytes& file, uint64_t base, uint64_t end) {
  check<Unimplemented>(base == 0, "it begins with a user block; only plain files can be read.");
  check<DataLoss>(end <= file.size(), "it is cut off: it says it has {} bytes, but has {}.", end,
                  file.size());
}

// Collects the messages of an object header's chunks.
class HeaderReader {
 public:
  explicit HeaderReader(const Bytes& file) : file_(file), blocks_(file) {}

  Object read(uint64_t address) {
    const auto prefix = file_.block(address, std::min(kMaxPrefix, rest(address)), kHeader);
    Cursor start(prefix, kHeader);
    if (prefix[0] == std::byte{1}) {
      read_version_1(address, start);
    } else {
      read_version_2(address, start);
    }
    for (size_t i = 0; i < chunks_.size(); ++i) {  // grows during the loop
      check<DataLoss>(i < kMaxChunks, "{} has more than {} parts.", kHeader, kMaxChunks);
      blocks_.add(chunks_[i].first, chunks_[i].second, kHeader);
      const auto block = file_.block(chunks_[i].first, chunks_[i].second, kHeader);
      Cursor chunk(block, kHeader);
      if (version_ == 1) {
        read_messages(chunk, 0);
      } else {
        verify_checksum(block, kHeader);
        chunk.expect("OCHK");
        read_messages(chunk, 4);
      }
    }
    return std::move(object_);
  }

 private:
  uint64_t rest(uint64_t address) const {
    check<DataLoss>(address < file_.size(),
                    "{} is said to be at byte {}, but the file has {} bytes.", kHeader, address,
                    file_.size());
    return file_.size() - address;
  }

  void read_version_1(uint64_t address, Cursor& start) {
    version_ = 1;
    start.skip(2);
    left_ = start.u16();
    start.skip(4);  // reference count
    const uint32_t size = start.u32();
    if (left_ > 0) chunks_.emplace_back(address + kPrefix1, size);
  }

  void read_version_2(uint64_t address, Cursor& start) {
    version_ = 2;
    start.expect("OHDR");
    start.version(2, 2);
    const uint8_t flags = start.u8();
    has_order_ = flags & 4;
    if (flags & 32) start.skip(16);  // times
    if (flags & 16) start.skip(4);   // attribute storage limits
    const uint64_t size = start.number(uint64_t{1} << (flags & 3));
    check<DataLoss>(size <= kMaxStructure, "{} is said to have {} bytes.", kHeader, size);
    const uint64_t begin = start.position();
    const auto block = file_.block(address, begin + size + 4, kHeader);
    verify_checksum(block, kHeader);
    Cursor messages(block, kHeader);
    messages.skip(begin);
    read_messages(messages, 4);
  }

  // Reads all messages, except for the last `tail` bytes.
  void read_messages(Cursor& cursor, size_t tail) {
    const size_t head = version_ == 1 ? 8 : has_order_ ? 6 : 4;
    while (cursor.left() >= tail + head && (version_ == 2 || left_ > 0)) {
      const uint16_t type = version_ == 1 ? cursor.u16() : cursor.u8();
      const uint16_t size = cursor.u16();
      const uint8_t flags = cursor.u8();
      cursor.skip(head - (version_ == 1 ? 5 : 4));
      check<DataLoss>(cursor.left() >= tail + size, "{} ends too early.", kHeader);
      const auto data = cursor.take(size);
      --left_;
      if (static_cast<MessageType>(type) == MessageType::Continuation) {
        Cursor where(data, kHeader);
        const uint64_t address = where.u64();
        chunks_.emplace_back(address, where.u64());
      } else {
        object_.messages.push_back(
            {static_cast<MessageType>(type), (flags & 2) != 0, {data.begin(), data.end()}});
      }
    }
  }

  const Bytes& file_;
  int version_ = 1;
  bool has_order_ = false;
  int64_t left_ = 0;                                   // remaining messages, in version 1
  std::vector<std::pair<uint64_t, uint64_t>> chunks_;  // address and size
  Blocks blocks_;
  Object object_;
};

}  // namespace

uint64_t read_root_address(const Bytes& file) {
  constexpr std::string_view kWhat = "its beginning";
  const auto begins_at = [&](uint64_t address) {
    if (file.size() < address + kSignature.size()) return false;
    const auto bytes = file.block(address, kSignature.size(), kWhat);
    return Cursor(bytes, kWhat).text(kSignature.size()) == kSignature;
  };
  if (!begins_at(0)) {
    for (uint64_t user = 512; user < file.size(); user *= 2) {
      check<Unimplemented>(!begins_at(user),
                           "it begins with a user block of {} bytes; only plain files can be read. "
                           "h5unjam takes it off.",
                           user);
    }
    raise<DataLoss>("it isn't an HDF5 file.");
  }
  const auto block = file.block(0, std::min<uint64_t>(file.size(), 96), kWhat);
  Cursor cursor(block, kWhat);
  cursor.skip(kSignature.size());
  const uint8_t version = cursor.version(0, 3);
  if (version >= 2) {
    const uint8_t offsets = cursor.u8();
    expect_wide(offsets, cursor.u8());
    cursor.skip(1);
    const uint64_t base = cursor.u64();
    cursor.skip(8);
    const uint64_t end = cursor.u64();
    const uint64_t root = cursor.u64();
    cursor.skip(4);
    verify_checksum(std::span(block).first(cursor.position()), kWhat);
    expect_complete(file, base, end);
    return root;
  }
  cursor.skip(4);
  const uint8_t offsets = cursor.u8();
  expect_wide(offsets, cursor.u8());
  cursor.skip(version == 0 ? 9 : 13);
  const uint64_t base = cursor.u64();
  cursor.skip(8);
  expect_complete(file, base, cursor.u64());
  cursor.skip(16);  // driver information, and the name in the root's symbol table entry
  return cursor.u64();
}

Object read_object(const Bytes& file, uint64_t address) { return HeaderReader(file).read(address); }

const Message* Object::find(MessageType type) const {
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [&](const Message& message) { return message.type == type; });
  return found == messages.end() ? nullptr : &*found;
}

const Message& Object::at(MessageType type, std::string_view what) const {
  const Message* message = find(type);
  check<DataLoss>(message != nullptr, "{} is missing.", what);
  check<Unimplemented>(!message->shared, "{} is stored elsewhere, which can't be read.", what);
  return *message;
}

bool Object::is_group() const {
  return find(MessageType::SymbolTable) || find(MessageType::LinkInfo) || find(MessageType::Link);
}

bool Object::is_dataset() const { return find(MessageType::Layout) != nullptr; }

}  // namespace cornu::hdf5
