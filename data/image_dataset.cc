// SPDX-License-Identifier: Apache-2.0
#include "data/image_dataset.h"

#include "data/directory_dataset.h"
#include "data/readers/image/codecs.h"
#include "data/sources/image_files.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"

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

DirectoryQuery query_of(const ImageDatasetOptions& options) {
  return {.who = kWho,
          .both = "image_dataset_split_from_directory",
          .what = "pictures",
          .formats = {".bmp", ".gif", ".jpeg", ".jpg", ".png"},
          .labels = options.labels,
          .label_mode = options.label_mode,
          .class_names = options.class_names,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .validation_split = options.validation_split,
          .subset = options.subset,
          .follow_links = options.follow_links,
          .verbose = options.verbose};
}

DirectoryQuery checked_query(const ImageDatasetOptions& options, bool both) {
  DirectoryQuery query = query_of(options);
  check_query(query, both);
  check_image_options(options);
  return query;
}

// The files [range.first, range.second) of an index.
ImageDataset dataset_of(const std::filesystem::path& directory, const DirectoryIndex& index,
                        std::pair<size_t, size_t> range, bool shuffle, const DirectoryQuery& query,
                        const ImageDatasetOptions& options) {
  auto files = std::make_shared<ImageFiles>();
  take_files(*files, directory, index, range, query);
  files->size = options.image_size;
  files->decode = {.channels = options.color_mode == "rgb"    ? 3
                               : options.color_mode == "rgba" ? 4
                                                              : 1,
                   .expand_animations = false,
                   .dct_scale = options.dct_scale,
                   .max_pixels = options.max_pixels};
  files->resize = {.interpolation = options.interpolation,
                   .crop_to_aspect_ratio = options.crop_to_aspect_ratio,
                   .pad_to_aspect_ratio = options.pad_to_aspect_ratio};
  files->calls = resolve_parallel_calls(options.num_parallel_calls, kWho);

  NodePtr node = make_file_numbers(*files, "image_files");
  if (shuffle) {
    node = make_shuffle(std::move(node), std::ssize(files->paths), {.seed = options.seed});
  }
  node = make_loaded_images(std::move(node), files);
  if (options.batch_size) node = make_batch(std::move(node), *options.batch_size, {});
  return {Dataset(make_prefetch(std::move(node), kAutotune)), index.class_names, files->paths};
}

}  // namespace

ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetOptions& options) {
  const DirectoryQuery query = checked_query(options, false);
  const DirectoryIndex index = find_files(directory, query);
  return dataset_of(directory, index, subset_of(index, query), options.shuffle, query, options);
}

ImageDatasetSplit image_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const ImageDatasetOptions& options) {
  const DirectoryQuery query = checked_query(options, true);
  const DirectoryIndex index = find_files(directory, query);
  const size_t all = index.file_paths.size();
  const size_t edge = subset_edge(index, query);
  return {dataset_of(directory, index, {0, edge}, options.shuffle, query, options),
          dataset_of(directory, index, {edge, all}, false, query, options)};
}

}  // namespace cornu::data
