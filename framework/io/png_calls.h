// SPDX-License-Identifier: Apache-2.0
// Calls of libpng, whose errors are jumps. libpng's header stays out of this one.
#pragma once

#include "framework/core/threads.h"

struct png_struct_def;

namespace cornu {

// What png_failed knows as the error pointer.
struct PngErrors {
  char message[256] = "out of memory";
};

// The functions that libpng calls for errors and warnings.
[[noreturn]] void png_failed(png_struct_def* png, const char* message);
void png_warned(png_struct_def* png, const char* message);

// Whether `body`, which calls libpng, came to its end. libpng jumps out of it: it holds nothing
// with a destructor.
bool run_png(png_struct_def* png, FunctionRef<void()> body);

}  // namespace cornu
