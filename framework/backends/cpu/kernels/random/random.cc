// SPDX-License-Identifier: Apache-2.0
// Random numbers: element i comes from a word of philox(key, i / 4) that depends on i alone, so any
// number of threads gives the same bits.
#include "framework/backends/cpu/kernels/random/random.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kWordsAtOnce = 1024;  // words made at a time: they stay in the first-level cache
constexpr int64_t kWordsGrain = 8 * kWordsAtOnce;

uint64_t key_of(const KernelArgs& args) {
  const auto* seed = static_cast<const uint32_t*>(args.in[0]);
  return seed[0] | uint64_t{seed[1]} << 32;
}

// Calls `visit(words, first element, elements)` for chunks of all elements, in parallel. An element
// takes `per_element` words; a chunk starts with a block of its own.
template <class Visit>
void each_chunk(uint64_t key, int64_t count, int64_t per_element, Visit visit) {
  const auto make_words = simd_random().words;
  const int64_t chunk = kWordsAtOnce / per_element;
  parallel_for(count, kWordsGrain / per_element, [&](int64_t begin, int64_t end) {
    alignas(64) std::array<uint32_t, kWordsAtOnce> words;
    for (int64_t i = begin; i < end; i += chunk) {
      const int64_t elements = std::min(chunk, end - i);
      make_words(key, static_cast<uint64_t>(i * per_element / 4), (elements * per_element + 3) / 4,
                 words.data());
      visit(words.data(), i, elements);
    }
  });
}

std::unique_ptr<Kernel> make_bits(const KernelSpec& spec) {
  return make_kernel([count = spec.outputs[0].shape.num_elements()](const KernelArgs& args) {
    auto* out = static_cast<uint32_t*>(args.out[0]);
    each_chunk(key_of(args), count, 1, [&](const uint32_t* words, int64_t first, int64_t elements) {
      std::copy_n(words, elements, out + first);
    });
  });
}

// A kernel of `convert(words, out, elements)`.
template <class T>
std::unique_ptr<Kernel> make_converted(const KernelSpec& spec,
                                       void (*convert)(const uint32_t*, T*, int64_t)) {
  constexpr int64_t kWords = sizeof(T) / sizeof(uint32_t);
  return make_kernel(
      [count = spec.outputs[0].shape.num_elements(), convert](const KernelArgs& args) {
        T* out = static_cast<T*>(args.out[0]);
        each_chunk(key_of(args), count, kWords,
                   [&](const uint32_t* words, int64_t first, int64_t elements) {
                     convert(words, out + first, elements);
                   });
      });
}

// As many bits as T's significand holds, so that nothing rounds up to 1.
template <class T, int kBits>
std::unique_ptr<Kernel> make_half_uniform(const KernelSpec& spec) {
  return make_kernel([count = spec.outputs[0].shape.num_elements()](const KernelArgs& args) {
    T* out = static_cast<T*>(args.out[0]);
    each_chunk(key_of(args), count, 1, [&](const uint32_t* words, int64_t first, int64_t elements) {
      for (int64_t i = 0; i < elements; ++i) {
        out[first + i] =
            T(static_cast<float>(words[i] >> (32 - kBits)) / static_cast<float>(1 << kBits));
      }
    });
  });
}

std::unique_ptr<Kernel> make_uniform(const KernelSpec& spec) {
  switch (spec.outputs[0].dtype) {
    case DType::Float32:
      return make_converted<float>(spec, simd_random().unit_floats);
    case DType::Float64:
      return make_converted<double>(spec, simd_random().unit_doubles);
    case DType::Float16:
      return make_half_uniform<float16, 11>(spec);
    case DType::BFloat16:
      return make_half_uniform<bfloat16, 8>(spec);
    default:
      return nullptr;
  }
}

// `convert` wants whole pairs; the last number may be half of one.
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
      return make_converted<float>(spec, normal_pairs<float, &SimdRandom::normal_floats>);
    case DType::Float64:
      return make_converted<double>(spec, normal_pairs<double, &SimdRandom::normal_doubles>);
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
  table.add("random_normal", make_normal);
  table.add("random_permutation", make_permutation);
}

}  // namespace cornu::cpu
