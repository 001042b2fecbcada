// SPDX-License-Identifier: Apache-2.0
// What the data sets of pictures have in common. Internal to the data sets.
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

// Files in a folder or an archive, by name. Thread-safe.
class FileStore {
 public:
  virtual ~FileStore() = default;
  // Of all files, relative to the folder; unordered.
  virtual std::vector<std::string> names() const = 0;
  // Where errors are: "flowers.tgz: member 'daisy/1.jpg'".
  virtual std::string place(const std::string& name) const = 0;
  virtual std::shared_ptr<Buffer> read(const std::string& name) const = 0;
};

std::unique_ptr<FileStore> open_folder(const std::filesystem::path& folder);
std::unique_ptr<FileStore> open_zip(const std::filesystem::path& archive);
// Of a .tar or .tgz: its files for which `wanted` holds, all in memory.
std::unique_ptr<FileStore> open_tar(const std::filesystem::path& archive,
                                    const std::function<bool(const std::string& name)>& wanted);

struct PictureSetDefinition {
  DatasetFile archive;
  std::string root;  // the folder in the archive that has those of the classes
  std::vector<std::pair<std::string, std::string>> classes;  // their names, and their folders
  bool with_filename = false;                                // without as_supervised
  // Is it one of the set's pictures, by how the file begins?
  std::function<bool(std::span<const std::byte> file)> is_picture;
};

// As PictureSetOptions says.
PictureSet load_pictures(const PictureSetDefinition& definition, const PictureSetOptions& options);

}  // namespace cornu::datasets
