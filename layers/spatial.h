// SPDX-License-Identifier: Apache-2.0
// What layers over 1, 2 or 3 spatial axes check. Internal: layers' .cc files include it.
//
// `who` is how their InvalidArgument errors begin: "Conv2D 'conv2d'".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::layers {

// Throws unless `shape` has `axes` spatial axes between batch and channels.
void require_spatial(const std::string& who, const Shape& shape, int64_t axes);

// `padding` in lower case. Throws, with the nearest of `known`, when it isn't one of them.
std::string check_padding(const std::string& who, const std::string& padding,
                          const std::vector<std::string>& known = {"valid", "same"});

// Throws unless all of `sizes`, the argument `what`, are positive. Empty stands for an argument
// that was left out, which is an error too.
void require_positive(const std::string& who, const char* what, const std::vector<int64_t>& sizes);

// Throws when a spatial axis is smaller than its window, which nothing pads.
void require_window(const std::string& who, const Shape& shape, const std::vector<int64_t>& window,
                    const std::string& padding);

}  // namespace cornu::layers
