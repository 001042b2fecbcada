// SPDX-License-Identifier: Apache-2.0
// Pictures to learn from when there are no others.
#pragma once

#include <cstdint>
#include <filesystem>

namespace apps {

// A folder in the directory for temporary files with `count` drawn pictures per class (circles,
// crosses, squares, triangles). Created by the first call, so that a resumed run reads the same
// pictures.
std::filesystem::path drawn_pictures(int64_t count);

}  // namespace apps
