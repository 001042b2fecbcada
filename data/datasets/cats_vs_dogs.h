// SPDX-License-Identifier: Apache-2.0
// Photographs of cats and dogs (Elson et al., "Asirra", 2007).
#pragma once

#include "data/datasets/picture_set.h"

namespace cornu::datasets::cats_vs_dogs {

using LoadOptions = PictureSetOptions;

// 23,262 JPEGs: 0 cat, 1 dog (tfds.load("cats_vs_dogs"), but in order); without as_supervised,
// elements also have "image/filename", a string. The archive is kagglecatsanddogs_5340.zip, whose
// files are read individually. As in tfds, 1,738 files that don't begin with a JFIF header are
// skipped; to find them, load() reads every file once, which takes a few seconds.
//
// Throws NotFound, listing all the locations, when the archive isn't found; DataLoss when it is
// damaged.
PictureSet load(const LoadOptions& options = {});

}  // namespace cornu::datasets::cats_vs_dogs
