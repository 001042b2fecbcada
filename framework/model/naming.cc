// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "framework/model/layer.h"

namespace cornu {
namespace {

struct Names {
  std::mutex mutex;
  std::map<std::string, int> used;
};

Names& names() {
  static Names* names = new Names;
  return *names;
}

}  // namespace

std::string unique_name(const std::string& prefix) {
  std::lock_guard lock(names().mutex);
  const int number = names().used[prefix]++;
  return number == 0 ? prefix : prefix + "_" + std::to_string(number);
}

void clear_session() {
  std::lock_guard lock(names().mutex);
  names().used.clear();
}

}  // namespace cornu
