// SPDX-License-Identifier: Apache-2.0
// The example of docs/checkpoints.md for several workers: all but the chief save to a temporary
// location, as in TensorFlow's tutorial. tests/distribute saves this way.
#pragma once

#include <cornu/cornu.h>

#include <filesystem>

namespace cornu::testing {

namespace fs = std::filesystem;

inline bool is_chief() {
  const distribute::ClusterResolver resolver = *distribute::resolve_default();
  return distribute::is_chief(resolver.cluster_spec(), *resolver.task());
}

inline fs::path write_filepath(const fs::path& path) {
  if (is_chief()) return path;
  const auto task = distribute::resolve_default()->task();
  const fs::path folder = path.parent_path() / fmt::format("workertemp_{}", task->index);
  fs::create_directories(folder);
  return folder / path.filename();
}

}  // namespace cornu::testing
