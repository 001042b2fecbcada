// SPDX-License-Identifier: Apache-2.0
// Wraps calls of libpng, which reports errors with longjmp. Avoids including libpng's header here.
#pragma once

#include "framework/core/threads.h"

struct png_struct_def;

namespace cornu {

// The error pointer that png_failed expects.
struct PngErrors {
  char message[256] = "out of memory";
};

// Callbacks for libpng's errors and warnings.
[[noreturn]] void png_failed(png_struct_def* png, const char* message);
void png_warned(png_struct_def* png, const char* message);

// Returns whether `body`, which calls libpng, completed. libpng may jump out of it, so it must not
// hold objects with destructors.
bool run_png(png_struct_def* png, FunctionRef<void()> body);

}  // namespace cornu
