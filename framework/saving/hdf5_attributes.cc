// SPDX-License-Identifier: Apache-2.0
// Attributes: messages in an object's header or, if there are many or large ones, in a fractal
// heap.
#include "framework/core/error.h"
#include "framework/saving/hdf5_heap.h"
#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kAttribute = "an attribute";
constexpr std::string_view kAttributes = "an object's attributes";
constexpr std::string_view kStringHeap = "a heap of strings";
constexpr uint64_t kHeapHead = 16;

// IV.A.2.m. Returns nullopt for an attribute with another name.
std::optional<Attribute> read_attribute(std::span<const std::byte> message,
                                        const std::string& name) {
  Cursor cursor(message, kAttribute);
  const uint8_t version = cursor.version(1, 3);
  const uint8_t flags = cursor.u8();
  check<Unimplemented>(version == 1 || flags == 0, "{} has a shared type, which can't be read.",
                       kAttribute);
  const uint16_t name_size = cursor.u16();
  const uint16_t type_size = cursor.u16();
  const uint16_t space_size = cursor.u16();
  if (version == 3) cursor.skip(1);  // character set
  const auto part = [&](uint16_t size) {
    const auto bytes = cursor.take(size);
    if (version == 1) cursor.skip((8 - size % 8) % 8);
    return bytes;
  };
  Cursor stored_name(part(name_size), kAttribute);
  if (stored_name.text_to_zero() != name) return std::nullopt;
  Cursor type(part(type_size), kAttribute);
  Cursor space(part(space_size), kAttribute);
  Attribute attribute;
  attribute.type = read_datatype(type);
  attribute.shape = read_dataspace(space).shape;
  const auto data = cursor.take(cursor.left());
  attribute.data.assign(data.begin(), data.end());
  return attribute;
}

}  // namespace

// IV.A.2.v
void add_dense_attributes(const Bytes& file, Object& object, Budget& budget) {
  const Message* info = object.find(MessageType::AttributeInfo);
  if (!info) return;
  Cursor cursor(info->data, kAttributes);
  cursor.version(0, 0);
  if (cursor.u8() & 1) cursor.skip(2);  // maximum creation order
  const uint64_t heap_address = cursor.u64();
  const uint64_t index_address = cursor.u64();
  if (heap_address == kUndefined) return;
  FractalHeap heap(file, heap_address, budget);
  for_each_record(
      file, index_address, RecordType::AttributeNames, &budget,
      [&](std::span<const std::byte> record) {
        constexpr uint64_t kRest = 1 + 4 + 4;  // flags, creation order and hash
        constexpr uint8_t kShared = 2;
        check<DataLoss>(record.size() > kRest, "{} are damaged.", kAttributes);
        Cursor parts(record, kAttributes);
        const auto id = parts.take(record.size() - kRest);
        const bool shared = parts.u8() & kShared;
        const auto found = heap.object(id);
        budget.take(found.size());
        object.messages.push_back({MessageType::Attribute, shared, {found.begin(), found.end()}});
      });
}

std::optional<Attribute> find_attribute(const Object& object, const std::string& name) {
  for (const Message& message : object.messages) {
    if (message.type != MessageType::Attribute) continue;
    check<Unimplemented>(!message.shared, "{} is stored elsewhere, which can't be read.",
                         kAttribute);
    if (auto found = read_attribute(message.data, name)) return found;
  }
  return std::nullopt;
}

const StringHeaps::Heap& StringHeaps::heap_at(uint64_t address) {
  if (const auto found = heaps_.find(address); found != heaps_.end()) return found->second;
  const auto head_bytes = file_.block(address, kHeapHead, kStringHeap);
  Cursor head(head_bytes, kStringHeap);
  head.expect("GCOL");
  head.version(1, 1);
  head.skip(3);
  const uint64_t size = head.u64();
  blocks_.add(address, size, kStringHeap);
  Heap& heap = heaps_[address];
  heap.bytes = file_.block(address, size, kStringHeap);
  Cursor cursor(heap.bytes, kStringHeap);
  cursor.skip(kHeapHead);
  while (cursor.left() >= kHeapHead) {
    const uint16_t index = cursor.u16();
    cursor.skip(6);  // reference count, reserved
    const uint64_t object_size = cursor.u64();
    if (index == 0) break;  // free space
    heap.objects.emplace(index, cursor.take(object_size));
    if (cursor.left() > 0) cursor.align(8);
  }
  return heap;
}

std::string StringHeaps::read(std::span<const std::byte> element) {
  Cursor reference(element, kStringHeap);
  const uint32_t size = reference.u32();
  const uint64_t address = reference.u64();
  const uint32_t wanted = reference.u32();
  if (size == 0) return {};
  const Heap& heap = heap_at(address);
  const auto found = heap.objects.find(wanted);
  check<DataLoss>(found != heap.objects.end(), "{} doesn't have the string that is looked for.",
                  kStringHeap);
  check<DataLoss>(size <= found->second.size(), "{} has a string that is too short.", kStringHeap);
  return Cursor(found->second, kStringHeap).text(size);
}

}  // namespace cornu::hdf5
