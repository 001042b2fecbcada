// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/dataset_file.h"

#include <cstdlib>
#include <vector>

#include "framework/core/error.h"
#include "framework/io/get_file.h"

namespace cornu::datasets {

namespace fs = std::filesystem;

std::string download_folder(const char* variable, const std::string& folder) {
  const char* value = std::getenv(variable);
  std::string url = value && *value ? value : folder;
  if (url.back() != '/') url += '/';
  return url;
}

fs::path find_dataset_file(const DatasetFile& file, const FileOptions& options) {
  std::vector<fs::path> places;
  std::error_code error;
  if (!options.path.empty()) {
    const bool folder = fs::is_directory(options.path, error);
    places.push_back(folder ? options.path / file.name : options.path);
  }
  const char* datasets = std::getenv("CORNU_DATASETS");
  if (datasets && *datasets) places.push_back(fs::path(datasets) / file.name);
  places.push_back(cache_directory() / "datasets" / file.name);

  std::string looked;
  for (const fs::path& place : places) {
    const bool there = fs::is_regular_file(place, error);
    // Files in the cache are verified by get_file, which may replace them.
    const bool for_get_file = options.download && place == places.back();
    if (there && !for_get_file) return place;
    if (!there) looked += fmt::format("\n  {}: no such file", place.string());
  }
  if (options.download) {
    try {
      return get_file(file.name,
                      {.origin = {download_folder("CORNU_DATASETS_URL", file.folder) + file.name},
                       .file_hash = file.hash});
    } catch (const DataLoss&) {
      throw;
    } catch (const Error& problem) {
      looked += fmt::format("\n  {}", problem.what());
    }
  }
  raise<NotFound>(
      "{0} was not found. Put its file {1} into one of these places, or set CORNU_DATASETS to a "
      "directory that has it. Looked in:{2}",
      file.title, file.name, looked);
}

}  // namespace cornu::datasets
