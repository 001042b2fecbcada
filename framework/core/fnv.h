// SPDX-License-Identifier: Apache-2.0
// FNV-1a (Fowler, Noll, Vo): hashes that are the same on every machine, for names on disk and for
// comparisons between processes. Not secure against deliberate collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace cornu {

__extension__ typedef unsigned __int128 Word128;

// A hash of 64 bits (Word = uint64_t) or 128 (Word128, where collisions don't occur in practice).
template <class Word>
class Fnv {
 public:
  constexpr Fnv& add(uint64_t unit) {
    state_ = (state_ ^ unit) * kPrime;
    return *this;
  }
  constexpr Fnv& add(std::string_view text) {
    for (const char c : text) add(uint64_t{static_cast<unsigned char>(c)});
    return *this;
  }
  constexpr Word value() const { return state_; }

 private:
  static constexpr bool kWide = sizeof(Word) == 16;
  static constexpr Word kPrime =
      kWide ? (Word{1} << (kWide ? 88 : 0)) + 0x13b : Word{1099511628211u};
  static constexpr Word kBasis =
      kWide ? (Word{0x6c62272e07bb0142u} << (kWide ? 64 : 0)) + 0x62b821756295c58du
            : Word{14695981039346656037u};
  Word state_ = kBasis;
};

inline constexpr uint64_t high_word(Word128 word) { return static_cast<uint64_t>(word >> 64); }
inline constexpr uint64_t low_word(Word128 word) { return static_cast<uint64_t>(word); }

}  // namespace cornu
