// SPDX-License-Identifier: Apache-2.0
// Finds the file of a data set. Internal to the data sets.
#pragma once

#include <filesystem>
#include <string>

#include "data/datasets/splits.h"

namespace cornu::datasets {

// Where Keras hosts most of its data sets.
inline constexpr const char* kKerasFolder =
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/";

struct DatasetFile {
  const char* title;  // for messages
  const char* name;
  const char* folder;  // the URL of the folder it is in
  const char* hash;    // sha256 or md5
};

// Looks for the file, or downloads it, as documented for FileOptions.
std::filesystem::path find_dataset_file(const DatasetFile& file, const FileOptions& options);

// The URL of the folder to download from: `folder`, or the value of the environment variable, with
// a trailing '/'.
std::string download_folder(const char* variable, const std::string& folder);

}  // namespace cornu::datasets
