// SPDX-License-Identifier: Apache-2.0
// Asset files of layers in .keras archives: "assets/layers/string_lookup/vocabulary.txt".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/io/archive.h"
#include "framework/model/layer.h"

namespace cornu {

// Returns all asset files of the model's layers: their names in the archive, and their bytes.
std::vector<std::pair<std::string, std::string>> assets_of(const Layer& model);
// Passes an archive's asset files to the layers; `path` names the archive in errors. Throws
// DataLoss, naming the layer, when a file is missing; ResourceExhausted when a file claims to have
// more than `limit` bytes; and the layers' errors for files that they can't read.
void load_assets(const ArchiveReader& archive, const std::string& path, size_t limit,
                 const Layer& model);

}  // namespace cornu
