// SPDX-License-Identifier: Apache-2.0
// What to use here for the public names of Keras that are neither layers and the like nor ops.
#pragma once

#include <string>
#include <vector>

namespace cornu::test {

// Of a name, or else of all of its module ("keras.tree", "flatten"); "" where nothing is said.
std::string used_here(const std::string& module, const std::string& name);
// The names and modules that used_here knows and Keras hasn't.
std::string unknown_names();
// Words with commas between them, in lines of up to 100 characters.
std::string wrapped(const std::vector<std::string>& words);
// The section of docs/keras_parity.md.
std::string elsewhere_section();

}  // namespace cornu::test
