// SPDX-License-Identifier: Apache-2.0
// Whether this is a build for fuzzing (tests/fuzz), which isn't for release.
#pragma once

namespace cornu {

// Checksums keep a fuzzer from reaching the code after them, so fuzzing builds ignore them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr bool kChecksumsMatter = false;
#else
inline constexpr bool kChecksumsMatter = true;
#endif

}  // namespace cornu
