// SPDX-License-Identifier: Apache-2.0
#include "data/image_dataset.h"

#include "data/directory_dataset.h"
#include "data/readers/image/codecs.h"
#include "data/sources/image_files.h"

namespace cornu::data {
namespace {

constexpr const char* kWho = "image_dataset_from_directory";

void check_image_options(const ImageDatasetOptions& options) {
  check_one_of(kWho, options.color_mode, {"grayscale", "rgb", "rgba"}, "color_mode");
  check<InvalidArgument>(options.image_size.first > 0 && options.image_size.second > 0,
                         "{}: expected an image_size of at least (1, 1), got ({}, {}).", kWho,
                         options.image_size.first, options.image_size.second);
  check<InvalidArgument>(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
                         "{}: expected at most one of crop_to_aspect_ratio and "
                         "pad_to_aspect_ratio.",
                         kWho);
  check_one_of(kWho, options.interpolation, codecs::interpolations(), "interpolation");
}

DirectoryQuery checked_query(const ImageDatasetOptions& options) {
  check_image_options(options);
  return query_of({.who = kWho,
                   .both = "image_dataset_split_from_directory",
                   .what = "pictures",
                   .name = "image_files",
                   .formats = {".bmp", ".gif", ".jpeg", ".jpg", ".png"}},
                  options);
}

DirectoryLoader loader_of(const ImageDatasetOptions& options) {
  const auto load = [options](NodePtr numbers, const LabeledFiles& found) {
    auto files = std::make_shared<ImageFiles>(ImageFiles{found, options.image_size, {}, {}});
    files->decode = {.channels = options.color_mode == "rgb"    ? 3
                                 : options.color_mode == "rgba" ? 4
                                                                : 1,
                     .expand_animations = false,
                     .dct_scale = options.dct_scale,
                     .max_pixels = options.max_pixels};
    files->resize = {.interpolation = options.interpolation,
                     .crop_to_aspect_ratio = options.crop_to_aspect_ratio,
                     .pad_to_aspect_ratio = options.pad_to_aspect_ratio};
    return make_loaded_images(std::move(numbers), std::move(files));
  };
  return {load};
}

}  // namespace

ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetOptions& options) {
  return make_folder_dataset(directory, checked_query(options), loader_of(options));
}

ImageDatasetSplit image_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const ImageDatasetOptions& options) {
  return make_folder_dataset_split(directory, checked_query(options), loader_of(options));
}

}  // namespace cornu::data
