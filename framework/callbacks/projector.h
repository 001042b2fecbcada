// SPDX-License-Identifier: Apache-2.0
// Files for TensorBoard's projector, which shows embeddings in three dimensions.
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

// Writes each weight as <path>.tsv, and projector_config.pbtxt, which names them, into `folder`.
// `metadata`: files of labels by layer; by "" that of the only one. InvalidArgument for other
// layers' names; errors of files as write_file_atomically's.
void write_projector(const std::string& folder, const std::vector<Embeddings>& embeddings,
                     const std::map<std::string, std::string>& metadata);

}  // namespace cornu::callbacks
