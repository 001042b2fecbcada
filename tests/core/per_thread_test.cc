// SPDX-License-Identifier: Apache-2.0
#include "framework/core/per_thread.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <utility>

using namespace cornu;

namespace {

struct Counted {
  Counted() { ++made; }
  ~Counted() { --alive(); }
  static int& alive() {
    static int count = 0;
    return count;
  }
  static inline int made = 0;
  std::string text = "made";
};

Counted& mine() {
  return per_thread([] {
    ++Counted::alive();
    return Counted();
  });
}

// Outlives the thread's object, since it is made before.
struct UsesItLater {
  ~UsesItLater() {
    *seen = mine().text;
    mine().text = "made by a destructor";
    *again = mine().text;
  }
  std::string* seen = nullptr;
  std::string* again = nullptr;
};

// Ends with its thread, after or before the object that it uses.
struct UsesItAtTheEnd {
  explicit UsesItAtTheEnd(std::string* where) : seen(where) {}
  UsesItAtTheEnd(UsesItAtTheEnd&& other) noexcept : seen(std::exchange(other.seen, nullptr)) {}
  ~UsesItAtTheEnd() {
    if (seen) *seen += mine().text;
  }
  std::string* seen;
};

}  // namespace

TEST_CASE("each thread has an object of its own, while the thread ends, too") {
  mine().text = "the test's";
  std::string seen, again;
  std::thread([&] {
    static thread_local UsesItLater later;
    later.seen = &seen;
    later.again = &again;
    CHECK(mine().text == "made");
    mine().text = "the thread's";
    CHECK(&mine() == &mine());
    CHECK(Counted::alive() == 2);
  }).join();
  CHECK(seen == "the thread's");
  CHECK(again == "made by a destructor");
  CHECK(mine().text == "the test's");
  CHECK(Counted::made == 2);
  CHECK(Counted::alive() == 1);  // the thread's is destroyed
}

TEST_CASE("destructors of objects of a thread can use one another") {
  const int alive = Counted::alive();
  const int made = Counted::made;
  std::string first, second;
  std::thread([&] {
    per_thread([&] { return UsesItAtTheEnd(&first); });
    mine();
    per_thread([&] { return UsesItAtTheEnd(&second); });  // ends after it, and makes another one
  }).join();
  CHECK(first == "made");
  CHECK(second == "made");
  CHECK(Counted::made == made + 2);
  CHECK(Counted::alive() == alive);
}
