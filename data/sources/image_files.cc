// SPDX-License-Identifier: Apache-2.0
#include "data/sources/image_files.h"

#include "data/serialization/links.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/io/file_reader.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, DecodeImageOptions& options) {
  fields("channels", options.channels);
  fields("expand_animations", options.expand_animations);
  fields("dct_scale", options.dct_scale);
  fields("fancy_upscaling", options.fancy_upscaling);
  fields("dct_method", options.dct_method);
  fields("max_pixels", options.max_pixels);
}

template <class Fields>
void visit_fields(Fields& fields, ResizeImageOptions& options) {
  fields("interpolation", options.interpolation);
  fields("crop_to_aspect_ratio", options.crop_to_aspect_ratio);
  fields("pad_to_aspect_ratio", options.pad_to_aspect_ratio);
}

namespace {

class LoadedImages : public LoadedFiles {
 public:
  LoadedImages(NodePtr numbers, std::shared_ptr<const ImageFiles> files)
      : LoadedFiles(
            std::move(numbers), *files,
            {DType::Float32, {files->size.first, files->size.second, files->decode.channels}}),
        files_(std::move(files)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    const ResizeImageOptions& resize = files_->resize;
    const int64_t scale = files_->decode.dct_scale;
    return fmt::format("load_images(to {}, {}{}{}{})", spec().to_string(), resize.interpolation,
                       scale == 1 ? "" : fmt::format(", 1/{}", scale),
                       resize.crop_to_aspect_ratio ? ", cropped" : "",
                       resize.pad_to_aspect_ratio ? ", padded" : "");
  }
  void write(LinkWriter& link) const override {
    link.kind("images")("height", files_->size.first)("width", files_->size.second)
        .options(files_->decode)
        .options(files_->resize);
    write_files(link, *files_);
  }

 private:
  const LabeledFiles& labeled() const override { return *files_; }
  Tensor load(const std::string& path) const override {
    const auto file = read_whole_file(path);
    const Tensor image = decode_image({file->data(), file->bytes()}, files_->decode, path);
    return resize_image(image, files_->size, files_->resize);
  }

  std::shared_ptr<const ImageFiles> files_;
};

}  // namespace

NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files) {
  return std::make_shared<LoadedImages>(std::move(numbers), std::move(files));
}

NodePtr read_images(LinkReader& link) {
  auto files = std::make_shared<ImageFiles>();
  read_files(link, *files);
  files->size = {link.get<int64_t>("height"), link.get<int64_t>("width")};
  files->decode = link.options<DecodeImageOptions>();
  files->resize = link.options<ResizeImageOptions>();
  check<InvalidArgument>(files->size.first > 0 && files->size.second > 0,
                         "expected a size of at least (1, 1), got ({}, {}).", files->size.first,
                         files->size.second);
  check<InvalidArgument>(files->decode.channels >= 1 && files->decode.channels <= 4,
                         "expected 1 to 4 channels, got {}.", files->decode.channels);
  return make_loaded_images(link.input(), std::move(files));
}

}  // namespace cornu::data
