// SPDX-License-Identifier: Apache-2.0
#include "data/sources/image_files.h"

#include "data/transforms/parallel_map.h"
#include "framework/io/crc.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

// Rows are numbers of files, which is all that is shuffled.
class ImageFileNumbers : public Node {
 public:
  explicit ImageFileNumbers(const ImageFiles& files) : count_(std::ssize(files.paths)) {
    Tensor numbers = Tensor::empty({count_}, DType::Int64);
    const auto values = numbers.mutable_data<int64_t>();
    for (int64_t i = 0; i < count_; ++i) values[static_cast<size_t>(i)] = i;
    table_ = numbers;
    spec_ = spec_of(Tensor::scalar(int64_t{0}));
    // Wherever the folder lies.
    for (const std::string& path : files.paths) {
      const auto relative =
          std::filesystem::path(path).lexically_relative(files.directory).string();
      checksum_ =
          crc32c(std::as_bytes(std::span(relative.c_str(), relative.size() + 1)), checksum_);
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::string describe() const override {
    return fmt::format("image_files({}, names {:08x})", count_, checksum_);
  }
  const Element* table() const override { return &table_; }
  StreamPtr<Row> rows(Pass) const override { return std::make_unique<streams::RowStream>(count_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return elements_of_rows(table_, rows(pass));
  }

 private:
  int64_t count_;
  Element table_;
  ElementSpec spec_;
  uint32_t checksum_ = 0;
};

class LoadedImages : public Node {
 public:
  LoadedImages(NodePtr numbers, std::shared_ptr<const ImageFiles> files)
      : Node({std::move(numbers)}), files_(std::move(files)) {
    const Tensor image = Tensor::empty(
        {files_->size.first, files_->size.second, files_->decode.channels}, DType::Float32);
    spec_ = spec_of(element_of(image, 0));
  }

  const ElementSpec& spec() const override { return spec_; }
  std::string describe() const override {
    const ResizeImageOptions& resize = files_->resize;
    const int64_t scale = files_->decode.dct_scale;
    return fmt::format("load_images(to {}, {}{}{}{})", spec_.to_string(), resize.interpolation,
                       scale == 1 ? "" : fmt::format(", 1/{}", scale),
                       resize.crop_to_aspect_ratio ? ", cropped" : "",
                       resize.pad_to_aspect_ratio ? ", padded" : "");
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto load = [this](const Element& row, int64_t) {
      return loaded(row.tensor(0).item<size_t>());
    };
    return make_parallel_map(input().elements(pass), load, files_->calls);
  }

 private:
  Element loaded(size_t number) const {
    const std::string& path = files_->paths[number];
    const auto file = read_whole_file(path);
    const Tensor image = decode_image({file->data(), file->bytes()}, files_->decode, path);
    return element_of(resize_image(image, files_->size, files_->resize), number);
  }

  Element element_of(const Tensor& image, size_t number) const {
    if (files_->label_mode.empty()) return image;
    return {image, label_of(files_->labels[number])};
  }

  Tensor label_of(int64_t label) const {
    if (files_->label_mode == "int") return Tensor::scalar(static_cast<int32_t>(label));
    if (files_->label_mode == "binary") return Tensor::from({static_cast<float>(label)});
    std::vector<float> one_hot(files_->classes, 0.0f);
    one_hot[static_cast<size_t>(label)] = 1;
    return Tensor::from(one_hot);
  }

  std::shared_ptr<const ImageFiles> files_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_image_file_numbers(const ImageFiles& files) {
  return std::make_shared<ImageFileNumbers>(files);
}

NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files) {
  return std::make_shared<LoadedImages>(std::move(numbers), std::move(files));
}

}  // namespace cornu::data
