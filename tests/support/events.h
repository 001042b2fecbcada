// SPDX-License-Identifier: Apache-2.0
// Reads TensorBoard's event files independently: nothing of the code that writes them is used here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::test {

// The fields of a protobuf message by number, each with its values in order: varints and 8-byte
// fields as numbers, length-delimited fields as bytes.
struct Message {
  explicit Message(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t tag = varint(bytes);
      const auto field = static_cast<int>(tag >> 3);
      switch (tag & 7) {
        case 0:
          numbers[field].push_back(varint(bytes));
          break;
        case 1: {
          uint64_t number = 0;
          std::memcpy(&number, taken(bytes, 8).data(), 8);
          numbers[field].push_back(number);
          break;
        }
        case 2: {
          const uint64_t length = varint(bytes);
          texts[field].emplace_back(taken(bytes, length));
          break;
        }
        default:
          throw std::runtime_error("a field of another type");
      }
    }
  }

  uint64_t number(int field) const {
    return numbers.contains(field) ? numbers.at(field).back() : 0;
  }
  std::string text(int field) const { return texts.contains(field) ? texts.at(field).back() : ""; }
  std::vector<std::string> all(int field) const {
    return texts.contains(field) ? texts.at(field) : std::vector<std::string>();
  }
  Message message(int field) const { return Message(text(field)); }

  static std::string_view taken(std::string_view& bytes, uint64_t count) {
    if (count > bytes.size()) throw std::runtime_error("a message that is cut off");
    const std::string_view result = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return result;
  }
  static uint64_t varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(taken(bytes, 1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a varint that doesn't end");
  }

  std::map<int, std::vector<uint64_t>> numbers;
  std::map<int, std::vector<std::string>> texts;
};

// A tensorflow.Event with at most one summary value.
struct EventRead {
  double wall_time = 0;
  int64_t step = 0;
  std::string version = {};
  std::string graph = {};
  std::string tag = {};
  std::string plugin = {};
  std::string plugin_content = {};
  int data_class = 0;
  int dtype = 0;
  std::vector<int64_t> shape = {};
  std::string content = {};               // of numeric tensors
  std::vector<std::string> strings = {};  // of string tensors

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(content.size() / sizeof(T));
    std::memcpy(result.data(), content.data(), result.size() * sizeof(T));
    return result;
  }
  float scalar() const { return values<float>().at(0); }
};

inline EventRead event_of(std::string_view bytes) {
  const Message message(bytes);
  EventRead event;
  const uint64_t wall_time = message.number(1);
  std::memcpy(&event.wall_time, &wall_time, 8);
  event.step = static_cast<int64_t>(message.number(2));
  event.version = message.text(3);
  event.graph = message.text(4);
  const Message value = message.message(5).message(1);
  event.tag = value.text(1);
  event.plugin = value.message(9).message(1).text(1);
  event.plugin_content = value.message(9).message(1).text(2);
  event.data_class = static_cast<int>(value.message(9).number(4));
  const Message tensor = value.message(8);
  event.dtype = static_cast<int>(tensor.number(1));
  for (const std::string& dim : tensor.message(2).all(2)) {
    event.shape.push_back(static_cast<int64_t>(Message(dim).number(1)));
  }
  event.content = tensor.text(4);
  event.strings = tensor.all(8);
  return event;
}

// The masked checksum, computed bit by bit.
inline uint32_t masked_checksum(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

// Returns the events of a file. Throws when a record is truncated or has a wrong checksum.
inline std::vector<EventRead> read_events(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::vector<EventRead> events;
  for (std::string_view rest = all; !rest.empty();) {
    const auto checked = [&](uint64_t count) {
      const std::string_view bytes = Message::taken(rest, count);
      uint32_t crc = 0;
      std::memcpy(&crc, Message::taken(rest, 4).data(), 4);
      if (crc != masked_checksum(bytes)) throw std::runtime_error("a wrong checksum");
      return bytes;
    };
    uint64_t length = 0;
    std::memcpy(&length, checked(8).data(), 8);
    events.push_back(event_of(checked(length)));
  }
  return events;
}

// Returns the events of all files in a folder in the order in which they were written.
inline std::vector<EventRead> events_in(const std::string& folder) {
  std::vector<EventRead> events;
  if (!std::filesystem::exists(folder)) return events;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::vector<EventRead> more = read_events(entry.path().string());
    events.insert(events.end(), more.begin(), more.end());
  }
  std::stable_sort(events.begin(), events.end(), [](const EventRead& a, const EventRead& b) {
    return a.wall_time < b.wall_time;
  });
  return events;
}

}  // namespace cornu::test
