// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/mnist.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "data/readers/idx.h"
#include "framework/io/get_file.h"

namespace cornu::datasets::mnist {
namespace {

namespace fs = std::filesystem;

struct File {
  const char* name;
  const char* md5;  // of the unpacked file
};

// Images and labels of the training set, then of the test set.
constexpr std::array<File, 4> kFiles = {{
    {"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"},
    {"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"},
    {"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"},
    {"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"},
}};

constexpr std::array kMirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                 "https://storage.googleapis.com/cvdf-datasets/mnist/"};

using Paths = std::array<fs::path, kFiles.size()>;

std::optional<fs::path> folder_from(const char* variable, const char* below) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return std::nullopt;
  return fs::path(value) / below;
}

fs::path cache_folder() { return cache_directory() / "datasets" / "mnist"; }

std::vector<fs::path> folders(const LoadOptions& options) {
  std::vector<fs::path> result;
  if (!options.path.empty()) result = {options.path, options.path / "mnist"};
  if (const auto datasets = folder_from("CORNU_DATASETS", "mnist")) result.push_back(*datasets);
  result.push_back(cache_folder());
  return result;
}

// The four files in `folder`, or nothing and why.
std::optional<Paths> find_in(const fs::path& folder, std::string& why) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    why = "no such folder";
    return std::nullopt;
  }
  Paths paths;
  std::string missing;
  for (size_t i = 0; i < kFiles.size(); ++i) {
    const fs::path plain = folder / kFiles[i].name;
    const fs::path packed = plain.string() + ".gz";
    if (fs::exists(plain, error)) {
      paths[i] = plain;
    } else if (fs::exists(packed, error)) {
      paths[i] = packed;
    } else {
      missing += missing.empty() ? "" : ", ";
      missing += kFiles[i].name;
    }
  }
  if (missing.empty()) return paths;
  why = "it lacks " + missing + " (plain or .gz)";
  return std::nullopt;
}

std::vector<std::string> base_urls() {
  std::vector<std::string> urls(kMirrors.begin(), kMirrors.end());
  if (const char* url = std::getenv("CORNU_MNIST_URL"); url && *url) urls = {url};
  for (std::string& url : urls) {
    if (url.back() != '/') url += '/';
  }
  return urls;
}

Paths download_all() {
  Paths paths;
  for (size_t i = 0; i < kFiles.size(); ++i) {
    std::vector<std::string> origin;
    for (const std::string& base : base_urls()) origin.push_back(base + kFiles[i].name + ".gz");
    paths[i] = get_file(kFiles[i].name, {.origin = origin,
                                         .file_hash = kFiles[i].md5,
                                         .cache_subdir = "mnist",
                                         .extract = true,
                                         .cache_dir = cache_directory() / "datasets"});
  }
  return paths;
}

Paths find_files(const LoadOptions& options) {
  std::string places;
  for (const fs::path& folder : folders(options)) {
    std::string why;
    if (const auto paths = find_in(folder, why)) return *paths;
    places += fmt::format("\n  {}: {}", folder.string(), why);
  }
  if (options.download) {
    try {
      return download_all();
    } catch (const DataLoss&) {
      throw;
    } catch (const Error& error) {
      places += fmt::format("\n  {}", error.what());
    }
  }
  raise<NotFound>(
      "MNIST was not found. Put its four files (train-images-idx3-ubyte.gz, …) into one of these "
      "folders, or set CORNU_DATASETS to the folder above. Looked in:{}",
      places);
}

Examples read_examples(const fs::path& images, const fs::path& labels) {
  Examples examples{data::read_idx(images), data::read_idx(labels)};
  const auto& [x, y] = examples;
  check<DataLoss>(x.rank() == 3 && x.dtype() == DType::UInt8,
                  "{}: expected images of shape (n, height, width) in uint8, got {} {}.",
                  images.string(), x.dtype(), x.shape());
  check<DataLoss>(y.rank() == 1 && y.dtype() == DType::UInt8,
                  "{}: expected labels of shape (n) in uint8, got {} {}.", labels.string(),
                  y.dtype(), y.shape());
  check<DataLoss>(x.dim(0) == y.dim(0), "{} has {} images, but {} has {} labels.", images.string(),
                  x.dim(0), labels.string(), y.dim(0));
  return examples;
}

}  // namespace

Splits load_data(const LoadOptions& options) {
  const Paths paths = find_files(options);
  return {read_examples(paths[0], paths[1]), read_examples(paths[2], paths[3])};
}

}  // namespace cornu::datasets::mnist
