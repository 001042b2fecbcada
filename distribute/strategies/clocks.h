// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::distribute {

// Warns of workers whose clocks are some seconds off worker 0's. `exchange` gives what each worker
// says, by worker; all have just met, so that they read their clocks at about the same time.
void compare_clocks(
    const std::string& strategy,
    const std::function<std::vector<std::string>(std::string_view what, const std::string& own)>&
        exchange);

}  // namespace cornu::distribute
