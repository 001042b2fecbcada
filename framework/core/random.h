// SPDX-License-Identifier: Apache-2.0
// The counter-based random number generator used throughout, and the source of seeds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace cornu {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): returns
// four words for each 128-bit counter under a 64-bit key. Stateless, so any thread can generate any
// part of a stream.
inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter, uint64_t stream = 0) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                               static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// A number in [0, 1) with 24 random bits.
inline float to_unit_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// A number in [0, 1) with 53 random bits.
inline double to_unit_double(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// A sequential generator over one Philox stream, for host code (shuffles, strokes of drawn digits).
// Satisfies UniformRandomBitGenerator.
class PhiloxEngine {
 public:
  using result_type = uint32_t;
  explicit PhiloxEngine(uint64_t key, uint64_t stream = 0) : key_(key), stream_(stream) {}
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return UINT32_MAX; }
  uint32_t operator()() {
    if (used_ == words_.size()) refill();
    return words_[used_++];
  }
  // Unbiased in [0, bound), bound > 0 (Lemire 2019).
  uint64_t below(uint64_t bound);
  float uniform() { return to_unit_float((*this)()); }

  // words() returns how many words have been drawn; go_to() moves the engine to the position after
  // the first `words` words.
  uint64_t words() const { return 4 * counter_ - (words_.size() - used_); }
  void go_to(uint64_t words);

 private:
  static constexpr size_t kBlocks = 4;  // computed together: their rounds are independent

  void refill();

  uint64_t key_;
  uint64_t stream_;
  uint64_t counter_ = 0;
  std::array<uint32_t, 4 * kBlocks> words_{};
  size_t used_ = 4 * kBlocks;
};

// keras.utils.set_random_seed: seeds everything on this thread that isn't given its own seed
// (initializers, dropout, shuffles). Without it, seeds come from the system.
void set_random_seed(uint64_t seed);

// The next seed of this thread's sequence, below 2^31.
uint64_t next_seed();
// The next draw of the same sequence, with all 64 bits: a key of Philox.
uint64_t next_key();

// Returns `seed` if given, else the next seed of the sequence.
inline uint64_t seed_or_next(const std::optional<int64_t>& seed) {
  return seed ? static_cast<uint64_t>(*seed) : next_seed();
}

// The position of this thread's seed sequence, to be saved with a run and restored.
struct SeedSequence {
  uint64_t seed = 0;
  uint64_t drawn = 0;
  bool chosen = false;  // by set_random_seed; otherwise by the system
};
SeedSequence seed_sequence();
void restore_seed_sequence(const SeedSequence& sequence);

// Until the guard is destroyed, this thread uses the sequence that set_random_seed(seed) starts.
class [[nodiscard]] SeedSequenceScope {
 public:
  explicit SeedSequenceScope(uint64_t seed) : before_(seed_sequence()) { set_random_seed(seed); }
  ~SeedSequenceScope() { restore_seed_sequence(before_); }
  SeedSequenceScope(const SeedSequenceScope&) = delete;
  SeedSequenceScope& operator=(const SeedSequenceScope&) = delete;

 private:
  SeedSequence before_;
};

}  // namespace cornu
