// SPDX-License-Identifier: Apache-2.0
// What files.h has, for paths that are strings.
#pragma once

#include <string>
#include <vector>

#include "tests/support/files.h"

namespace cornu::test {

using testing::contains;

// An empty folder, removed with its contents on destruction.
class Scratch {
 public:
  std::string path() const { return folder_.path().string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Returns the names in the folder, sorted.
  std::vector<std::string> names() const { return testing::names_in(folder_.path()); }

 private:
  testing::TempFolder folder_;
};

inline std::string contents(const std::string& path) { return testing::read_file(path); }
inline void put(const std::string& path, const std::string& text) {
  testing::write_file(path, text);
}

}  // namespace cornu::test
