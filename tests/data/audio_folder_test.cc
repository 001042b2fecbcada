// SPDX-License-Identifier: Apache-2.0
// WAV files, and folders of them.
#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "data/audio_dataset.h"
#include "data/readers/wav.h"
#include "data/serialization.h"
#include "framework/core/random.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::audio_dataset_from_directory;
using Floats = std::vector<float>;

namespace {

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string chunk(const std::string& name, const std::string& content) {
  const std::string padding(content.size() % 2, '\0');
  return name + raw<uint32_t>({static_cast<uint32_t>(content.size())}) + content + padding;
}

// A WAV file with two channels at 100 Hz.
std::string wav(uint16_t kind, uint16_t bits, const std::string& samples) {
  const auto frame = static_cast<uint16_t>(2 * bits / 8);
  const std::string format =
      raw<uint16_t>({kind, 2}) + raw<uint32_t>({100, 100u * frame}) + raw<uint16_t>({frame, bits});
  const std::string parts = "WAVE" + chunk("LIST", "odd") + chunk("fmt ", format) +
                            chunk("data", samples) + chunk("more", "");
  return chunk("RIFF", parts);
}

data::Audio decoded(const std::string& file, const data::DecodeWavOptions& options = {}) {
  return data::decode_wav(std::as_bytes(std::span(file)), "a.wav", options);
}

class SoundFolder {
 public:
  SoundFolder() {
    int64_t length = 2;
    for (const char* name : {"high/c.wav", "low/a.wav", "low/b.WAV"}) {
      create_directories((folder_ / name).parent_path());
      data::save_wav(folder_ / name, Tensor::from(Floats(length, 0.5f), {length, 1}), 8000);
      length += 2;
    }
    write_text(folder_ / "low/notes.txt", "none");
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("WAV files of every width") {
  const data::Audio bytes = decoded(wav(1, 8, raw<uint8_t>({0, 128, 192, 255})));
  CHECK(bytes.sample_rate == 100);
  CHECK(bytes.samples.shape() == Shape{2, 2});
  CHECK(bytes.samples.to_vector<float>() == Floats{-1, 0, 0.5f, 127.0f / 128});
  CHECK(decoded(wav(1, 16, raw<int16_t>({-32768, 16384}))).samples.to_vector<float>() ==
        Floats{-1, 0.5f});
  const std::string three = raw<uint8_t>({0, 0, 0x80, 0xff, 0xff, 0xff});  // -2^23 and -1
  CHECK(decoded(wav(1, 24, three)).samples.to_vector<float>() == Floats{-1, -1.0f / 8388608});
  CHECK(decoded(wav(1, 32, raw<int32_t>({INT32_MIN, 1 << 30}))).samples.to_vector<float>() ==
        Floats{-1, 0.5f});
  CHECK(decoded(wav(3, 32, raw<float>({0.25f, -3}))).samples.to_vector<float>() ==
        Floats{0.25f, -3});
  CHECK(decoded(wav(3, 64, raw<double>({0.25, -3}))).samples.to_vector<float>() ==
        Floats{0.25f, -3});
  const std::string four = wav(1, 16, raw<int16_t>({1 << 14, 0, 0, 1 << 13}));
  CHECK(decoded(four, {.desired_samples = 1}).samples.to_vector<float>() == Floats{0.5f, 0});
  CHECK(decoded(four, {.desired_samples = 3}).samples.to_vector<float>() ==
        Floats{0.5f, 0, 0, 0.25f, 0, 0});
  CHECK(decoded(wav(1, 16, "")).samples.shape() == Shape{0, 2});
}

TEST_CASE("WAV files that are none") {
  const std::string whole = wav(1, 16, raw<int16_t>({1, 2}));
  const auto error_of = [](const std::string& file) {
    return message_of<DataLoss>([&] { decoded(file); });
  };
  CHECK(error_of("") == "a.wav: not a WAV file: expected it to begin with RIFF and WAVE.");
  CHECK(error_of(whole.substr(0, whole.size() - 10)) ==
        "a.wav: truncated at byte 58: its part at byte 48 has 4 bytes.");
  CHECK(error_of(whole.substr(0, 48)) == "a.wav: truncated at byte 48: expected samples.");
  CHECK(error_of(chunk("RIFF", "WAVE" + chunk("data", "ab"))) ==
        "a.wav: at byte 12, expected a format before the samples.");
  CHECK(error_of(chunk("RIFF", "WAVE" + chunk("fmt ", "ab"))) ==
        "a.wav: not a WAV file: at byte 20, expected a format of at least 16 bytes, got 2.");
  CHECK(
      message_of<Unimplemented>([] { decoded(wav(2, 4, "")); }) ==
      "a.wav: expected integers of 8, 16, 24 or 32 bits, or floats of 32 or 64, got format 2 of 4 "
      "bits. Convert it to 16-bit PCM.");
  for (size_t size = 0; size < whole.size() - 8; ++size) {
    CHECK_FALSE(error_of(whole.substr(0, size)).empty());
  }
  const TempFolder folder;
  CHECK(message_of<InvalidArgument>([&] {
          data::save_wav(folder / "a.wav", Tensor::from(Floats{1, 2}, {2}), 8000);
        }) == "save_wav: expected float32 (samples, channels), got float32 (2,).");
}

TEST_CASE("audio_dataset_from_directory gives sounds with the labels of their folders") {
  const SoundFolder folder;
  const auto padded = audio_dataset_from_directory(
      folder.path(), {.batch_size = 2, .shuffle = false, .verbose = false});
  CHECK(padded.class_names() == std::vector<std::string>{"high", "low"});
  CHECK(padded.element_spec().to_string() == "(float32 (None, None, None), int32 (None,))");
  std::vector<Shape> shapes;
  for (const auto& batch : padded) shapes.push_back(batch.tensor(0).shape());
  CHECK(shapes == std::vector<Shape>{{2, 4, 1}, {1, 6, 1}});

  const data::AudioDatasetOptions options{
      .label_mode = std::nullopt, .output_sequence_length = 3, .seed = 4, .verbose = false};
  const auto cut = audio_dataset_from_directory(folder.path(), options);
  CHECK(cut.element_spec().to_string() == "float32 (None, 3, None)");
  const auto sent = data::deserialize(data::serialize(cut));
  for (const auto& batch : sent) CHECK(batch.tensor(0).shape() == Shape{3, 3, 1});
  const auto both = data::audio_dataset_split_from_directory(
      folder.path(), {.seed = 4, .validation_split = 0.4, .verbose = false});
  CHECK(both.training.file_paths().size() == 2);
  CHECK(both.validation.file_paths().size() == 1);
  CHECK(message_of<InvalidArgument>(
            [&] { audio_dataset_from_directory(folder.path(), {.output_sequence_length = 0}); }) ==
        "audio_dataset_from_directory: expected an output_sequence_length of at least 1, got 0.");
}
