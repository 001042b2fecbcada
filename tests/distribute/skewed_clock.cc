// SPDX-License-Identifier: Apache-2.0
// To be preloaded: sets the time of day CORNU_TEST_CLOCK_AHEAD seconds ahead.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int failed = real(clock, time);
  const char* ahead = std::getenv("CORNU_TEST_CLOCK_AHEAD");
  if (failed == 0 && clock == CLOCK_REALTIME && ahead) time->tv_sec += std::atoll(ahead);
  return failed;
}
