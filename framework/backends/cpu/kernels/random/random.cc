// SPDX-License-Identifier: Apache-2.0
// Random numbers: element i is computed from a word of philox(key, i / 4) that depends on i only,
// so any number of threads produces the same bits.
#include "framework/backends/cpu/kernels/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kWordsAtOnce = 1024;  // words of a batch: they stay in the first-level cache
constexpr int64_t kWordsGrain = 8 * kWordsAtOnce;

uint64_t key_of(const KernelArgs& args) {
  const auto* seed = static_cast<const uint32_t*>(args.in[0]);
  return seed[0] | uint64_t{seed[1]} << 32;
}

// A kernel of `convert(words, out, elements)`, which computes numbers of type T from words that
// begin with a block. Element i is number i of the key's sequence, or number `offset` + i with an
// offset operand.
template <class T, class Convert>
std::unique_ptr<Kernel> make_numbers(const KernelSpec& spec, Convert convert) {
  constexpr int64_t kWords = std::max<int64_t>(1, sizeof(T) / sizeof(uint32_t));
  constexpr int64_t kChunk = kWordsAtOnce / kWords;
  constexpr int64_t kGroup = 4;  // numbers from whole blocks
  const bool placed = spec.inputs.size() > 1;
  return make_kernel([=, count = spec.outputs[0].shape.num_elements()](const KernelArgs& args) {
    const uint64_t key = key_of(args);
    const auto make_words = simd_random().words;
    const int64_t offset = placed ? *static_cast<const int64_t*>(args.in[1]) : 0;
    T* out = static_cast<T*>(args.out[0]);
    parallel_for(count, kWordsGrain / kWords, [&](int64_t begin, int64_t end) {
      alignas(64) std::array<uint32_t, kWordsAtOnce> words;
      std::array<T, kChunk> group;
      int64_t elements = 0;
      for (int64_t i = begin; i < end; i += elements) {
        const int64_t before = (offset + i) % kGroup;  // elements of its group before element i
        elements = std::min(kChunk - before, end - i);
        const int64_t first_word = (offset + i - before) * kWords;
        make_words(key, static_cast<uint64_t>(first_word / 4),
                   ((before + elements) * kWords + 3) / 4, words.data());
        if (before == 0) {
          convert(words.data(), out + i, elements);
        } else {
          convert(words.data(), group.data(), before + elements);
          std::copy_n(group.data() + before, elements, out + i);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_bits(const KernelSpec& spec) {
  return make_numbers<uint32_t>(spec, [](const uint32_t* words, uint32_t* out, int64_t count) {
    std::copy_n(words, count, out);
  });
}

// Uses as many bits as T's significand holds, so that nothing rounds up to 1.
template <class T, int kBits>
std::unique_ptr<Kernel> make_half_uniform(const KernelSpec& spec) {
  return make_numbers<T>(spec, [](const uint32_t* words, T* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = T(static_cast<float>(words[i] >> (32 - kBits)) / static_cast<float>(1 << kBits));
    }
  });
}

std::unique_ptr<Kernel> make_uniform(const KernelSpec& spec) {
  switch (spec.outputs[0].dtype) {
    case DType::Float32:
      return make_numbers<float>(spec, simd_random().unit_floats);
    case DType::Float64:
      return make_numbers<double>(spec, simd_random().unit_doubles);
    case DType::Float16:
      return make_half_uniform<float16, 11>(spec);
    case DType::BFloat16:
      return make_half_uniform<bfloat16, 8>(spec);
    default:
      return nullptr;
  }
}

// float32 numbers are compared before they are computed: they are the upper 24 bits of their words.
std::unique_ptr<Kernel> make_mask(const KernelSpec& spec) {
  const double least = std::ceil(spec.attributes.get_double("least") * 0x1p24);
  const auto bits = static_cast<uint32_t>(std::clamp(least, 0.0, 0x1p24));
  return make_numbers<bool>(spec, [bits](const uint32_t* words, bool* out, int64_t count) {
    simd_random().masks(words, bits, out, count);
  });
}

// `convert` takes whole pairs; the last number may be half of one.
template <class T, void (*SimdRandom::*kConvert)(const uint32_t*, T*, int64_t)>
void normal_pairs(const uint32_t* words, T* out, int64_t count) {
  const int64_t even = count / 2 * 2;
  const auto convert = simd_random().*kConvert;
  convert(words, out, even);
  if (even == count) return;
  std::array<T, 2> last;
  convert(words + even * static_cast<int64_t>(sizeof(T) / sizeof(uint32_t)), last.data(), 2);
  out[even] = last[0];
}

std::unique_ptr<Kernel> make_normal(const KernelSpec& spec) {
  switch (spec.outputs[0].dtype) {
    case DType::Float32:
      return make_numbers<float>(spec, normal_pairs<float, &SimdRandom::normal_floats>);
    case DType::Float64:
      return make_numbers<double>(spec, normal_pairs<double, &SimdRandom::normal_doubles>);
    default:
      return through_float32(spec, make_normal);
  }
}

std::unique_ptr<Kernel> make_permutation(const KernelSpec& spec) {
  return make_kernel([count = spec.attributes.get_int("count")](const KernelArgs& args) {
    auto* out = static_cast<int32_t*>(args.out[0]);
    std::iota(out, out + count, 0);
    PhiloxEngine engine(key_of(args));
    for (int64_t i = count - 1; i > 0; --i) {
      std::swap(out[i], out[engine.below(static_cast<uint64_t>(i) + 1)]);
    }
  });
}

}  // namespace

void register_random_kernels(KernelTable& table) {
  table.add("random_bits", make_bits);
  table.add("random_uniform", make_uniform);
  table.add("random_mask", make_mask);
  table.add("random_normal", make_normal);
  table.add("random_permutation", make_permutation);
}

}  // namespace cornu::cpu
