// SPDX-License-Identifier: Apache-2.0
// A stream that runs on a thread of its own.
#pragma once

#include "data/node.h"

namespace cornu::data {

// Up to `buffer_size` elements ahead of who takes them. The thread starts with the first next() and
// ends with the stream. With 0, on the thread that calls; positions are the same. `pass`: whose
// stream it is.
StreamPtr<Element> make_prefetch_stream(StreamPtr<Element> input, int64_t buffer_size,
                                        const Pass& pass);

}  // namespace cornu::data
