// SPDX-License-Identifier: Apache-2.0
#include "data/places.h"

#include <array>
#include <string_view>

#include "framework/strategy/stream.h"

namespace cornu::data {
namespace {

// Base-32 digits, least significant first; digits from the second half are followed by more.
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint64_t kBase = 32;

// The digit for each character; UINT8_MAX for other characters.
constexpr auto kDigitOf = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(UINT8_MAX);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    digits[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}();

// The sign is stored in the lowest bit.
void write_number(std::string& text, int64_t number) {
  uint64_t rest = static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
  for (; rest >= kBase; rest /= kBase) text += kDigits[kBase + rest % kBase];
  text += kDigits[rest];
}

// Returns false at the end of the text, for invalid characters, and if the sum leaves [0,
// kMaxItems].
bool add_number(std::string_view& text, int64_t& sum) {
  uint64_t rest = 0;
  for (uint64_t weight = 1; !text.empty() && weight <= 2 * uint64_t{streams::kMaxItems};
       weight *= kBase) {
    const uint64_t digit = kDigitOf[static_cast<uint8_t>(text.front())];
    if (digit >= kDigits.size()) return false;
    text.remove_prefix(1);
    rest += digit % kBase * weight;
    if (digit < kBase) {
      sum += static_cast<int64_t>(rest >> 1) ^ -static_cast<int64_t>(rest & 1);
      return 0 <= sum && sum <= streams::kMaxItems;
    }
  }
  return false;
}

}  // namespace

std::string packed_places(const std::vector<Place>& places) {
  std::string text;
  Place last;
  for (const Place& place : places) {
    write_number(text, place.part - last.part);
    write_number(text, place.at - last.at);
    last = place;
  }
  return text;
}

std::vector<Place> unpacked_places(const Json& text, size_t count) {
  std::vector<Place> places;
  Place last;
  bool good = text.is_string();
  std::string_view rest;
  if (good) rest = text.as_string();
  while (good && !rest.empty()) {
    good = add_number(rest, last.part) && add_number(rest, last.at) && places.size() < count;
    places.push_back(last);
  }
  if (good && places.size() == count) return places;
  raise<DataLoss>("a position's state is damaged: expected the places of {} items, got {}.", count,
                  text.excerpt());
}

}  // namespace cornu::data
