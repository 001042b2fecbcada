// SPDX-License-Identifier: Apache-2.0
// Imports models that a Python script has written, with inputs and expected outputs.
#pragma once

#include <string>

namespace cornu::test {

// Checks each model in a list that onnx_models.py's class Cases wrote: it predicts the outputs,
// also after it was saved as .keras and loaded again, or can't be read, if that is expected. Prints
// how many there are of each.
void check_read_models(const std::string& path);

}  // namespace cornu::test
