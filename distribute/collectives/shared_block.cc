// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr size_t kPage = 4096;  // precedes the block's bytes and holds the tag

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Whether a file of this size is allowed: exceeding the process's limit (ulimit -f), which also
// applies to memory files, would end the process with SIGXFSZ.
bool is_within_limit(size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

[[noreturn]] void raise_without_memory(size_t bytes) {
  raise<ResourceExhausted>("Collective: {} bytes of shared memory: {}.", bytes,
                           std::strerror(errno));
}

}  // namespace

std::string process_space() {
  struct stat space {};
  static_cast<void>(::stat("/proc/self/ns/pid", &space));
  return fmt::format("{}:{}", line_of("/proc/sys/kernel/random/boot_id"), space.st_ino);
}

void SharedBlock::map(size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (mapped == MAP_FAILED) raise_without_memory(bytes);
  mapped_ = static_cast<std::byte*>(mapped);
  mapped_bytes_ = bytes;
}

SharedBlock::~SharedBlock() {
  if (mapped_) ::munmap(mapped_, mapped_bytes_);
}

std::span<std::byte> SharedBlock::bytes() const { return {mapped_ + kPage, mapped_bytes_ - kPage}; }

// The block can't be shrunk afterwards, which would crash its readers.
std::shared_ptr<SharedBlock> SharedBlock::create(size_t bytes) {
  const size_t all = kPage + (bytes + kPage - 1) / kPage * kPage;
  FileDescriptor memory(::memfd_create("cornu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open() || !is_within_limit(all) ||
      ::ftruncate(memory.get(), static_cast<off_t>(all)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    raise_without_memory(all);
  }
  std::shared_ptr<SharedBlock> block(new SharedBlock(std::move(memory)));
  block->map(all);
  Handle& handle = block->handle_;
  handle.process = ::getpid();
  handle.descriptor = block->memory_.get();
  const ssize_t random = ::getrandom(handle.tag.data(), handle.tag.size(), 0);
  CORNU_ASSERT(random, ==, static_cast<ssize_t>(handle.tag.size()));
  std::memcpy(block->mapped_, handle.tag.data(), handle.tag.size());
  return block;
}

std::shared_ptr<SharedBlock> SharedBlock::open(const Handle& handle) {
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.descriptor);
  FileDescriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!memory.is_open() || ::fstat(memory.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size < static_cast<off_t>(kPage)) {
    return nullptr;
  }
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return nullptr;
  std::shared_ptr<SharedBlock> block(new SharedBlock(std::move(memory)));
  block->map(static_cast<size_t>(found.st_size));
  block->handle_ = handle;
  const bool is_it = std::memcmp(block->mapped_, handle.tag.data(), handle.tag.size()) == 0;
  return is_it ? block : nullptr;
}

}  // namespace cornu::distribute
