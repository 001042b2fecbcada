// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/access_check.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cornu::cuda::simulated {
namespace {

constexpr size_t kWarp = 32;

const std::byte* first_of(const AccessCheck::Access& access) {
  return static_cast<const std::byte*>(access.address);
}

// "thread 5 reads 4 bytes": for addr2line, with the place in the kernel's library.
std::string text_of(const AccessCheck::Access& access, size_t thread) {
  Dl_info library = {};
  const bool known = dladdr(access.code, &library) != 0 && library.dli_fname != nullptr;
  const auto offset = static_cast<const char*>(access.code) -
                      (known ? static_cast<const char*>(library.dli_fbase) : nullptr);
  return fmt::format("thread {} {} {} bytes (at {:#x} of {})", thread,
                     access.writes ? "writes" : "reads", access.bytes, offset,
                     known ? library.dli_fname : "its code");
}

}  // namespace

void AccessCheck::begin_launch(std::vector<MemoryRange> arrays) {
  suspect_.reset();  // of a launch that has failed
  fault_.reset();
  arrays_ = std::move(arrays);
  launch_ = ++phase_;
}

void AccessCheck::begin_block(std::span<const MemoryRange> shared) {
  settle();
  shared_.assign(shared.begin(), shared.end());
  block_ = ++phase_;
  warp_phases_.fill(0);
}

void AccessCheck::sync_block() {
  settle();
  ++phase_;
  warp_phases_.fill(0);
}

void AccessCheck::sync_warp(size_t warp) {
  settle();
  ++warp_phases_[warp];
}

void AccessCheck::access(size_t thread, const Access& access) {
  settle();
  const auto has = [&](const MemoryRange& range) {
    return range.contains(first_of(access), access.bytes);
  };
  const bool is_shared = std::ranges::any_of(shared_, has);
  if (!is_shared && std::ranges::none_of(arrays_, has)) {
    if (!Memory::is_opened(access.address)) return;  // a variable of the thread's own
    return note(text_of(access, thread) + " outside of the kernel's arrays");
  }
  note_access(access, {phase_, static_cast<uint16_t>(thread), warp_phases_[thread / kWarp]},
              is_shared);
}

void AccessCheck::note_access(const Access& access, const Mark& now, bool is_shared) {
  const auto is_before = [&](const Mark& mark) { return collides(mark, now, is_shared); };
  for (size_t i = 0; i < access.bytes; ++i) {
    Byte& byte = byte_at(first_of(access) + i);
    const auto* const read = std::ranges::find_if(byte.reads, is_before);
    const bool was_read = read != std::end(byte.reads);
    const bool was_written = is_before(byte.write);
    if (!access.writes) {
      if (was_written) note(collision(access, now, byte.write, true));
      const bool is_other = byte.reads[0].phase >= launch_ && byte.reads[0].thread != now.thread;
      if (is_other) byte.reads[1] = byte.reads[0];
      byte.reads[0] = now;
      continue;
    }
    if ((was_written || was_read) && !suspect_) {
      suspect_ = {first_of(access),
                  {first_of(access), first_of(access) + access.bytes},
                  collision(access, now, was_written ? byte.write : *read, was_written)};
    }
    byte.write = now;
  }
}

void AccessCheck::misaligned(size_t thread, int line, size_t alignment) {
  note(fmt::format("thread {} uses an address in line {} that isn't a multiple of {}", thread, line,
                   alignment));
}

std::optional<std::string> AccessCheck::end_launch() {
  settle();
  return std::exchange(fault_, std::nullopt);
}

AccessCheck::Byte& AccessCheck::byte_at(const std::byte* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  if (!last_ || place / kPage != last_number_) {
    std::unique_ptr<Page>& page = pages_[place / kPage];
    if (!page) page = std::make_unique<Page>();
    last_number_ = place / kPage;
    last_ = page.get();
  }
  return (*last_)[place % kPage];
}

// Whether nothing orders the two accesses. Each block has its own shared memory.
bool AccessCheck::collides(const Mark& before, const Mark& now, bool is_shared) const {
  if (before.phase < launch_) return false;
  if (before.phase < block_) return !is_shared;
  if (before.phase < now.phase || before.thread == now.thread) return false;
  return before.thread / kWarp != now.thread / kWarp || before.warp_phase == now.warp_phase;
}

std::string AccessCheck::collision(const Access& access, const Mark& now, const Mark& before,
                                   bool was_write) const {
  return fmt::format("{}, which thread {} of {} block {}, without a barrier in between",
                     text_of(access, now.thread), before.thread,
                     before.phase < block_ ? "another" : "its", was_write ? "writes" : "reads");
}

void AccessCheck::note(std::string fault) {
  if (!fault_) fault_ = std::move(fault);
}

void AccessCheck::settle() {
  if (!suspect_) return;
  if (std::memcmp(suspect_->at, suspect_->before.data(), suspect_->before.size()) != 0) {
    note(std::move(suspect_->fault));
  }
  suspect_.reset();
}

}  // namespace cornu::cuda::simulated
