// SPDX-License-Identifier: Apache-2.0
#include "framework/core/compute_team.h"

#include "framework/core/waiting_threads.h"

extern "C" {
int omp_in_parallel(void);
int omp_pause_resource_all(int kind);
}

namespace cornu {
namespace {

thread_local bool has_team = false;

}  // namespace

bool has_compute_team() { return has_team; }
void note_compute_team() { has_team = true; }

void release_compute_team() {
  constexpr int kSoft = 1;  // omp_pause_soft
  if (user_decides_waiting() || omp_in_parallel()) return;
  omp_pause_resource_all(kSoft);
  has_team = false;
}

}  // namespace cornu
