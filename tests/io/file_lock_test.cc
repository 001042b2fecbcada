// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_lock.h"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"

using namespace cornu;
using testing::contains;
using testing::TempFolder;

// The system's function, except that there are no locks while a test says so.
static int no_locks = 0;
extern "C" int flock(int file, int how) noexcept {
  if (no_locks == 0) return static_cast<int>(syscall(SYS_flock, file, how));
  errno = no_locks;
  return -1;
}

TEST_CASE("a lock is one holder's at a time, though its file goes with each of them") {
  const TempFolder folder;
  const std::string path = folder / "lock";
  std::optional<FileLock> first(path);
  CHECK(FileLock::try_lock(path) == nullptr);
  // Waiting threads have the file open that the holder removes; new ones create another file.
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        const FileLock lock(path);
        const int now = ++holders;
        if (now > most) most = now;
        CHECK(FileLock::try_lock(path) == nullptr);
        std::this_thread::yield();
        --holders;
      }
    });
  }
  first.reset();
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(FileLock::try_lock(path) != nullptr);
}

TEST_CASE("a file system without locks excludes nobody, which is said once") {
  const TempFolder folder;
  const test::Log log;
  for (const int error : {ENOSYS, EOPNOTSUPP}) {
    CAPTURE(error);
    no_locks = error;
    const FileLock first(folder / "first");
    CHECK(FileLock::try_lock(folder / "second") != nullptr);
  }
  no_locks = 0;
  const std::string said = log.text();
  CHECK(contains(said, (folder / "first").string() +
                           ": the file system has no locks (Function not "
                           "implemented). Don't let two programs write there"));
  CHECK(said.find("no locks") == said.rfind("no locks"));
}

TEST_CASE("a lock that fails otherwise is an error") {
  const TempFolder folder;
  no_locks = EIO;
  CHECK(test::message_of<Unavailable>([&] { FileLock(folder / "lock"); }) ==
        (folder / "lock").string() + ": can't be locked: Input/output error.");
  no_locks = 0;
}
