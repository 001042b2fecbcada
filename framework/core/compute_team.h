// SPDX-License-Identifier: Apache-2.0
// The OpenMP team of the calling thread: its compute threads. libgomp makes it for a thread's first
// parallel region and keeps it as long as the thread lives. All teams of the process spin for a
// microsecond only (waiting_threads.h) once they have more threads together than there are CPUs:
// the sleeping team of a thread that built or trained a model and does nothing anymore would double
// the time of small kernels of another one that serves it. Such a thread gives its team back; teams
// of replicas' threads stay.
#pragma once

namespace cornu {

// As far as is known: a team that only oneDNN's or the program's own regions have used isn't.
bool has_compute_team();
void note_compute_team();  // for parallel_parts

// Ends the team's threads; the next parallel region makes a new team, in some 50 us a thread. What
// a program's own OpenMP regions left in its threads (threadprivate data, affinities set by hand)
// ends with them. Does nothing within a parallel region, nor where GOMP_SPINCOUNT or
// OMP_WAIT_POLICY is set: then the user has decided how teams wait.
void release_compute_team();

}  // namespace cornu
