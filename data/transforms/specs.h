// SPDX-License-Identifier: Apache-2.0
// Kinds of elements that have to go together.
#pragma once

#include "data/element.h"

namespace cornu::data {

// Both kinds as one: axes that differ become unknown. InvalidArgument, naming `who`, when the
// dtypes, ranks or structures differ.
ElementSpec merged(const ElementSpec& a, const ElementSpec& b, const char* who);

}  // namespace cornu::data
