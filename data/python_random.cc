// SPDX-License-Identifier: Apache-2.0
#include "data/python_random.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <vector>

namespace cornu::data {
namespace {

// The Mersenne twister's init_by_array, which the standard library lacks.
std::mt19937 seeded_by(const std::vector<uint32_t>& key) {
  constexpr size_t kWords = std::mt19937::state_size;
  std::vector<uint32_t> words(kWords);
  words[0] = 19650218;
  const auto mixed = [&](size_t i) { return words[i - 1] ^ (words[i - 1] >> 30); };
  for (size_t i = 1; i < kWords; ++i) {
    words[i] = 1812433253u * mixed(i) + static_cast<uint32_t>(i);
  }
  size_t i = 1;
  const auto advance = [&] {
    if (++i < kWords) return;
    words[0] = words[kWords - 1];
    i = 1;
  };
  for (size_t k = 0; k < std::max(kWords, key.size()); ++k) {
    const size_t j = k % key.size();
    words[i] = (words[i] ^ (mixed(i) * 1664525u)) + key[j] + static_cast<uint32_t>(j);
    advance();
  }
  for (size_t k = 1; k < kWords; ++k) {
    words[i] = (words[i] ^ (mixed(i) * 1566083941u)) - static_cast<uint32_t>(i);
    advance();
  }
  words[0] = 0x80000000u;
  std::stringstream text;
  for (const uint32_t word : words) text << word << ' ';
  text << kWords;  // all words are used up
  std::mt19937 engine;
  text >> engine;
  return engine;
}

std::vector<uint32_t> key_of(int64_t seed) {
  const uint64_t size =
      seed < 0 ? uint64_t{0} - static_cast<uint64_t>(seed) : static_cast<uint64_t>(seed);
  std::vector<uint32_t> key = {static_cast<uint32_t>(size)};
  if (size >> 32 != 0) key.push_back(static_cast<uint32_t>(size >> 32));
  return key;
}

}  // namespace

PythonRandom::PythonRandom(int64_t seed) : engine_(seeded_by(key_of(seed))) {}

uint64_t PythonRandom::below(uint64_t count) {
  const int bits = std::bit_width(count);
  for (;;) {
    const uint64_t value = uint64_t{engine_()} >> (32 - bits);
    if (value < count) return value;
  }
}

}  // namespace cornu::data
