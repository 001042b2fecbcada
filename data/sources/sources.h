// SPDX-License-Identifier: Apache-2.0
// Where elements come from. One file a source; Dataset's functions of these names document them.
#pragma once

#include "data/generator.h"
#include "data/node.h"

namespace cornu::data {

NodePtr make_generator(Generator generator, const GeneratorOptions& options);
NodePtr make_tensor_slices(const Element& table);
NodePtr make_tensors(const Element& element);
NodePtr make_range(int64_t start, int64_t stop, int64_t step);

}  // namespace cornu::data
