// SPDX-License-Identifier: Apache-2.0
// A stream that runs on its own thread.
#pragma once

#include "data/node.h"

namespace cornu::data {

// Prefetches up to `buffer_size` elements. The thread starts with the first next() and ends with
// the stream. With 0, elements are computed on the calling thread; positions are the same. `pass`
// is the pass that the stream belongs to.
StreamPtr<Element> make_prefetch_stream(StreamPtr<Element> input, int64_t buffer_size,
                                        const Pass& pass);

}  // namespace cornu::data
