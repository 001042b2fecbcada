// SPDX-License-Identifier: Apache-2.0
#include "framework/core/random.h"

#include <algorithm>
#include <random>

namespace cornu {
namespace {

SeedSequence from_system() {
  std::random_device device;
  return {uint64_t{device()} << 32 | device(), 0, false};
}

thread_local SeedSequence sequence = from_system();

}  // namespace

void PhiloxEngine::refill() {
  for (size_t block = 0; block < kBlocks; ++block) {
    std::ranges::copy(philox(key_, counter_ + block, stream_), words_.begin() + 4 * block);
  }
  counter_ += kBlocks;
  used_ = 0;
}

void PhiloxEngine::go_to(uint64_t words) {
  counter_ = words / words_.size() * kBlocks;
  refill();
  used_ = words % words_.size();
}

uint64_t PhiloxEngine::below(uint64_t bound) {
  for (;;) {
    const uint64_t word = uint64_t{(*this)()} << 32 | (*this)();
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{word} * bound;
    const auto low = static_cast<uint64_t>(product);
    if (low >= bound || low >= -bound % bound) return static_cast<uint64_t>(product >> 64);
  }
}

void set_random_seed(uint64_t seed) { sequence = {seed, 0, true}; }

uint64_t next_key() {
  const auto words = philox(sequence.seed, sequence.drawn++, /*stream=*/0x5eed);
  return uint64_t{words[1]} << 32 | words[0];
}

uint64_t next_seed() {
  // Keras's seeds are below 2^31; staying in that range keeps them exact in JSON and int32.
  return static_cast<uint32_t>(next_key()) >> 1;
}

SeedSequence seed_sequence() { return sequence; }
void restore_seed_sequence(const SeedSequence& saved) { sequence = saved; }

}  // namespace cornu
