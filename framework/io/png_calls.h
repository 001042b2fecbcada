// SPDX-License-Identifier: Apache-2.0
// Calls of libpng, whose errors are jumps.
#pragma once

#include <png.h>

#include <csetjmp>
#include <cstdio>

#include "framework/core/threads.h"

namespace cornu {

struct PngErrors {
  char message[256] = "out of memory";
};

[[noreturn]] inline void png_failed(png_structp png, png_const_charp message) {
  auto* errors = static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors->message, sizeof(errors->message), "%s", message);
  png_longjmp(png, 1);
}

inline void png_warned(png_structp, png_const_charp) {}

// Whether `body`, which calls libpng, came to its end. libpng jumps out of it: it holds nothing
// with a destructor.
[[gnu::noinline]] inline bool run_png(png_structp png, FunctionRef<void()> body) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  body();
  return true;
}

}  // namespace cornu
