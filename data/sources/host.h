// SPDX-License-Identifier: Apache-2.0
// Prepares values for pipelines, which run on the host.
#pragma once

#include "data/element.h"

namespace cornu::data {

// The same element with strongly typed values in host memory. Throws InvalidArgument, naming `who`,
// when it is empty or has a tensor without a value.
Element on_host(const Element& element, const char* who);

}  // namespace cornu::data
