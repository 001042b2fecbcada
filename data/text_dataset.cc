// SPDX-License-Identifier: Apache-2.0
#include "data/text_dataset.h"

#include "data/directory_dataset.h"
#include "data/serialization/links.h"
#include "data/sources/file_records.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

constexpr const char* kTextsWho = "text_dataset_from_directory";

struct TextFiles : LabeledFiles {
  std::optional<int64_t> max_length;
};

class LoadedTexts : public LoadedFiles {
 public:
  LoadedTexts(NodePtr numbers, std::shared_ptr<const TextFiles> files)
      : LoadedFiles(std::move(numbers), *files, {DType::String, Shape{}}),
        files_(std::move(files)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("load_texts(to {}, {})", spec().to_string(),
                       files_->max_length.value_or(-1));
  }
  void write(LinkWriter& link) const override {
    link.kind("text_files")("max_length", files_->max_length);
    write_files(link, *files_);
  }

 private:
  const LabeledFiles& labeled() const override { return *files_; }
  Tensor load(const std::string& path) const override {
    FileReader file(path);
    const auto most = static_cast<uint64_t>(files_->max_length.value_or(INT64_MAX));
    std::string text(std::min<uint64_t>(file.size(), most), '\0');
    file.read(std::as_writable_bytes(std::span(text)));
    return text_scalar(std::move(text));
  }

  std::shared_ptr<const TextFiles> files_;
};

DirectoryQuery checked_query_of_texts(const TextDatasetOptions& options) {
  check<InvalidArgument>(!options.max_length || *options.max_length >= 0,
                         "{}: expected a max_length of at least 0, got {}.", kTextsWho,
                         options.max_length.value_or(0));
  return query_of({.who = kTextsWho,
                   .both = "text_dataset_split_from_directory",
                   .what = "texts",
                   .name = "text_files",
                   .formats = {".txt"}},
                  options);
}

DirectoryLoader loader_of_texts(const TextDatasetOptions& options) {
  return {[length = options.max_length](NodePtr numbers, const LabeledFiles& found) -> NodePtr {
    return std::make_shared<LoadedTexts>(std::move(numbers),
                                         std::make_shared<TextFiles>(TextFiles{found, length}));
  }};
}

}  // namespace

TextDataset text_dataset_from_directory(const std::filesystem::path& directory,
                                        const TextDatasetOptions& options) {
  return make_folder_dataset(directory, checked_query_of_texts(options), loader_of_texts(options));
}

TextDatasetSplit text_dataset_split_from_directory(const std::filesystem::path& directory,
                                                   const TextDatasetOptions& options) {
  return make_folder_dataset_split(directory, checked_query_of_texts(options),
                                   loader_of_texts(options));
}

NodePtr read_text_files(LinkReader& link) {
  auto files = std::make_shared<TextFiles>();
  read_files(link, *files);
  files->max_length = link.get<std::optional<int64_t>>("max_length");
  check<InvalidArgument>(!files->max_length || *files->max_length >= 0,
                         "expected a max_length of at least 0, got {}.",
                         files->max_length.value_or(0));
  return std::make_shared<LoadedTexts>(link.input(), std::move(files));
}

}  // namespace cornu::data
