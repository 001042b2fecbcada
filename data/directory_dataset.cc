// SPDX-License-Identifier: Apache-2.0
#include "data/directory_dataset.h"

#include <algorithm>

#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

void check_labels(const DirectoryIndex& index, const DirectoryQuery& query) {
  const std::string& mode = *query.label_mode;
  const auto classes = std::ssize(index.class_names);
  check<InvalidArgument>(mode != "binary" || classes == 2,
                         "{}: label_mode 'binary' takes exactly 2 classes, got {}: {}.", query.who,
                         classes, join(index.class_names, ", "));
  for (size_t i = 0; i < index.labels.size(); ++i) {
    const int64_t label = index.labels[i];
    if (mode == "int") {
      check<InvalidArgument>(label >= INT32_MIN && label <= INT32_MAX,
                             "{}: expected labels of 32 bits, got {} for {}.", query.who, label,
                             index.file_paths[i]);
    } else {
      check<InvalidArgument>(label >= 0 && label < classes,
                             "{}: label_mode '{}' takes labels of 0 to {}, got {} for {}.",
                             query.who, mode, classes - 1, label, index.file_paths[i]);
    }
  }
}

// ".bmp, .gif or .png".
std::string endings(const std::vector<std::string>& formats) {
  const std::string first = join(std::span(formats).first(formats.size() - 1), ", ");
  return first.empty() ? formats.back() : first + " or " + formats.back();
}

void report_part(const DirectoryQuery& query, size_t count, const char* subset) {
  if (query.verbose) logging::info(fmt::format("Using {} files for {}.", count, subset));
}

// The index of the first file for validation.
size_t edge_of(const DirectoryIndex& index, const DirectoryQuery& query) {
  const size_t all = index.file_paths.size();
  const auto count = static_cast<size_t>(*query.validation_split * static_cast<double>(all));
  check<InvalidArgument>(count > 0 && count < all,
                         "{}: validation_split {} of {} files leaves none for one of the subsets.",
                         query.who, *query.validation_split, all);
  return all - count;
}

// Throws InvalidArgument when options conflict; `both`: whether both subsets are requested.
void check_query(const DirectoryQuery& query, bool both) {
  if (query.subset) {
    check_one_of(query.who, *query.subset, {"training", "validation", "both"}, "subset");
  }
  check<InvalidArgument>(both || query.subset != "both", "{}: for both subsets call {}.", query.who,
                         query.both);
  check<InvalidArgument>(!both || !query.subset || query.subset == "both",
                         "{}: it gives both subsets, expected none to be asked for, got '{}'.",
                         query.both, query.subset.value_or(""));
  check<InvalidArgument>(query.splits() == (both || query.subset),
                         "{}: expected validation_split and subset together, or neither.",
                         query.who);
  if (query.label_mode) {
    check_one_of(query.who, *query.label_mode, {"int", "binary", "categorical"}, "label_mode");
  }
  if (!query.splits()) return;
  check<InvalidArgument>(*query.validation_split > 0 && *query.validation_split < 1,
                         "{}: expected a validation_split between 0 and 1, got {}.", query.who,
                         *query.validation_split);
  check<InvalidArgument>(!query.shuffle || query.seed,
                         "{}: expected a seed along with validation_split and shuffle, so that "
                         "both subsets are of one order and don't overlap.",
                         query.who);
}

// Finds the files, and logs their number. Throws InvalidArgument when there are none, or when the
// labels don't fit the mode.
DirectoryIndex find_files(const std::filesystem::path& directory, const DirectoryQuery& query) {
  const bool labeled = query.has_labels();
  DirectoryIndex index =
      index_directory(directory, {.formats = query.formats,
                                  .labels = labeled ? query.labels : FileLabels(),
                                  .class_names = query.class_names,
                                  .shuffle_seed = query.shuffle ? query.seed : std::nullopt,
                                  .follow_links = query.follow_links});
  if (query.verbose) {
    const std::string classes =
        labeled ? fmt::format(" belonging to {} classes", index.class_names.size()) : "";
    logging::info(fmt::format("Found {} files{}.", index.file_paths.size(), classes));
  }
  check<InvalidArgument>(!index.file_paths.empty(),
                         "{}: no {} in {}. Files in subfolders{} whose names end with {} are read.",
                         query.who, query.what, directory.string(), labeled ? ", one a class," : "",
                         endings(query.formats));
  if (labeled) check_labels(index, query);
  return index;
}

// The range of files [first, second) of the requested subset.
std::pair<size_t, size_t> subset_of(const DirectoryIndex& index, const DirectoryQuery& query) {
  std::pair<size_t, size_t> range = {0, index.file_paths.size()};
  if (query.splits()) {
    (query.subset == "training" ? range.second : range.first) = edge_of(index, query);
    report_part(query, range.second - range.first, query.subset->c_str());
  }
  return range;
}

// The index where the training subset ends and validation begins, if both are requested.
size_t subset_edge(const DirectoryIndex& index, const DirectoryQuery& query) {
  const size_t edge = edge_of(index, query);
  report_part(query, edge, "training");
  report_part(query, index.file_paths.size() - edge, "validation");
  return edge;
}

// The files [first, second) of an index.
LabeledFiles files_in(const std::filesystem::path& directory, const DirectoryIndex& index,
                      std::pair<size_t, size_t> range, const DirectoryQuery& query) {
  LabeledFiles files;
  const auto part = [&](const auto& all) {
    const auto at = all.begin();
    return std::remove_cvref_t<decltype(all)>(at + static_cast<std::ptrdiff_t>(range.first),
                                              at + static_cast<std::ptrdiff_t>(range.second));
  };
  files.directory = directory;
  files.paths = part(index.file_paths);
  files.classes = index.class_names.size();
  files.calls = resolve_parallel_calls(query.num_parallel_calls, query.who.c_str());
  if (!query.has_labels()) return files;
  files.labels = part(index.labels);
  files.label_mode = *query.label_mode;
  return files;
}

FolderDataset dataset_of(const std::filesystem::path& directory, const DirectoryIndex& index,
                         std::pair<size_t, size_t> range, bool shuffle, const DirectoryQuery& query,
                         const DirectoryLoader& loader) {
  const LabeledFiles files = files_in(directory, index, range, query);
  NodePtr node = make_file_numbers(files, query.name);
  if (shuffle) {
    node = make_shuffle(std::move(node), std::ssize(files.paths), {.seed = query.seed});
  }
  node = loader.load(std::move(node), files);
  if (query.batch_size) node = loader.batch(std::move(node), *query.batch_size);
  return {Dataset(make_prefetch(std::move(node), kAutotune)), index.class_names, files.paths};
}

}  // namespace

void check_one_of(const std::string& who, const std::string& value,
                  const std::vector<std::string>& known, const char* what) {
  check<InvalidArgument>(std::count(known.begin(), known.end(), value) > 0,
                         "{}: unknown {} '{}'.{}", who, what, value, did_you_mean(value, known));
}

NodePtr DirectoryLoader::batch_of_equals(NodePtr elements, int64_t batch_size) {
  return make_batch(std::move(elements), batch_size, {});
}

FolderDataset make_folder_dataset(const std::filesystem::path& directory,
                                  const DirectoryQuery& query, const DirectoryLoader& loader) {
  check_query(query, false);
  const DirectoryIndex index = find_files(directory, query);
  return dataset_of(directory, index, subset_of(index, query), query.shuffle, query, loader);
}

FolderDatasetSplit make_folder_dataset_split(const std::filesystem::path& directory,
                                             const DirectoryQuery& query,
                                             const DirectoryLoader& loader) {
  check_query(query, true);
  const DirectoryIndex index = find_files(directory, query);
  const size_t all = index.file_paths.size();
  const size_t edge = subset_edge(index, query);
  return {dataset_of(directory, index, {0, edge}, query.shuffle, query, loader),
          dataset_of(directory, index, {edge, all}, false, query, loader)};
}

}  // namespace cornu::data
