// SPDX-License-Identifier: Apache-2.0
// What a group's workers tell each other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::distribute {

// ProcessGroup's exchange: returns what each worker says, by worker.
using Exchange =
    std::function<std::vector<std::string>(std::string_view what, const std::string& own)>;

}  // namespace cornu::distribute
