// SPDX-License-Identifier: Apache-2.0
// Loads and decodes image files.
#pragma once

#include <memory>
#include <utility>

#include "data/node.h"
#include "data/readers/image/decode_image.h"
#include "data/readers/image/resize_image.h"
#include "data/sources/labeled_files.h"

namespace cornu::data {

// The files found by image_dataset_from_directory, and how to decode them.
struct ImageFiles : LabeledFiles {
  std::pair<int64_t, int64_t> size;
  DecodeImageOptions decode;
  ResizeImageOptions resize;
};

// Maps file numbers to their images, with labels.
NodePtr make_loaded_images(NodePtr numbers, std::shared_ptr<const ImageFiles> files);

}  // namespace cornu::data
