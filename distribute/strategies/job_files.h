// SPDX-License-Identifier: Apache-2.0
// Files by which workers tell what has started them how far their job is.
#pragma once

#include "framework/core/json.h"

namespace cornu::distribute {

// Where what started the program wants to know that it has begun to compute with others
// (CORNU_BEGUN_FILE).
void tell_that_job_begins();

// Where it wants to know that all workers have come to the end of theirs (CORNU_ENDED_FILE).
// `obsolete`: what is removed then, JobEnd::to_json().
void tell_that_job_is_over(const Json& obsolete);
// Whether a worker has said so: the file has something in it.
bool job_is_over();
// What was to be removed then, in place of a worker that was killed before it could do so.
void remove_obsolete_states();
// A program may have one strategy after the other: then the end of the last one wasn't that of all.
void take_back_end();

}  // namespace cornu::distribute
