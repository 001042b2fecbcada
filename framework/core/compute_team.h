// SPDX-License-Identifier: Apache-2.0
// The OpenMP team of the calling thread: its compute threads. libgomp creates the team for a
// thread's first parallel region and keeps it for as long as the thread lives. Once all teams of
// the process have more threads together than there are CPUs, they spin for only a microsecond
// (waiting_threads.h): the sleeping team of a thread that built or trained a model and is now idle
// would double the time of small kernels on another thread that serves it. Such a thread releases
// its team; the teams of replica threads stay.
#pragma once

namespace cornu {

// Whether this thread is known to have a team. Teams used only by oneDNN's or the program's own
// parallel regions are not noticed.
bool has_compute_team();
void note_compute_team();  // called by parallel_parts

// Ends the team's threads; the next parallel region creates a new team, at about 50 us per thread.
// State that the program's own OpenMP regions left in those threads (threadprivate data, manually
// set affinities) is lost with them. A no-op inside a parallel region, and when GOMP_SPINCOUNT or
// OMP_WAIT_POLICY is set, since the user has then decided how teams wait.
void release_compute_team();

}  // namespace cornu
