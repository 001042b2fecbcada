// SPDX-License-Identifier: Apache-2.0
#include <glob.h>

#include <algorithm>

#include "data/sources/sources.h"
#include "data/transforms/transforms.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// The paths that match a shell pattern, including hidden ones.
std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_NOSORT | GLOB_PERIOD, nullptr, &found);
  std::vector<std::string> paths;
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    const std::string_view path = found.gl_pathv[i];
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name != "." && name != "..") paths.emplace_back(path);
  }
  globfree(&found);
  check<ResourceExhausted>(result != GLOB_NOSPACE, "list_files: no memory for the files of '{}'.",
                           pattern);
  return paths;
}

}  // namespace

std::vector<std::string> matching_files(const std::vector<std::string>& patterns, const char* who) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    const auto found = matching(pattern);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  check<NotFound>(!paths.empty(), "{}: no files match {}.", who,
                  patterns.empty() ? "no pattern" : "'" + join(patterns, "', '") + "'");
  std::sort(paths.begin(), paths.end());
  return paths;
}

NodePtr make_list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options) {
  const auto paths = matching_files(patterns, "list_files");
  NodePtr files = make_tensor_slices(Tensor::from(paths));
  if (!options.shuffle) return files;
  return make_shuffle(std::move(files), std::ssize(paths), {.seed = options.seed});
}

}  // namespace cornu::data
