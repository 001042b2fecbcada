// SPDX-License-Identifier: Apache-2.0
// Photographs of cats and dogs (Elson et al., "Asirra", 2007).
#pragma once

#include "data/datasets/picture_set.h"

namespace cornu::datasets::cats_vs_dogs {

using LoadOptions = PictureSetOptions;

// 23,262 JPEGs: 0 cat, 1 dog (tfds.load("cats_vs_dogs"), but in order); without as_supervised also
// "image/filename", a string. The archive is kagglecatsanddogs_5340.zip, whose files are read one
// by one. 1,738 of them that don't begin as JFIF files do are left out, as there: to find them,
// each is read once here, which takes some seconds.
//
// NotFound, naming every place, when it is nowhere; DataLoss when the archive is damaged.
PictureSet load(const LoadOptions& options = {});

}  // namespace cornu::datasets::cats_vs_dogs
