// SPDX-License-Identifier: Apache-2.0
// Photographs of five kinds of flowers (The TensorFlow Team, 2019).
#pragma once

#include "data/datasets/picture_set.h"

namespace cornu::datasets::tf_flowers {

using LoadOptions = PictureSetOptions;

// 3,670 JPEGs: 0 dandelion, 1 daisy, 2 tulips, 3 sunflowers, 4 roses (tfds.load("tf_flowers"), but
// in order). The archive is flower_photos.tgz; its files (220 MB) are kept in memory in encoded
// form, since a .tgz doesn't support random access. An extracted directory takes no memory.
//
// Throws NotFound, listing all the locations, when the archive isn't found; DataLoss when it is
// damaged.
PictureSet load(const LoadOptions& options = {});

}  // namespace cornu::datasets::tf_flowers
