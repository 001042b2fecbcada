// SPDX-License-Identifier: Apache-2.0
#include "data/readers/wav.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint16_t kIntegers = 1;
constexpr uint16_t kFloats = 3;
constexpr uint16_t kExtensible = 0xFFFE;  // the actual format follows
constexpr size_t kChunkHeader = 8;
constexpr double kScale16 = 32768;

// Numbers in WAV files are little-endian.
template <class T>
T number_at(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Format {
  uint16_t kind = 0;  // 0: not read yet
  uint16_t channels = 0;
  uint32_t rate = 0;
  uint16_t bits = 0;
  size_t frame() const { return size_t{channels} * (bits / 8); }
};

bool is_known(const Format& format) {
  const auto bits = format.bits;
  if (format.kind == kIntegers) return bits == 8 || bits == 16 || bits == 24 || bits == 32;
  return format.kind == kFloats && (bits == 32 || bits == 64);
}

Format read_format(Bytes chunk, size_t at, const std::string& name) {
  check<DataLoss>(chunk.size() >= 16,
                  "{}: not a WAV file: at byte {}, expected a format of at least 16 bytes, got {}.",
                  name, at, chunk.size());
  Format format{number_at<uint16_t>(chunk, 0), number_at<uint16_t>(chunk, 2),
                number_at<uint32_t>(chunk, 4), number_at<uint16_t>(chunk, 14)};
  if (format.kind == kExtensible && chunk.size() >= 26)
    format.kind = number_at<uint16_t>(chunk, 24);
  check<Unimplemented>(is_known(format),
                       "{}: expected integers of 8, 16, 24 or 32 bits, or floats of 32 or 64, got "
                       "format {} of {} bits. Convert it to 16-bit PCM.",
                       name, format.kind, format.bits);
  check<DataLoss>(format.channels > 0 && format.rate > 0 && format.rate <= INT32_MAX,
                  "{}: at byte {}, expected channels and a sample rate, got {} and {}.", name, at,
                  format.channels, format.rate);
  return format;
}

float sample_at(Bytes data, size_t at, const Format& format) {
  if (format.kind == kFloats) {
    return format.bits == 32 ? number_at<float>(data, at)
                             : static_cast<float>(number_at<double>(data, at));
  }
  switch (format.bits) {
    case 8:  // the only unsigned ones
      return static_cast<float>(number_at<uint8_t>(data, at) - 128) / 128;
    case 16:
      return static_cast<float>(number_at<int16_t>(data, at) / kScale16);
    case 24: {
      const auto low = uint32_t{number_at<uint16_t>(data, at)};
      return static_cast<float>(number_at<int8_t>(data, at + 2) * 65536 + static_cast<int>(low)) /
             8388608;
    }
    default:
      return static_cast<float>(number_at<int32_t>(data, at) / 2147483648.0);
  }
}

Audio samples_of(Bytes data, const Format& format, const DecodeWavOptions& options) {
  const auto in_file = static_cast<int64_t>(data.size() / format.frame());
  const int64_t wanted = options.desired_samples.value_or(in_file);
  Tensor samples = Tensor::empty({wanted, int64_t{format.channels}}, DType::Float32);
  const std::span<float> out = samples.mutable_data<float>();
  const auto read = static_cast<size_t>(std::min(in_file, wanted)) * format.channels;
  const size_t width = format.bits / 8;
  for (size_t i = 0; i < read; ++i) out[i] = sample_at(data, i * width, format);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(read), out.end(), 0.0f);
  return {samples, int64_t{format.rate}};
}

}  // namespace

Audio decode_wav(std::span<const std::byte> file, const std::string& name,
                 const DecodeWavOptions& options) {
  check<InvalidArgument>(options.desired_samples.value_or(0) >= 0,
                         "{}: expected desired_samples of at least 0, got {}.", name,
                         options.desired_samples.value_or(0));
  const bool begins = file.size() >= 12 && std::memcmp(file.data(), "RIFF", 4) == 0 &&
                      std::memcmp(file.data() + 8, "WAVE", 4) == 0;
  check<DataLoss>(begins, "{}: not a WAV file: expected it to begin with RIFF and WAVE.", name);
  Format format;
  for (size_t at = 12; at + kChunkHeader <= file.size();) {
    const size_t begin = at + kChunkHeader;
    const size_t size = number_at<uint32_t>(file, at + 4);
    check<DataLoss>(size <= file.size() - begin,
                    "{}: truncated at byte {}: its part at byte {} has {} bytes.", name,
                    file.size(), at, size);
    const Bytes chunk = file.subspan(begin, size);
    if (std::memcmp(file.data() + at, "fmt ", 4) == 0) format = read_format(chunk, begin, name);
    if (std::memcmp(file.data() + at, "data", 4) == 0) {
      check<DataLoss>(format.kind != 0, "{}: at byte {}, expected a format before the samples.",
                      name, at);
      return samples_of(chunk, format, options);
    }
    at = begin + size + size % 2;
  }
  raise<DataLoss>("{}: truncated at byte {}: expected samples.", name, file.size());
}

Audio load_wav(const std::filesystem::path& path, const DecodeWavOptions& options) {
  const auto file = read_whole_file(path);
  return decode_wav({file->data(), file->bytes()}, path.string(), options);
}

void save_wav(const std::filesystem::path& path, const Tensor& samples, int64_t sample_rate) {
  constexpr int64_t kHeader = 44;
  constexpr int64_t kMaxBytes = int64_t{UINT32_MAX} - kHeader;
  const Shape& shape = samples.shape();
  check<InvalidArgument>(
      samples.dtype() == DType::Float32 && shape.rank() == 2 && shape[1] > 0 && shape[1] <= 65535,
      "save_wav: expected float32 (samples, channels), got {} {}.", samples.dtype(), shape);
  check<InvalidArgument>(sample_rate > 0 && sample_rate <= INT32_MAX,
                         "save_wav: expected a sample rate in Hz, got {}.", sample_rate);
  check<InvalidArgument>(samples.num_elements() <= kMaxBytes / 2,
                         "save_wav: expected up to {} samples of all channels, got {}.",
                         kMaxBytes / 2, samples.num_elements());
  const auto bytes = static_cast<uint32_t>(samples.num_elements() * 2);
  std::vector<std::byte> file;
  const auto add = [&]<class T>(T value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    file.insert(file.end(), begin, begin + sizeof value);
  };
  const auto add_name = [&](const char* name) {
    for (size_t i = 0; i < 4; ++i) add(name[i]);
  };
  const auto channels = static_cast<uint16_t>(shape[1]);
  const auto rate = static_cast<uint32_t>(sample_rate);
  file.reserve(static_cast<size_t>(kHeader) + bytes);
  add_name("RIFF"), add(static_cast<uint32_t>(bytes + kHeader - 8)), add_name("WAVE");
  add_name("fmt "), add(uint32_t{16}), add(kIntegers), add(channels), add(rate);
  add(static_cast<uint32_t>(rate * channels * 2u)), add(static_cast<uint16_t>(channels * 2));
  add(uint16_t{16}), add_name("data"), add(bytes);
  for (const float sample : samples.to_vector<float>()) {
    const double scaled = std::round(static_cast<float>(sample * kScale16));
    add(static_cast<int16_t>(std::isnan(scaled) ? 0 : std::clamp(scaled, -32768.0, 32767.0)));
  }
  write_file_atomically(path.string(), std::span<const std::byte>(file));
}

}  // namespace cornu::data
