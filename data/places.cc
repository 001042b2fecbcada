// SPDX-License-Identifier: Apache-2.0
#include "data/places.h"

#include <array>
#include <string_view>

#include "framework/strategy/stream.h"

namespace cornu::data {
namespace {

// Digits of numbers, the lowest ones first; those of the second half are followed by more.
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint64_t kBase = 32;

// By character; that of others is larger.
constexpr auto kDigitOf = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(UINT8_MAX);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    digits[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}();

void write_number(std::string& text, int64_t number) {
  auto rest = static_cast<uint64_t>(number);
  for (; rest >= kBase; rest /= kBase) text += kDigits[kBase + rest % kBase];
  text += kDigits[rest];
}

// False where the text ends, has other characters, or says a number that is too large.
bool read_number(std::string_view& text, int64_t& number) {
  uint64_t sum = 0;
  for (uint64_t weight = 1; !text.empty() && weight <= uint64_t{streams::kMostItems};
       weight *= kBase) {
    const uint64_t digit = kDigitOf[static_cast<uint8_t>(text.front())];
    if (digit >= kDigits.size()) return false;
    text.remove_prefix(1);
    sum += digit % kBase * weight;
    number = static_cast<int64_t>(sum);
    if (digit < kBase) return number <= streams::kMostItems;
  }
  return false;
}

}  // namespace

std::string packed_places(const std::vector<Place>& places) {
  std::string text;
  Place last;
  for (const Place& place : places) {
    const int64_t parts = place.part - last.part;
    write_number(text, parts);
    write_number(text, parts == 0 ? place.at - last.at : place.at);
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
    int64_t parts = 0;
    int64_t at = 0;
    good = read_number(rest, parts) && read_number(rest, at) && places.size() < count;
    last = {last.part + parts, parts == 0 ? last.at + at : at};
    good = good && last.part <= streams::kMostItems && last.at <= streams::kMostItems;
    places.push_back(last);
  }
  check<DataLoss>(good && places.size() == count,
                  "a position's state is damaged: expected the places of {} items, got {}.", count,
                  text.excerpt());
  return places;
}

}  // namespace cornu::data
