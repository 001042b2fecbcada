// SPDX-License-Identifier: Apache-2.0
// Photographs of five kinds of flowers (the TensorFlow team, 2019).
#pragma once

#include "data/datasets/picture_set.h"

namespace cornu::datasets::tf_flowers {

using LoadOptions = PictureSetOptions;

// 3,670 JPEGs: 0 dandelion, 1 daisy, 2 tulips, 3 sunflowers, 4 roses (tfds.load("tf_flowers"), but
// in order). The archive is flower_photos.tgz; its files (220 MB) are kept in memory, packed as
// they are, since such an archive can't be entered in the middle. An unpacked folder takes no
// memory.
//
// NotFound, naming every place, when it is nowhere; DataLoss when the archive is damaged.
PictureSet load(const LoadOptions& options = {});

}  // namespace cornu::datasets::tf_flowers
