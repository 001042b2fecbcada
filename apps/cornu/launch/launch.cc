// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "apps/cornu/launch/error.h"
#include "apps/cornu/launch/options.h"
#include "apps/cornu/launch/plan.h"
#include "apps/cornu/launch/supervisor.h"

namespace apps {

int launch(const LaunchOptions& options) {
  if (options.command.empty()) {
    throw LaunchError(
        "expected a program behind --, like: cornu launch -n 2 -- ./program --epochs 3", 2);
  }
  if (options.elastic > std::max(options.workers, 1)) {
    throw LaunchError(fmt::format("--elastic: expected at most as many workers as there are, {}, "
                                  "got {}",
                                  std::max(options.workers, 1), options.elastic),
                      2);
  }
  if (options.elastic > 0 && !options.hosts.empty()) {
    throw LaunchError("--elastic is for workers that are started on this machine, without --hosts",
                      2);
  }
  if (!options.hosts.empty()) {
    const std::string text = commands_for_hosts(options);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  return Supervisor(options).run();
}

}  // namespace apps
