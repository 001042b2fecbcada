// SPDX-License-Identifier: Apache-2.0
// Writes files for TensorBoard's projector, which shows embeddings in three dimensions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/core/variable.h"

namespace cornu::callbacks {

struct Embeddings {
  std::string layer;
  Variable weight;  // (rows, size)
};

// Writes each weight as <path>.tsv, and projector_config.pbtxt, which lists them, to `folder`.
// `metadata`: label files by layer name; "" if there is only one layer. Throws InvalidArgument for
// other layer names; file errors are those of write_file_atomically.
void write_projector(const std::string& folder, const std::vector<Embeddings>& embeddings,
                     const std::map<std::string, std::string>& metadata);

}  // namespace cornu::callbacks
