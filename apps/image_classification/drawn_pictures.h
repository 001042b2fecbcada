// SPDX-License-Identifier: Apache-2.0
// Pictures to learn from where there are no others.
#pragma once

#include <cstdint>
#include <filesystem>

namespace apps {

// A folder of `count` drawn pictures a class (circles, crosses, squares, triangles), which is made
// at the first call: what a run that goes on reads again. It lies where temporary files do.
std::filesystem::path drawn_pictures(int64_t count);

}  // namespace apps
