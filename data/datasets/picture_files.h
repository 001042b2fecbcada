// SPDX-License-Identifier: Apache-2.0
// Common parts of the image data sets. Internal to the data sets.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets/dataset_file.h"
#include "data/datasets/picture_set.h"
#include "framework/core/buffer.h"

namespace cornu::datasets {

// Files in a folder or an archive, accessed by name. Thread-safe.
class FileStore {
 public:
  virtual ~FileStore() = default;
  // The names of all files, relative to the folder, unordered.
  virtual std::vector<std::string> names() const = 0;
  // The location of a file, for errors: "flowers.tgz: member 'daisy/1.jpg'".
  virtual std::string place(const std::string& name) const = 0;
  virtual std::shared_ptr<Buffer> read(const std::string& name) const = 0;
};

std::unique_ptr<FileStore> open_folder(const std::filesystem::path& folder);
std::unique_ptr<FileStore> open_zip(const std::filesystem::path& archive);
// The files of a .tar or .tgz for which `wanted` returns true, all read into memory.
std::unique_ptr<FileStore> open_tar(const std::filesystem::path& archive,
                                    const std::function<bool(const std::string& name)>& wanted);

struct PictureSetDefinition {
  DatasetFile archive;
  std::string root;  // the folder in the archive that contains the class folders
  std::vector<std::pair<std::string, std::string>> classes;  // their names and folders
  bool with_filename = false;                                // add the filename unless
                                                             // as_supervised
  // Whether a file belongs to the set, judging by its first bytes.
  std::function<bool(std::span<const std::byte> file)> is_picture;
};

// Loads the images as documented for PictureSetOptions.
PictureSet load_pictures(const PictureSetDefinition& definition, const PictureSetOptions& options);

}  // namespace cornu::datasets
