// SPDX-License-Identifier: Apache-2.0
// What to use in Cornu for the public names of Keras other than layers and similar classes, and
// ops.
#pragma once

#include <string>
#include <vector>

namespace cornu::test {

// Returns the entry of a name, or else of its whole module ("keras.tree", "flatten"); "" when there
// is none.
std::string used_here(const std::string& module, const std::string& name);
// Returns the names and modules that used_here knows but Keras doesn't have.
std::string unknown_names();
// Joins words with commas, in lines of up to 100 characters.
std::string wrapped(const std::vector<std::string>& words);
// Returns the section of docs/keras_parity.md.
std::string elsewhere_section();

}  // namespace cornu::test
