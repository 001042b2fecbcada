// SPDX-License-Identifier: Apache-2.0
#include "framework/core/placed_with.h"

#include <utility>

namespace cornu {
namespace {

thread_local const Variable* beside = nullptr;

}  // namespace

PlacedWith::PlacedWith(const Variable& variable) : previous_(std::exchange(beside, &variable)) {}
PlacedWith::~PlacedWith() { beside = previous_; }
const Variable* PlacedWith::current() { return beside; }

}  // namespace cornu
