// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/clocks.h"

#include <chrono>
#include <cmath>

#include "framework/core/json.h"
#include "framework/core/logging.h"

namespace cornu::distribute {

void compare_clocks(const std::string& strategy, const Exchange& exchange) {
  constexpr double kMax = 5;  // seconds
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::vector<std::string> all = exchange("clocks", Json(now).dump());
  const double first = Json::parse(all.front()).as_double();
  for (size_t worker = 1; worker < all.size(); ++worker) {
    const double ahead = Json::parse(all[worker]).as_double() - first;
    if (std::abs(ahead) <= kMax) continue;
    logging::warn(fmt::format(
        "{}: the clock of worker {} is {:.0f} s {} that of worker 0: times in their logs and of "
        "their files can't be compared. Let a time service set the clocks of all machines.",
        strategy, worker, std::abs(ahead), ahead > 0 ? "ahead of" : "behind"));
  }
}

}  // namespace cornu::distribute
