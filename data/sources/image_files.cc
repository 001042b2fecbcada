// SPDX-License-Identifier: Apache-2.0
#include "data/sources/image_files.h"

#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

class LoadedImages : public Node {
 public:
  LoadedImages(NodePtr numbers, std::shared_ptr<const ImageFiles> files)
      : Node({std::move(numbers)}), files_(std::move(files)) {
    const Tensor image = Tensor::empty(
        {files_->size.first, files_->size.second, files_->decode.channels}, DType::Float32);
    spec_ = spec_of(files_->element_of(image, 0));
  }

  const ElementSpec& spec() const override { return spec_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    const ResizeImageOptions& resize = files_->resize;
    const int64_t scale = files_->decode.dct_scale;
    return fmt::format("load_images(to {}, {}{}{}{})", spec_.to_string(), resize.interpolation,
                       scale == 1 ? "" : fmt::format(", 1/{}", scale),
                       resize.crop_to_aspect_ratio ? ", cropped" : "",
                       resize.pad_to_aspect_ratio ? ", padded" : "");
  }
  // By data, others' files aren't read either: files() isn't for them.
  NodePtr worker_part(const WorkerPart& part) const override {
    if (part.by == WorkerPart::By::Hint) return nullptr;
    return with_inputs({make_sharded_sources(inputs().front(), part)});
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto load = [this](const Element& row, int64_t) {
      return loaded(row.tensor(0).item<size_t>());
    };
    return make_parallel_map(input().stream(pass), load, files_->calls, pass);
  }

 private:
  Element loaded(size_t number) const {
    const std::string& path = files_->paths[number];
    const auto file = read_whole_file(path);
    const Tensor image = decode_image({file->data(), file->bytes()}, files_->decode, path);
    return files_->element_of(resize_image(image, files_->size, files_->resize), number);
  }

  std::shared_ptr<const ImageFiles> files_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files) {
  return std::make_shared<LoadedImages>(std::move(numbers), std::move(files));
}

}  // namespace cornu::data
