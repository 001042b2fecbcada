// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::distribute {

// Warns about workers whose clocks differ from worker 0's by several seconds. `exchange` returns
// what each worker says, by worker; all workers have just synchronized, so that they read their
// clocks at about the same time.
void compare_clocks(
    const std::string& strategy,
    const std::function<std::vector<std::string>(std::string_view what, const std::string& own)>&
        exchange);

}  // namespace cornu::distribute
