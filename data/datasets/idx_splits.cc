// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/idx_splits.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/datasets/dataset_file.h"
#include "data/readers/idx.h"
#include "data/readers/npz.h"
#include "framework/io/get_file.h"

namespace cornu::datasets {
namespace {

namespace fs = std::filesystem;

// Training images and labels, then test images and labels.
constexpr std::array<const char*, 4> kFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

using Paths = std::array<fs::path, kFiles.size()>;

std::optional<fs::path> folder_from(const char* variable, const char* below) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return std::nullopt;
  return fs::path(value) / below;
}

std::vector<fs::path> folders(const IdxDataset& dataset, const FileOptions& options) {
  std::vector<fs::path> result;
  if (!options.path.empty()) result = {options.path, options.path / dataset.folder};
  if (const auto all = folder_from("CORNU_DATASETS", dataset.folder)) result.push_back(*all);
  result.push_back(cache_directory() / "datasets" / dataset.folder);
  return result;
}

// The four files in `folder`, or nullopt with the reason in `why`.
std::optional<Paths> find_in(const fs::path& folder, std::string& why) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    why = "no such directory";
    return std::nullopt;
  }
  Paths paths;
  std::string missing;
  for (size_t i = 0; i < kFiles.size(); ++i) {
    const fs::path plain = folder / kFiles[i];
    const fs::path packed = plain.string() + ".gz";
    if (fs::exists(plain, error)) {
      paths[i] = plain;
    } else if (fs::exists(packed, error)) {
      paths[i] = packed;
    } else {
      missing += missing.empty() ? "" : ", ";
      missing += kFiles[i];
    }
  }
  if (missing.empty()) return paths;
  why = "it lacks " + missing + " (plain or .gz)";
  return std::nullopt;
}

Paths download_all(const IdxDataset& dataset) {
  std::vector<std::string> mirrors;
  for (const std::string& mirror : dataset.mirrors) {
    mirrors.push_back(download_folder(dataset.url_variable, mirror));
  }
  mirrors.erase(std::unique(mirrors.begin(), mirrors.end()), mirrors.end());
  Paths paths;
  for (size_t i = 0; i < kFiles.size(); ++i) {
    std::vector<std::string> origin;
    for (const std::string& base : mirrors) origin.push_back(base + kFiles[i] + ".gz");
    paths[i] = get_file(kFiles[i], {.origin = origin,
                                    .file_hash = dataset.md5[i],
                                    .cache_subdir = dataset.folder,
                                    .extract = true,
                                    .cache_dir = cache_directory() / "datasets"});
  }
  return paths;
}

// The archive of the same arrays, as distributed by Keras; empty if there is none.
fs::path archive_in(const fs::path& place, const std::string& name) {
  if (name.empty()) return {};
  std::error_code error;
  for (const fs::path& path : {place, place / name}) {
    if (path.extension() == ".npz" && fs::is_regular_file(path, error)) return path;
  }
  return {};
}

void check_examples(const Examples& examples, const std::string& images,
                    const std::string& labels) {
  const auto& [x, y] = examples;
  check<DataLoss>(x.rank() == 3 && x.dtype() == DType::UInt8,
                  "{}: expected images of shape (n, height, width) in uint8, got {} {}.", images,
                  x.dtype(), x.shape());
  check<DataLoss>(y.rank() == 1 && y.dtype() == DType::UInt8,
                  "{}: expected labels of shape (n) in uint8, got {} {}.", labels, y.dtype(),
                  y.shape());
  check<DataLoss>(x.dim(0) == y.dim(0), "{} has {} images, but {} has {} labels.", images, x.dim(0),
                  labels, y.dim(0));
}

Splits read_archive(const fs::path& path) {
  const data::NpzReader file(path);
  const auto part = [&](const std::string& name) {
    const Examples examples{file.read("x_" + name), file.read("y_" + name)};
    const std::string place = path.string() + ": ";
    check_examples(examples, place + "x_" + name, place + "y_" + name);
    return examples;
  };
  return {part("train"), part("test")};
}

std::variant<Paths, fs::path> find_files(const IdxDataset& dataset, const FileOptions& options) {
  std::string places;
  for (const fs::path& folder : folders(dataset, options)) {
    std::string why;
    if (const auto paths = find_in(folder, why)) return *paths;
    if (fs::path archive = archive_in(folder, dataset.archive); !archive.empty()) return archive;
    places += fmt::format("\n  {}: {}", folder.string(), why);
  }
  if (options.download) {
    try {
      return download_all(dataset);
    } catch (const DataLoss&) {
      throw;
    } catch (const Error& error) {
      places += fmt::format("\n  {}", error.what());
    }
  }
  raise<NotFound>(
      "{} was not found. Put its four files (train-images-idx3-ubyte.gz, …) into one of these "
      "directories, or set CORNU_DATASETS to its parent. Looked in:{}",
      dataset.title, places);
}

Examples read_examples(const fs::path& images, const fs::path& labels) {
  Examples examples{data::read_idx(images), data::read_idx(labels)};
  check_examples(examples, images.string(), labels.string());
  return examples;
}

}  // namespace

Splits load_idx_splits(const IdxDataset& dataset, const FileOptions& options) {
  const auto found = find_files(dataset, options);
  if (const auto* archive = std::get_if<fs::path>(&found)) return read_archive(*archive);
  const Paths& paths = std::get<Paths>(found);
  return {read_examples(paths[0], paths[1]), read_examples(paths[2], paths[3])};
}

}  // namespace cornu::datasets
