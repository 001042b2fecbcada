// SPDX-License-Identifier: Apache-2.0
// CUDA's built-in names for a C++ compiler, without including any header of the host: each would
// take longer to compile than most kernels do.
#include "tests/support/cuda/kernel_text.h"

#include <fmt/format.h>

#include "framework/backends/cuda/sources.h"

namespace cornu::cuda::simulated {
namespace {

// Function attributes, built-in variables, barriers. __shared__ arrays are the only variables
// without an initial value, so they are located between __bss_start and _end.
constexpr std::string_view kLanguage = R"cuda(
#define CORNU_SIMULATED 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(BYTES) __attribute__((aligned(BYTES)))
#define alignas(BYTES) __attribute__((aligned(BYTES)))
#define DYNAMIC_SHARED(NAME) char* const NAME = cornu_state.dynamic_shared

struct uint3 { unsigned x, y, z; };
struct CornuState {
  uint3 thread, block, block_size, grid_size;
  char* dynamic_shared;
  void (*sync_block)(int line);
  void (*sync_warp)(int line);
  const unsigned long long* (*exchange)(unsigned long long value, int line);
  void (*access)(const void* address, unsigned long bytes, bool writes, const void* code);
  void (*misaligned)(int line, unsigned long alignment);
};
static CornuState cornu_state = {{1, 1, 1}};
#define threadIdx cornu_state.thread
#define blockIdx cornu_state.block
#define blockDim cornu_state.block_size
#define gridDim cornu_state.grid_size
static const int warpSize = 32;

#define __syncthreads() cornu_state.sync_block(__LINE__)
#define __syncwarp(...) cornu_state.sync_warp(__LINE__)
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class Number>
inline unsigned long long cornu_bits(Number value) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class Number>
inline Number cornu_from_bits(unsigned long long bits) {
  Number value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline int cornu_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
// The value of the lane that `from` gives for this one's number within its group of `width`; one's
// own value where that lane lies outside of the group.
template <class Number, class From>
inline Number cornu_shuffle(Number value, int width, int line, From from) {
  const unsigned long long* all = cornu_state.exchange(cornu_bits(value), line);
  const int lane = cornu_lane();
  const int source = from(lane % width);
  if (source < 0 || source >= width) return value;
  return cornu_from_bits<Number>(all[lane / width * width + source]);
}
template <class Number>
inline Number cornu_shfl(int line, unsigned, Number value, int lane, int width = 32) {
  return cornu_shuffle(value, width, line, [=](int) { return lane & (width - 1); });
}
template <class Number>
inline Number cornu_shfl_up(int line, unsigned, Number value, unsigned by, int width = 32) {
  return cornu_shuffle(value, width, line, [=](int own) { return own - (int)by; });
}
template <class Number>
inline Number cornu_shfl_down(int line, unsigned, Number value, unsigned by, int width = 32) {
  return cornu_shuffle(value, width, line, [=](int own) { return own + (int)by; });
}
template <class Number>
inline Number cornu_shfl_xor(int line, unsigned, Number value, int mask, int width = 32) {
  return cornu_shuffle(value, width, line, [=](int own) { return own ^ mask; });
}
inline unsigned cornu_ballot(int line, unsigned mask, bool condition) {
  const unsigned long long* all = cornu_state.exchange(condition, line);
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane) result |= (unsigned)(all[lane] == 1) << lane;
  return result & mask;
}
#define __shfl_sync(...) cornu_shfl(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) cornu_shfl_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) cornu_shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) cornu_shfl_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(...) cornu_ballot(__LINE__, __VA_ARGS__)
#define __any_sync(...) (cornu_ballot(__LINE__, __VA_ARGS__) != 0)

// Calls a kernel with parameters that lie one after another.
template <int... Numbers>
struct CornuNumbers {};
template <int Count, int... Numbers>
struct CornuCount : CornuCount<Count - 1, Count - 1, Numbers...> {};
template <int... Numbers>
struct CornuCount<0, Numbers...> {
  typedef CornuNumbers<Numbers...> type;
};
template <class... Parameters>
constexpr unsigned long cornu_words(void (*)(Parameters...)) {
  return ((sizeof(Parameters) / 8) + ... + 0);
}
template <class... Parameters, int... Numbers>
inline void cornu_apply(void (*kernel)(Parameters...), const unsigned long* words,
                        CornuNumbers<Numbers...>) {
  static_assert(((sizeof(Parameters) % 8 == 0) && ... && true), "parameters are words of 8 bytes");
  const int sizes[] = {(int)(sizeof(Parameters) / 8)..., 0};
  int places[sizeof...(Parameters) + 1] = {};
  for (int i = 0; i < (int)sizeof...(Parameters); ++i) places[i + 1] = places[i] + sizes[i];
  kernel(*(const Parameters*)(words + places[Numbers])...);
}
template <class... Parameters>
inline void cornu_call_kernel(void (*kernel)(Parameters...), const unsigned long* words) {
  cornu_apply(kernel, words, typename CornuCount<sizeof...(Parameters)>::type());
}

// Stands behind the kernel.
struct CornuExports {
  CornuState* state;
  unsigned long parameter_words;
  unsigned long most_threads;
  void (*call)(const unsigned long* words);
  char* shared_begin;
  char* shared_end;
};
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
#define CORNU_EXPORT(KERNEL_NAME, MOST_THREADS)                                                \
  static void cornu_call(const unsigned long* words) { cornu_call_kernel(KERNEL_NAME, words); } \
  extern "C" CORNU_UNCHECKED __attribute__((visibility("default")))                            \
  CornuExports cornu_exports() {                                                               \
    return {&cornu_state, cornu_words(KERNEL_NAME), (unsigned long)(MOST_THREADS), cornu_call, \
            __bss_start, _end};                                                                \
  }
)cuda";

// What the compiler calls before each access, and when it finds one that isn't aligned, with the
// options for it (kernel_compiler.cc).
constexpr std::string_view kAccesses = R"cuda(
#define CORNU_UNCHECKED __attribute__((no_sanitize_thread))
#ifdef __SANITIZE_THREAD__
#define CORNU_HOOK(NAME, BYTES, WRITES)                                                    \
  extern "C" CORNU_UNCHECKED void __tsan_##NAME##BYTES(void* address) {                    \
    cornu_state.access(address, BYTES, WRITES, __builtin_return_address(0));               \
  }
#define CORNU_HOOKS(BYTES)                                                                 \
  CORNU_HOOK(read, BYTES, false) CORNU_HOOK(write, BYTES, true)                            \
  CORNU_HOOK(unaligned_read, BYTES, false) CORNU_HOOK(unaligned_write, BYTES, true)
CORNU_HOOKS(1) CORNU_HOOKS(2) CORNU_HOOKS(4) CORNU_HOOKS(8) CORNU_HOOKS(16)
extern "C" CORNU_UNCHECKED void __tsan_read_range(void* address, unsigned long bytes) {
  cornu_state.access(address, bytes, false, __builtin_return_address(0));
}
extern "C" CORNU_UNCHECKED void __tsan_write_range(void* address, unsigned long bytes) {
  cornu_state.access(address, bytes, true, __builtin_return_address(0));
}
extern "C" CORNU_UNCHECKED void __tsan_init() {}
extern "C" CORNU_UNCHECKED void __tsan_func_entry(void*) {}
extern "C" CORNU_UNCHECKED void __tsan_func_exit() {}
struct CornuMismatch {
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_of_alignment, kind;
};
extern "C" CORNU_UNCHECKED void __ubsan_handle_type_mismatch_v1(CornuMismatch* found, void*) {
  cornu_state.misaligned((int)found->line, 1ul << found->log_of_alignment);
}
#endif
)cuda";

// Bits, integers, atomics, vectors.
constexpr std::string_view kIntegers = R"cuda(
inline unsigned __float_as_uint(float x) { return (unsigned)cornu_bits(x); }
inline int __float_as_int(float x) { return (int)cornu_bits(x); }
inline float __uint_as_float(unsigned x) { return cornu_from_bits<float>(x); }
inline float __int_as_float(int x) { return cornu_from_bits<float>((unsigned)x); }
inline long long __double_as_longlong(double x) { return (long long)cornu_bits(x); }
inline double __longlong_as_double(long long x) { return cornu_from_bits<double>(x); }
inline int __double2hiint(double x) { return (int)(cornu_bits(x) >> 32); }
inline int __double2loint(double x) { return (int)cornu_bits(x); }
inline double __hiloint2double(int high, int low) {
  return cornu_from_bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (x >> bit & 1u) << (31 - bit);
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= (unsigned)(bytes >> ((selector >> 4 * i & 7u) * 8) & 255u) << 8 * i;
  }
  return result;
}
template <class Value>
inline Value __ldg(const Value* address) { return *address; }

// Threads run one at a time, so that any code is atomic.
template <class Number>
struct CornuSame { typedef Number type; };
#define CORNU_ATOMIC(NAME, NEW)                                                   \
  template <class Number>                                                         \
  CORNU_UNCHECKED inline Number NAME(Number* address, typename CornuSame<Number>::type value) {   \
    static_assert(Number(0.5) == Number(0), "floating-point atomics have no fixed order"); \
    const Number old = *address;                                                  \
    *address = (Number)(NEW);                                                     \
    return old;                                                                   \
  }
CORNU_ATOMIC(atomicAdd, old + value)
CORNU_ATOMIC(atomicSub, old - value)
CORNU_ATOMIC(atomicMin, value < old ? value : old)
CORNU_ATOMIC(atomicMax, old < value ? value : old)
CORNU_ATOMIC(atomicAnd, old & value)
CORNU_ATOMIC(atomicOr, old | value)
CORNU_ATOMIC(atomicXor, old ^ value)
CORNU_ATOMIC(atomicExch, value)
template <class Number>
CORNU_UNCHECKED inline Number atomicCAS(Number* address, typename CornuSame<Number>::type expected,
                        typename CornuSame<Number>::type value) {
  const Number old = *address;
  if (old == expected) *address = value;
  return old;
}

#define CORNU_VECTORS(T, NAME, UNIT)                                                     \
  struct __attribute__((aligned(2 * UNIT))) NAME##2 { T x, y; };                         \
  struct __attribute__((aligned(4 * UNIT > 16 ? 16 : 4 * UNIT))) NAME##4 { T x, y, z, w; }; \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                             \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CORNU_VECTORS(char, char, 1)
CORNU_VECTORS(unsigned char, uchar, 1)
CORNU_VECTORS(short, short, 2)
CORNU_VECTORS(unsigned short, ushort, 2)
CORNU_VECTORS(int, int, 4)
CORNU_VECTORS(unsigned, uint, 4)
CORNU_VECTORS(float, float, 4)
CORNU_VECTORS(double, double, 8)
CORNU_VECTORS(long long, longlong, 8)
CORNU_VECTORS(unsigned long long, ulonglong, 8)
)cuda";

// Mathematical functions: the C library's, under CUDA's names and overloads.
constexpr std::string_view kMathematics = R"cuda(
#define CORNU_UNARY(NAME)                                       \
  inline float NAME##f(float x) { return __builtin_##NAME##f(x); } \
  inline float NAME(float x) { return __builtin_##NAME##f(x); }    \
  inline double NAME(double x) { return __builtin_##NAME(x); }
CORNU_UNARY(exp) CORNU_UNARY(exp2) CORNU_UNARY(expm1)
CORNU_UNARY(log) CORNU_UNARY(log2) CORNU_UNARY(log10) CORNU_UNARY(log1p)
CORNU_UNARY(sqrt) CORNU_UNARY(cbrt) CORNU_UNARY(fabs)
CORNU_UNARY(sin) CORNU_UNARY(cos) CORNU_UNARY(tan) CORNU_UNARY(asin) CORNU_UNARY(acos)
CORNU_UNARY(atan) CORNU_UNARY(sinh) CORNU_UNARY(cosh) CORNU_UNARY(tanh)
CORNU_UNARY(asinh) CORNU_UNARY(acosh) CORNU_UNARY(atanh)
CORNU_UNARY(erf) CORNU_UNARY(erfc) CORNU_UNARY(lgamma) CORNU_UNARY(tgamma)
CORNU_UNARY(floor) CORNU_UNARY(ceil) CORNU_UNARY(trunc) CORNU_UNARY(round) CORNU_UNARY(rint)
CORNU_UNARY(nearbyint)
#define CORNU_BINARY(NAME)                                                         \
  inline float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }     \
  inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }        \
  inline double NAME(double x, double y) { return __builtin_##NAME(x, y); }
CORNU_BINARY(pow) CORNU_BINARY(fmod) CORNU_BINARY(remainder) CORNU_BINARY(atan2)
CORNU_BINARY(hypot) CORNU_BINARY(copysign) CORNU_BINARY(nextafter)
CORNU_BINARY(fmax) CORNU_BINARY(fmin) CORNU_BINARY(fdim)
inline float powif(float x, int y) { return __builtin_powif(x, y); }
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float ldexpf(float x, int by) { return __builtin_ldexpf(x, by); }
inline float ldexp(float x, int by) { return __builtin_ldexpf(x, by); }
inline double ldexp(double x, int by) { return __builtin_ldexp(x, by); }
inline float scalbnf(float x, int by) { return __builtin_ldexpf(x, by); }
inline double scalbn(double x, int by) { return __builtin_ldexp(x, by); }
inline float frexpf(float x, int* by) { return __builtin_frexpf(x, by); }
inline double frexp(double x, int* by) { return __builtin_frexp(x, by); }
inline int ilogbf(float x) { return __builtin_ilogbf(x); }
inline int ilogb(double x) { return __builtin_ilogb(x); }
inline float modff(float x, float* whole) { return __builtin_modff(x, whole); }
inline double modf(double x, double* whole) { return __builtin_modf(x, whole); }
inline int abs(int x) { return x < 0 ? (int)(0u - (unsigned)x) : x; }
inline long long abs(long long x) { return x < 0 ? (long long)(0ull - (unsigned long long)x) : x; }
inline long long llabs(long long x) { return abs(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float exp10f(float x) { return __builtin_powf(10.0f, x); }
inline double exp10(double x) { return __builtin_pow(10.0, x); }
inline void sincosf(float x, float* s, float* c) {
  *s = __builtin_sinf(x);
  *c = __builtin_cosf(x);
}
inline void sincos(double x, double* s, double* c) {
  *s = __builtin_sin(x);
  *c = __builtin_cos(x);
}
// Exact where pi x is a multiple of a quarter turn.
inline void sincospi(double x, double* s, double* c) {
  const double turns = x - 2.0 * __builtin_floor(x / 2.0);
  const int quarter = (int)__builtin_rint(turns * 2.0);
  const double rest = (turns - quarter * 0.5) * 3.14159265358979323846;
  const double sine = __builtin_sin(rest), cosine = __builtin_cos(rest);
  const double sines[] = {sine, cosine, -sine, -cosine};
  *s = sines[quarter % 4];
  *c = sines[(quarter + 1) % 4];
}
inline double sinpi(double x) {
  double s, c;
  sincospi(x, &s, &c);
  return s;
}
inline double cospi(double x) {
  double s, c;
  sincospi(x, &s, &c);
  return c;
}
inline float sinpif(float x) { return (float)sinpi((double)x); }
inline float cospif(float x) { return (float)cospi((double)x); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
// Winitzki's approximation, then steps of Newton's.
inline double erfinv(double x) {
  const double size = __builtin_fabs(x);
  if (!(size < 1.0)) return size == 1.0 ? x * __builtin_inf() : __builtin_nan("");
  if (size == 0.0) return x;
  const double far = (1.0 - size) * (1.0 + size);
  const double half = 2.0 / (3.14159265358979323846 * 0.147) + 0.5 * __builtin_log(far);
  const double inner = half * half - __builtin_log(far) / 0.147;
  double y = __builtin_sqrt(__builtin_sqrt(inner) - half);
  for (int step = 0; step < 4; ++step) {
    const double slope = 1.12837916709551257390 * __builtin_exp(-y * y);
    const double off = size < 0.5 ? __builtin_erf(y) - size : (1.0 - size) - __builtin_erfc(y);
    y -= off / slope;
  }
  return __builtin_copysign(y, x);
}
inline float erfinvf(float x) { return (float)erfinv((double)x); }

// The C library's headers have these as macros, the compiler as generic functions.
#define CORNU_CLASS(NAME)                                          \
  inline bool NAME(float x) { return __builtin_##NAME(x) != 0; }   \
  inline bool NAME(double x) { return __builtin_##NAME(x) != 0; }
CORNU_CLASS(isnan) CORNU_CLASS(isinf) CORNU_CLASS(isfinite) CORNU_CLASS(signbit)

#define CORNU_ORDER(T, OTHER, RESULT)                                                    \
  inline RESULT min(T a, OTHER b) { return (RESULT)b < (RESULT)a ? (RESULT)b : (RESULT)a; } \
  inline RESULT max(T a, OTHER b) { return (RESULT)a < (RESULT)b ? (RESULT)b : (RESULT)a; }
CORNU_ORDER(int, int, int)
CORNU_ORDER(unsigned, unsigned, unsigned)
CORNU_ORDER(int, unsigned, unsigned)
CORNU_ORDER(unsigned, int, unsigned)
CORNU_ORDER(long, long, long)
CORNU_ORDER(unsigned long, unsigned long, unsigned long)
CORNU_ORDER(long long, long long, long long)
CORNU_ORDER(unsigned long long, unsigned long long, unsigned long long)
CORNU_ORDER(long long, unsigned long long, unsigned long long)
CORNU_ORDER(unsigned long long, long long, unsigned long long)
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
inline double min(float a, double b) { return __builtin_fmin(a, b); }
inline double max(float a, double b) { return __builtin_fmax(a, b); }
inline double min(double a, float b) { return __builtin_fmin(a, b); }
inline double max(double a, float b) { return __builtin_fmax(a, b); }

#define CORNU_ROUNDED(NAME, T, WHAT) \
  inline T NAME(T a, T b) { return WHAT; }
CORNU_ROUNDED(__fadd_rn, float, a + b)
CORNU_ROUNDED(__fsub_rn, float, a - b)
CORNU_ROUNDED(__fmul_rn, float, a* b)
CORNU_ROUNDED(__fdiv_rn, float, a / b)
CORNU_ROUNDED(__dadd_rn, double, a + b)
CORNU_ROUNDED(__dsub_rn, double, a - b)
CORNU_ROUNDED(__dmul_rn, double, a* b)
CORNU_ROUNDED(__ddiv_rn, double, a / b)
CORNU_ROUNDED(__fdividef, float, a / b)
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
inline int __float2int_rz(float x) { return (int)x; }
inline int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
inline long long __double2ll_rn(double x) { return (long long)__builtin_rint(x); }
)cuda";

// Conversions that prelude.cu leaves to the simulator.
constexpr std::string_view kConversions = R"cuda(
__device__ f32 f16_to_f32(u16 bits) {
  const u32 exponent = bits >> 10 & 31u;
  const u32 fraction = bits & 1023u;
  const u32 sign = (u32)(bits & 0x8000u) << 16;
  if (exponent == 0) {
    const f32 size = (f32)fraction * 0x1p-24f;
    return sign ? -size : size;
  }
  const u32 scale = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
  return bits_to_f32(sign | scale | fraction << 13);
}
// To the nearest, ties to even; NaN has one form.
__device__ u16 f32_to_f16(f32 value) {
  const u32 bits = f32_to_bits(value);
  const u32 size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fffu;
  const u16 sign = (u16)(bits >> 16 & 0x8000u);
  if (size >= 0x47800000u) return sign | 0x7c00u;
  if (size < 0x38800000u) return sign | (u16)(f32_to_bits(bits_to_f32(size) + 0.5f) - 0x3f000000u);
  return sign | (u16)((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}
)cuda";

// What the kernel's __launch_bounds__ say: an expression.
std::string_view most_threads_of(std::string_view text) {
  constexpr std::string_view kBounds = "__launch_bounds__(";
  const size_t found = text.find(kBounds);
  if (found == text.npos) return "1024";
  const size_t begin = found + kBounds.size();
  return text.substr(begin, text.find(')', begin) - begin);
}

}  // namespace

std::string host_text(std::string_view name, std::string_view text) {
  return fmt::format(
      "{}{}{}{}#line 1 \"prelude.cu\"\n{}{}#line 1 \"{}.cu\"\n{}\nCORNU_EXPORT({}, {})\n",
      kLanguage, kAccesses, kIntegers, kMathematics, source("prelude.cu"), kConversions, name, text,
      name, most_threads_of(text));
}

bool has_barriers(std::string_view text) {
  return text.find("__sync") != text.npos || text.find("_sync(") != text.npos;
}

}  // namespace cornu::cuda::simulated
