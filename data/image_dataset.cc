// SPDX-License-Identifier: Apache-2.0
#include "data/image_dataset.h"

#include <algorithm>

#include "data/readers/image/codecs.h"
#include "data/sources/image_files.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

constexpr const char* kWho = "image_dataset_from_directory";

void check_one_of(const std::string& value, const std::vector<std::string>& known,
                  const char* what) {
  check<InvalidArgument>(std::count(known.begin(), known.end(), value) > 0,
                         "{}: unknown {} '{}'.{}", kWho, what, value, did_you_mean(value, known));
}

void check_split(const ImageDatasetOptions& options, bool both) {
  const std::vector<std::string> known = {"training", "validation", "both"};
  if (options.subset) check_one_of(*options.subset, known, "subset");
  check<InvalidArgument>(both || options.subset != "both",
                         "{}: for both subsets call image_dataset_split_from_directory.", kWho);
  check<InvalidArgument>(!both || !options.subset || options.subset == "both",
                         "image_dataset_split_from_directory: it gives both subsets, expected none "
                         "to be asked for, got '{}'.",
                         options.subset.value_or(""));
  check<InvalidArgument>(options.validation_split.has_value() == (both || options.subset),
                         "{}: expected validation_split and subset together, or neither.", kWho);
  if (!options.validation_split) return;
  check<InvalidArgument>(*options.validation_split > 0 && *options.validation_split < 1,
                         "{}: expected a validation_split between 0 and 1, got {}.", kWho,
                         *options.validation_split);
  check<InvalidArgument>(!options.shuffle || options.seed,
                         "{}: expected a seed beside validation_split and shuffle, so that both "
                         "subsets are of one order and don't overlap.",
                         kWho);
}

void check_image_options(const ImageDatasetOptions& options) {
  if (options.label_mode) {
    check_one_of(*options.label_mode, {"int", "binary", "categorical"}, "label_mode");
  }
  check_one_of(options.color_mode, {"grayscale", "rgb", "rgba"}, "color_mode");
  check<InvalidArgument>(options.image_size.first > 0 && options.image_size.second > 0,
                         "{}: expected an image_size of at least (1, 1), got ({}, {}).", kWho,
                         options.image_size.first, options.image_size.second);
  check<InvalidArgument>(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
                         "{}: expected at most one of crop_to_aspect_ratio and "
                         "pad_to_aspect_ratio.",
                         kWho);
  check_one_of(options.interpolation, codecs::interpolations(), "interpolation");
}

bool has_labels(const ImageDatasetOptions& options) {
  return options.label_mode && !options.labels.none();
}

void check_labels(const DirectoryIndex& index, const std::string& mode) {
  const auto classes = std::ssize(index.class_names);
  check<InvalidArgument>(mode != "binary" || classes == 2,
                         "{}: label_mode 'binary' takes exactly 2 classes, got {}: {}.", kWho,
                         classes, join(index.class_names, ", "));
  for (size_t i = 0; i < index.labels.size(); ++i) {
    const int64_t label = index.labels[i];
    if (mode == "int") {
      check<InvalidArgument>(label >= INT32_MIN && label <= INT32_MAX,
                             "{}: expected labels of 32 bits, got {} for {}.", kWho, label,
                             index.file_paths[i]);
    } else {
      check<InvalidArgument>(label >= 0 && label < classes,
                             "{}: label_mode '{}' takes labels of 0 to {}, got {} for {}.", kWho,
                             mode, classes - 1, label, index.file_paths[i]);
    }
  }
}

DirectoryIndex find_images(const std::filesystem::path& directory,
                           const ImageDatasetOptions& options) {
  const bool labeled = has_labels(options);
  DirectoryIndex index =
      index_directory(directory, {.formats = {".bmp", ".gif", ".jpeg", ".jpg", ".png"},
                                  .labels = labeled ? options.labels : FileLabels(),
                                  .class_names = options.class_names,
                                  .shuffle_seed = options.shuffle ? options.seed : std::nullopt,
                                  .follow_links = options.follow_links});
  if (options.verbose) {
    const std::string classes =
        labeled ? fmt::format(" belonging to {} classes", index.class_names.size()) : "";
    logging::info(fmt::format("Found {} files{}.", index.file_paths.size(), classes));
  }
  check<InvalidArgument>(!index.file_paths.empty(),
                         "{}: no pictures in {}. Files in subfolders{} whose names end with .bmp, "
                         ".gif, .jpeg, .jpg or .png are read.",
                         kWho, directory.string(), labeled ? ", one a class," : "");
  if (labeled) check_labels(index, *options.label_mode);
  return index;
}

// The files [begin, end) of an index.
ImageDataset dataset_of(const std::filesystem::path& directory, const DirectoryIndex& index,
                        size_t begin, size_t end, bool shuffle,
                        const ImageDatasetOptions& options) {
  const auto part = [&](const auto& all) {
    const auto at = all.begin();
    return std::remove_cvref_t<decltype(all)>(at + static_cast<std::ptrdiff_t>(begin),
                                              at + static_cast<std::ptrdiff_t>(end));
  };
  auto files = std::make_shared<ImageFiles>();
  files->directory = directory;
  files->paths = part(index.file_paths);
  if (has_labels(options)) {
    files->labels = part(index.labels);
    files->label_mode = *options.label_mode;
  }
  files->classes = index.class_names.size();
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

  NodePtr node = make_image_file_numbers(*files);
  if (shuffle) {
    node = make_shuffle(std::move(node), std::ssize(files->paths), {.seed = options.seed});
  }
  node = make_loaded_images(std::move(node), files);
  if (options.batch_size) node = make_batch(std::move(node), *options.batch_size, {});
  return {Dataset(make_prefetch(std::move(node), kAutotune)), index.class_names, files->paths};
}

// How many of the last files are for validation.
size_t validation_count(const DirectoryIndex& index, const ImageDatasetOptions& options) {
  const size_t all = index.file_paths.size();
  const auto count = static_cast<size_t>(*options.validation_split * static_cast<double>(all));
  check<InvalidArgument>(count > 0 && count < all,
                         "{}: validation_split {} of {} files leaves none for one of the subsets.",
                         kWho, *options.validation_split, all);
  return count;
}

void report_part(const ImageDatasetOptions& options, size_t count, const char* subset) {
  if (options.verbose) logging::info(fmt::format("Using {} files for {}.", count, subset));
}

}  // namespace

ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetOptions& options) {
  check_split(options, false);
  check_image_options(options);
  const DirectoryIndex index = find_images(directory, options);
  size_t begin = 0;
  size_t end = index.file_paths.size();
  if (options.validation_split) {
    const size_t edge = end - validation_count(index, options);
    (options.subset == "training" ? end : begin) = edge;
    report_part(options, end - begin, options.subset->c_str());
  }
  return dataset_of(directory, index, begin, end, options.shuffle, options);
}

ImageDatasetSplit image_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const ImageDatasetOptions& options) {
  check_split(options, true);
  check_image_options(options);
  const DirectoryIndex index = find_images(directory, options);
  const size_t all = index.file_paths.size();
  const size_t edge = all - validation_count(index, options);
  report_part(options, edge, "training");
  report_part(options, all - edge, "validation");
  return {dataset_of(directory, index, 0, edge, options.shuffle, options),
          dataset_of(directory, index, edge, all, false, options)};
}

}  // namespace cornu::data
