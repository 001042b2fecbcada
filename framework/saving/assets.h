// SPDX-License-Identifier: Apache-2.0
// Files of layers in .keras archives: "assets/layers/string_lookup/vocabulary.txt".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/io/archive.h"
#include "framework/model/layer.h"

namespace cornu {

// All files of the model's layers: their names in the archive, and their bytes.
std::vector<std::pair<std::string, std::string>> assets_of(const Layer& model);
// Gives layers what an archive has for them; `path` is what errors call it. DataLoss, naming the
// layer, when a file is missing; ResourceExhausted when one says that it has more than `limit`
// bytes; what the layers throw of what they can't read.
void load_assets(const ArchiveReader& archive, const std::string& path, size_t limit,
                 const Layer& model);

}  // namespace cornu
