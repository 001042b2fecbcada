// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/io/checked_path.h"
#include "framework/io/standard_files.h"

namespace cornu {
namespace {

// Lustre and file systems of user programs may have no locks. (ENOLCK is another matter: there are
// locks, but the service that grants them can't be reached, or has no more.)
bool has_no_locks(int error) { return error == ENOSYS || error == EOPNOTSUPP; }

void warn_of_no_locks(const std::filesystem::path& path) {
  static std::atomic_flag warned;
  if (warned.test_and_set()) return;
  logging::warn(fmt::format(
      "{}: the file system has no locks ({}). Don't let two programs write there at a time.",
      path.string(), std::strerror(errno)));
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path) : FileLock(path, Wait::Yes) {}

FileLock::FileLock(const std::filesystem::path& path, Wait wait)
    : path_(checked_path(path.native())) {
  occupy_standard_files();
  do {
    file_ =
        std::make_unique<FileDescriptor>(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    check<Unavailable>(file_->is_open(), "{}: can't be written: {}.", path.string(),
                       std::strerror(errno));
    while (flock(file_->get(), wait == Wait::Yes ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (has_no_locks(errno)) {
        warn_of_no_locks(path);
        return;
      }
      check<Unavailable>(errno == EWOULDBLOCK, "{}: can't be locked: {}.", path.string(),
                         std::strerror(errno));
      file_.reset();
      return;
    }
  } while (!is_current());
}

std::unique_ptr<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  std::unique_ptr<FileLock> lock(new FileLock(path, Wait::No));
  return lock->file_ ? std::move(lock) : nullptr;
}

FileLock::~FileLock() {
  if (file_) unlink(path_.c_str());
}

// The previous holder may have removed the file while this one waited.
bool FileLock::is_current() const {
  struct stat mine;
  struct stat there;
  return fstat(file_->get(), &mine) == 0 && stat(path_.c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

}  // namespace cornu
