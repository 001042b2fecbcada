// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_lock.h"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/files.h"

using namespace cornu;
using testing::TempFolder;

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
