// SPDX-License-Identifier: Apache-2.0
// Checks for layers over 1, 2 or 3 spatial axes. Internal: included by layers' .cc files.
//
// All functions throw InvalidArgument; `who` is the prefix of the messages: "Conv2D 'conv2d'".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::layers {

// Throws unless `shape` has `axes` spatial axes between batch and channels.
void require_spatial(const std::string& who, const Shape& shape, int64_t axes);

// Returns `padding` in lower case. Throws, suggesting the nearest of `known`, if it isn't one of
// them.
std::string check_padding(const std::string& who, const std::string& padding,
                          const std::vector<std::string>& known = {"valid", "same"});

// Throws unless all of `sizes`, the argument named `what`, are positive. Empty means that the
// argument was omitted, which is also an error.
void require_positive(const std::string& who, const char* what, const std::vector<int64_t>& sizes);

// Throws when a spatial axis is smaller than its window and isn't padded.
void require_window(const std::string& who, const Shape& shape, const std::vector<int64_t>& window,
                    const std::string& padding);

}  // namespace cornu::layers
