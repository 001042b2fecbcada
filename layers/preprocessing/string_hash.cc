// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/string_hash.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "framework/graph/trace.h"
#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

// The hashes below are templates, for words that are integers and for tensors of words.

constexpr uint64_t kFarm0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kFarm1 = 0xb492b66fbe98f273;
constexpr uint64_t kFarm2 = 0x9ae16a3b2f90404f;

uint64_t word(uint64_t number, uint64_t) { return number; }
Tensor word(uint64_t number, const Tensor&) { return Tensor::scalar(number); }
uint64_t shift_right(uint64_t x, int bits) { return x >> bits; }
Tensor shift_right(const Tensor& x, int bits) {
  return ops::right_shift(x, Tensor::scalar(static_cast<uint64_t>(bits)));
}
uint64_t rotate_right(uint64_t x, int bits) { return std::rotr(x, bits); }
Tensor rotate_right(const Tensor& x, int bits) {
  return shift_right(x, bits) |
         ops::left_shift(x, Tensor::scalar(static_cast<uint64_t>(64 - bits)));
}

template <class Word>
Word shift_mix(const Word& x) {
  return x ^ shift_right(x, 47);
}

template <class Word>
Word farm_pair(const Word& u, const Word& v, const Word& factor) {
  const Word a = shift_mix<Word>((u ^ v) * factor);
  return shift_mix<Word>((v ^ a) * factor) * factor;
}

// 1 to 3 bytes: the first, middle and last one.
template <class Word>
Word farm_to_3(const Word& first, const Word& middle, const Word& last, const Word& length) {
  const Word y = first + middle * word(256, length);
  const Word z = length + last * word(4, length);
  return shift_mix<Word>((y * word(kFarm2, length)) ^ (z * word(kFarm0, length))) *
         word(kFarm2, length);
}

// 4 to 7 bytes: the first and last four.
template <class Word>
Word farm_to_7(const Word& first, const Word& last, const Word& length) {
  return farm_pair<Word>(length + first * word(8, length), last,
                         word(kFarm2, length) + length * word(2, length));
}

// 8 to 16 bytes: the first and last eight.
template <class Word>
Word farm_to_16(const Word& first, const Word& last, const Word& length) {
  const Word factor = word(kFarm2, length) + length * word(2, length);
  const Word a = first + word(kFarm2, length);
  const Word c = rotate_right(last, 37) * factor + a;
  const Word d = (rotate_right(a, 25) + last) * factor;
  return farm_pair<Word>(c, d, factor);
}

// 17 to 32 bytes: the first and last 16, as words.
template <class Word>
Word farm_to_32(const std::array<Word, 2>& first, const std::array<Word, 2>& last,
                const Word& length) {
  const Word factor = word(kFarm2, length) + length * word(2, length);
  const Word a = first[0] * word(kFarm1, length);
  const Word& b = first[1];
  const Word c = last[1] * factor;
  const Word d = last[0] * word(kFarm2, length);
  return farm_pair<Word>(rotate_right(Word(a + b), 43) + rotate_right(c, 30) + d,
                         a + rotate_right(Word(b + word(kFarm2, length)), 18) + c, factor);
}

template <class Word>
class SipState {
 public:
  SipState(const HashKey& key, const Word& like)
      : v_{word(0x736f6d6570736575 ^ key[0], like), word(0x646f72616e646f6d ^ key[1], like),
           word(0x6c7967656e657261 ^ key[0], like), word(0x7465646279746573 ^ key[1], like)} {}

  void add(const Word& block) {
    v_[3] = v_[3] ^ block;
    mix(2);
    v_[0] = v_[0] ^ block;
  }
  Word finish() {
    v_[2] = v_[2] ^ word(0xff, v_[2]);
    mix(4);
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }
  std::array<Word, 4>& words() { return v_; }

 private:
  void mix(int rounds) {
    const auto half = [&](int a, int b, int bits) {
      v_[a] = v_[a] + v_[b];
      v_[b] = rotate_right(v_[b], 64 - bits) ^ v_[a];
    };
    for (int i = 0; i < rounds; ++i) {
      half(0, 1, 13);
      v_[0] = rotate_right(v_[0], 32);
      half(2, 3, 16);
      half(0, 3, 21);
      half(2, 1, 17);
      v_[2] = rotate_right(v_[2], 32);
    }
  }

  std::array<Word, 4> v_;
};

// ---- strings ----

uint64_t fetch64(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  static_assert(std::endian::native == std::endian::little);
  return value;
}
uint64_t fetch32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
uint64_t byte_at(std::string_view text, size_t index) {
  return static_cast<unsigned char>(text[index]);
}

uint64_t farm_33_to_64(const char* s, uint64_t length) {
  const char* end = s + length;
  const uint64_t factor = kFarm2 + length * 2;
  const uint64_t a = fetch64(s) * kFarm2;
  const uint64_t b = fetch64(s + 8);
  const uint64_t c = fetch64(end - 8) * factor;
  const uint64_t d = fetch64(end - 16) * kFarm2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = farm_pair(y, a + std::rotr(b + kFarm2, 18) + c, factor);
  const uint64_t e = fetch64(s + 16) * factor;
  const uint64_t f = fetch64(s + 24);
  const uint64_t g = (y + fetch64(end - 32)) * factor;
  const uint64_t h = (z + fetch64(end - 24)) * factor;
  return farm_pair(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g,
                   factor);
}

// 32 bytes and two seeds.
std::pair<uint64_t, uint64_t> farm_weak_32(const char* s, uint64_t a, uint64_t b) {
  a += fetch64(s);
  b = std::rotr(b + a + fetch64(s + 24), 21);
  const uint64_t c = a;
  a += fetch64(s + 8);
  a += fetch64(s + 16);
  b += std::rotr(a, 44);
  return {a + fetch64(s + 24), b + c};
}

uint64_t farm_above_64(const char* s, uint64_t length) {
  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed;
  uint64_t y = kSeed * kFarm1 + 113;
  uint64_t z = shift_mix(y * kFarm2 + 113) * kFarm2;
  std::pair<uint64_t, uint64_t> v{0, 0}, w{0, 0};
  x = x * kFarm2 + fetch64(s);
  const char* const end = s + (length - 1) / 64 * 64;
  const char* const last64 = end + ((length - 1) & 63) - 63;
  const auto step = [&](uint64_t factor, uint64_t of_w, uint64_t of_v) {
    x = std::rotr(x + y + v.first + fetch64(s + 8), 37) * factor;
    y = std::rotr(y + v.second + fetch64(s + 48), 42) * factor;
    x ^= w.second * of_w;
    y += v.first * of_v + fetch64(s + 40);
    z = std::rotr(z + w.first, 33) * factor;
    v = farm_weak_32(s, v.second * factor, x + w.first);
    w = farm_weak_32(s + 32, z + w.second, y + fetch64(s + 16));
    std::swap(z, x);
  };
  for (; s != end; s += 64) step(kFarm1, 1, 1);
  const uint64_t factor = kFarm1 + ((z & 0xff) << 1);
  s = last64;
  w.first += (length - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  step(factor, 9, 9);
  return farm_pair(farm_pair(v.first, w.first, factor) + shift_mix(y) * kFarm0 + z,
                   farm_pair(v.second, w.second, factor) + x, factor);
}

// ---- integers, as text ----

// The decimal text of numbers: up to 20 characters, in words of eight bytes, lowest byte first.
struct Decimals {
  Tensor length;
  std::array<Tensor, 3> from_start;  // zeros after the text
  std::array<Tensor, 3> to_end;      // zeros before the text
};

Tensor number(uint64_t value) { return Tensor::scalar(value); }

Decimals decimals_of(const Tensor& x) {
  const Tensor below_zero = is_signed(x.dtype()) ? x < 0 : ops::zeros_like(x, DType::Bool);
  const Tensor negative = ops::cast(below_zero, DType::UInt64);
  const Tensor wide = is_signed(x.dtype()) ? ops::cast(ops::cast(x, DType::Int64), DType::UInt64)
                                           : ops::cast(x, DType::UInt64);
  Tensor rest = ops::where(below_zero, number(0) - wide, wide);
  constexpr int kMax = 20;
  Decimals result;
  result.length = ops::ones_like(rest);
  for (Tensor& part : result.to_end) part = ops::zeros_like(rest);
  for (int place = 0; place < kMax; ++place) {
    const Tensor tens = ops::floor_divide(rest, number(10));
    const Tensor digit = rest - tens * number(10) + number('0');
    const Tensor here = place == 0 ? ops::ones_like(rest, DType::Bool) : rest > number(0);
    if (place > 0) result.length = result.length + ops::cast(here, DType::UInt64);
    const int from_end = 7 - place % 8;  // byte within its word
    Tensor& part = result.to_end[static_cast<size_t>(2 - place / 8)];
    part = part | ops::left_shift(ops::where(here, digit, number(0)),
                                  number(static_cast<uint64_t>(from_end * 8)));
    rest = tens;
  }
  // The sign precedes all digits.
  const Tensor sign_place = number(23) - result.length;  // byte within the three words
  for (size_t i = 0; i < 3; ++i) {
    const Tensor in_word =
        ops::logical_and(sign_place >= number(i * 8), sign_place < number(i * 8 + 8));
    const Tensor sign =
        ops::left_shift(negative * number('-'), (sign_place - number(i * 8)) * number(8));
    result.to_end[i] = ops::where(in_word, result.to_end[i] | sign, result.to_end[i]);
  }
  result.length = result.length + negative;
  return result;
}

void move_to_start(Decimals& text) {
  const auto& words = text.to_end;
  const Tensor skipped = number(24) - text.length;  // bytes before the text, 4 to 23
  const Tensor bits = ops::bitwise_and(skipped, number(7)) * number(8);
  const Tensor whole = ops::right_shift(skipped, number(3));
  const Tensor zero = ops::zeros_like(words[0]);
  // Shifts by 64 give 0.
  const auto joined = [&](const Tensor& low, const Tensor& high) {
    return ops::right_shift(low, bits) | ops::left_shift(high, number(64) - bits);
  };
  const Tensor first = joined(words[0], words[1]);
  const Tensor second = joined(words[1], words[2]);
  const Tensor third = joined(words[2], zero);
  const auto choose = [&](const Tensor& of_0, const Tensor& of_1, const Tensor& of_2) {
    return ops::where(whole == number(0), of_0, ops::where(whole == number(1), of_1, of_2));
  };
  text.from_start = {choose(first, second, third), choose(second, third, zero),
                     choose(third, zero, zero)};
}

Tensor farm_of(const Decimals& text) {
  const Tensor& length = text.length;
  const Tensor& start = text.from_start[0];
  const Tensor& last = text.to_end[2];
  const Tensor byte = number(0xff);
  const Tensor middle = ops::right_shift(start, ops::right_shift(length, number(1)) * number(8));
  const Tensor to_3 = farm_to_3<Tensor>(start & byte, middle & byte, shift_right(last, 56), length);
  const Tensor to_7 = farm_to_7<Tensor>(start & number(0xffffffff), shift_right(last, 32), length);
  const Tensor to_16 = farm_to_16<Tensor>(start, last, length);
  const Tensor longer =
      farm_to_32<Tensor>({start, text.from_start[1]}, {text.to_end[1], last}, length);
  return ops::where(
      length < number(4), to_3,
      ops::where(length < number(8), to_7, ops::where(length <= number(16), to_16, longer)));
}

Tensor sip_of(const Decimals& text, const HashKey& key) {
  SipState<Tensor> state(key, text.length);
  const Tensor last = ops::right_shift(text.length, number(3));  // the block with the length
  for (uint64_t i = 0; i < 3; ++i) {
    const Tensor is_last = last == number(i);
    const Tensor end = ops::left_shift(text.length, number(56));
    SipState<Tensor> next = state;
    next.add(text.from_start[i] | ops::where(is_last, end, number(0)));
    for (size_t k = 0; k < 4; ++k) {
      state.words()[k] = ops::where(last >= number(i), next.words()[k], state.words()[k]);
    }
  }
  return state.finish();
}

}  // namespace

uint64_t fingerprint64(std::string_view text) {
  const uint64_t length = text.size();
  const char* const s = text.data();
  const char* const end = s + length;
  if (length > 64) return farm_above_64(s, length);
  if (length > 32) return farm_33_to_64(s, length);
  if (length > 16) {
    return farm_to_32<uint64_t>({fetch64(s), fetch64(s + 8)}, {fetch64(end - 16), fetch64(end - 8)},
                                length);
  }
  if (length >= 8) return farm_to_16(fetch64(s), fetch64(end - 8), length);
  if (length >= 4) return farm_to_7(fetch32(s), fetch32(end - 4), length);
  if (length == 0) return kFarm2;
  return farm_to_3(byte_at(text, 0), byte_at(text, length / 2), byte_at(text, length - 1), length);
}

uint64_t sip_hash(std::string_view text, const HashKey& key) {
  SipState<uint64_t> state(key, 0);
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) state.add(fetch64(text.data() + at));
  for (size_t i = at; i < text.size(); ++i) last |= byte_at(text, i) << (i - at) * 8;
  state.add(last);
  return state.finish();
}

Tensor hash_elements(const Tensor& x, const std::optional<HashKey>& key) {
  if (x.dtype() == DType::String) {
    // While a model is built, there are no strings yet.
    if (is_inferring_types() && x.is_symbolic()) return ops::zeros(x.shape(), DType::UInt64);
    Tensor result = Tensor::empty(x.shape(), DType::UInt64);
    auto place = result.mutable_data<uint64_t>().begin();
    for (const std::string& text : x.data<std::string>()) {
      *place++ = key ? sip_hash(text, *key) : fingerprint64(text);
    }
    return result;
  }
  check<InvalidArgument>(is_integer(x.dtype()), "expected strings or integers to hash, got {}.",
                         x.dtype());
  Decimals text = decimals_of(x);
  move_to_start(text);
  return key ? sip_of(text, *key) : farm_of(text);
}

Tensor join_fingerprints(const Tensor& a, const Tensor& b) {
  const Tensor factor = number(0xc6a4a7935bd1e995);
  const Tensor mixed = ((a ^ factor) ^ (shift_mix<Tensor>(b * factor) * factor)) * factor;
  return shift_mix<Tensor>(shift_mix(mixed) * factor);
}

}  // namespace cornu::layers
