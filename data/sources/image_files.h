// SPDX-License-Identifier: Apache-2.0
// Files of pictures: their numbers, and what is made of those.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/node.h"
#include "data/readers/image/decode_image.h"
#include "data/readers/image/resize_image.h"

namespace cornu::data {

// What image_dataset_from_directory found, and how it is to be given. At least one file.
struct ImageFiles {
  std::filesystem::path directory;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;  // one for each, unless label_mode is empty
  std::string label_mode;       // "int", "binary", "categorical", or "" for pictures alone
  size_t classes = 0;
  std::pair<int64_t, int64_t> size;
  DecodeImageOptions decode;
  ResizeImageOptions resize;
  int64_t calls = 1;
};

// int64 scalars 0, 1, …: a table, so that they are shuffled by number.
NodePtr make_image_file_numbers(const ImageFiles& files);
// The picture, with its label, that each of these numbers stands for.
NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files);

}  // namespace cornu::data
