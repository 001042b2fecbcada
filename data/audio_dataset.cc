// SPDX-License-Identifier: Apache-2.0
#include "data/audio_dataset.h"

#include "data/directory_dataset.h"
#include "data/readers/wav.h"
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

constexpr const char* kWhoReads = "audio_dataset_from_directory";

struct AudioFiles : LabeledFiles {
  std::optional<int64_t> length;  // in samples
};

class LoadedAudio : public LoadedFiles {
 public:
  LoadedAudio(NodePtr numbers, std::shared_ptr<const AudioFiles> files)
      : LoadedFiles(std::move(numbers), *files,
                    {DType::Float32, {files->length.value_or(kUnknown), kUnknown}}),
        files_(std::move(files)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("load_audio(to {})", spec().to_string());
  }
  void write(LinkWriter& link) const override {
    link.kind("audio_files")("length", files_->length);
    write_files(link, *files_);
  }

 private:
  const LabeledFiles& labeled() const override { return *files_; }
  Tensor load(const std::string& path) const override {
    return load_wav(path, {.desired_samples = files_->length}).samples;
  }

  std::shared_ptr<const AudioFiles> files_;
};

void check_length(const std::optional<int64_t>& length, const std::string& what) {
  check<InvalidArgument>(length.value_or(1) > 0, "{} of at least 1, got {}.", what,
                         length.value_or(1));
}

DirectoryQuery checked_query_of_audio(const AudioDatasetOptions& options) {
  check_length(options.output_sequence_length,
               fmt::format("{}: expected an output_sequence_length", kWhoReads));
  return query_of({.who = kWhoReads,
                   .both = "audio_dataset_split_from_directory",
                   .what = "sounds",
                   .name = "audio_files",
                   .formats = {".wav"}},
                  options);
}

DirectoryLoader loader_of_audio(const AudioDatasetOptions& options) {
  const std::optional<int64_t> length = options.output_sequence_length;
  DirectoryLoader loader{[length](NodePtr numbers, const LabeledFiles& found) -> NodePtr {
    return std::make_shared<LoadedAudio>(std::move(numbers),
                                         std::make_shared<AudioFiles>(AudioFiles{found, length}));
  }};
  if (!length) {
    loader.batch = [](NodePtr elements, int64_t size) {
      return make_padded_batch(std::move(elements), size, {});
    };
  }
  return loader;
}

}  // namespace

AudioDataset audio_dataset_from_directory(const std::filesystem::path& directory,
                                          const AudioDatasetOptions& options) {
  return make_folder_dataset(directory, checked_query_of_audio(options), loader_of_audio(options));
}

AudioDatasetSplit audio_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const AudioDatasetOptions& options) {
  return make_folder_dataset_split(directory, checked_query_of_audio(options),
                                   loader_of_audio(options));
}

NodePtr read_audio_files(LinkReader& link) {
  auto files = std::make_shared<AudioFiles>();
  read_files(link, *files);
  files->length = link.get<std::optional<int64_t>>("length");
  check_length(files->length, "expected a length");
  return std::make_shared<LoadedAudio>(link.input(), std::move(files));
}

}  // namespace cornu::data
