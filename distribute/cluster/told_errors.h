// SPDX-License-Identifier: Apache-2.0
// Errors of one worker that others throw, too.
#pragma once

#include <exception>
#include <string>

#include "framework/core/error.h"

namespace cornu::distribute {

// Of errors that aren't the library's: Internal.
StatusCode code_of(const std::exception& error);
// An error of this kind; Internal for numbers that are no kind's.
std::exception_ptr error_of(StatusCode code, const std::string& text);

}  // namespace cornu::distribute
