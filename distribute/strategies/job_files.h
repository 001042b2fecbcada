// SPDX-License-Identifier: Apache-2.0
// Files by which workers report the progress of their job to whatever launched them.
#pragma once

#include "framework/core/json.h"

namespace cornu::distribute {

// Reports that the program has begun to compute with others, if the launcher asks for it
// (CORNU_BEGUN_FILE).
void tell_that_job_begins();

// Reports that all workers have reached the end of their programs, if the launcher asks for it
// (CORNU_ENDED_FILE). `obsolete`: what is to be removed then, from JobEnd::to_json().
void tell_that_job_is_over(const Json& obsolete);
// Whether a worker has reported the end: the file isn't empty.
bool job_is_over();
// Removes what was to be removed at the end, on behalf of a worker that was killed before it could
// do so.
void remove_obsolete_states();
// Retracts a reported end. A program may have several strategies in sequence: the end of the last
// one wasn't the end of the job.
void take_back_end();

}  // namespace cornu::distribute
