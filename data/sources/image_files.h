// SPDX-License-Identifier: Apache-2.0
// Files of pictures, decoded.
#pragma once

#include <memory>
#include <utility>

#include "data/node.h"
#include "data/readers/image/decode_image.h"
#include "data/readers/image/resize_image.h"
#include "data/sources/labeled_files.h"

namespace cornu::data {

// What image_dataset_from_directory found, and how it is to be given.
struct ImageFiles : LabeledFiles {
  std::pair<int64_t, int64_t> size;
  DecodeImageOptions decode;
  ResizeImageOptions resize;
};

// The picture, with its label, that each of the files' numbers stands for.
NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files);

}  // namespace cornu::data
