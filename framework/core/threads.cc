// SPDX-License-Identifier: Apache-2.0
// OpenMP is entered through libgomp's own entry points, so that every compiler shares the one
// runtime that oneDNN uses, and no compiler option is needed.
#include "cornu/core/threads.h"

#include <algorithm>

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
}

namespace cornu {
namespace {

struct Region {
  FunctionRef<void(int)> body;
  int parts;
};

void run_region(void* data) {
  const Region& region = *static_cast<Region*>(data);
  // A team may come out smaller than was asked for: its members take the parts in turns.
  for (int part = omp_get_thread_num(); part < region.parts; part += omp_get_num_threads()) {
    region.body(part);
  }
}

}  // namespace

int compute_threads() { return omp_get_max_threads(); }

ComputeThreadsScope::ComputeThreadsScope(int count) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(std::max(1, count));
}

ComputeThreadsScope::~ComputeThreadsScope() { omp_set_num_threads(previous_); }

void parallel_parts(int parts, FunctionRef<void(int)> body) {
  if (parts <= 1 || omp_in_parallel()) {
    for (int part = 0; part < parts; ++part) body(part);
    return;
  }
  Region region{body, parts};
  const int threads = std::min(parts, compute_threads());
  GOMP_parallel(run_region, &region, static_cast<unsigned>(threads), 0);
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t blocks = (count + grain - 1) / grain;
  const auto parts = static_cast<int>(std::min<int64_t>(blocks, compute_threads()));
  if (parts <= 1) {
    body(0, count);
    return;
  }
  parallel_parts(parts, [&](int part) {
    const int64_t begin = blocks * part / parts * grain;
    const int64_t end = std::min(count, blocks * (part + 1) / parts * grain);
    if (begin < end) body(begin, end);
  });
}

}  // namespace cornu
