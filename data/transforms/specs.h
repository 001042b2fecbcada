// SPDX-License-Identifier: Apache-2.0
// Combines the specs of elements that have to match.
#pragma once

#include "data/element.h"

namespace cornu::data {

// The common spec of both: axes that differ become unknown. Throws InvalidArgument, naming `who`,
// when the dtypes, ranks or structures differ.
ElementSpec merged(const ElementSpec& a, const ElementSpec& b, const char* who);

}  // namespace cornu::data
