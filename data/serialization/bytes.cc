// SPDX-License-Identifier: Apache-2.0
// The format of a serialized dataset as a single string:
//   "CORNUDS1", the SHA-256 of all that follows (64 digits), the pipeline, then the blobs.
// The pipeline and each blob are preceded by their lengths, 8 bytes in little-endian order.
#include "data/serialization.h"
#include "framework/core/error.h"
#include "framework/io/fuzzing.h"
#include "framework/io/hash.h"

namespace cornu::data {
namespace {

constexpr std::string_view kSerializedMagic = "CORNUDS1";
constexpr size_t kDigits = 64;
constexpr size_t kLengthBytes = 8;

std::string digest(std::string_view text) {
  return hash_of(std::as_bytes(std::span(text.data(), text.size())), HashAlgorithm::Sha256);
}

void put_part(std::string& bytes, std::string_view part) {
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>(uint64_t{part.size()} >> (8 * i) & 0xFF);
  }
  bytes += part;
}

std::string_view take_part(std::string_view& bytes) {
  constexpr const char* kCutOff =
      "a serialized dataset is cut off: expected {} bytes more, got {}.";
  check<DataLoss>(bytes.size() >= kLengthBytes, kCutOff, kLengthBytes, bytes.size());
  uint64_t size = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    size |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(kLengthBytes);
  check<DataLoss>(size <= bytes.size(), kCutOff, size, bytes.size());
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return part;
}

}  // namespace

std::string SerializedDataset::to_bytes() const {
  std::string parts;
  put_part(parts, pipeline);
  for (const auto& [key, blob] : blobs) put_part(parts, blob);
  return std::string(kSerializedMagic) + digest(parts) + parts;
}

SerializedDataset SerializedDataset::from_bytes(std::string_view bytes) {
  check<DataLoss>(
      bytes.starts_with(kSerializedMagic) && bytes.size() >= kSerializedMagic.size() + kDigits,
      "expected a serialized dataset, which begins with {}.", kSerializedMagic);
  const std::string_view digits = bytes.substr(kSerializedMagic.size(), kDigits);
  bytes.remove_prefix(kSerializedMagic.size() + kDigits);
  check<DataLoss>(!kChecksumsMatter || digest(bytes) == digits,
                  "a serialized dataset is damaged: its SHA-256 is another one.");
  SerializedDataset serialized;
  serialized.pipeline = take_part(bytes);
  while (!bytes.empty()) {
    const std::string_view blob = take_part(bytes);
    serialized.blobs.emplace(digest(blob), blob);
  }
  return serialized;
}

}  // namespace cornu::data
