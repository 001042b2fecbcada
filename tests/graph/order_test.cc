// SPDX-License-Identifier: Apache-2.0
// The data structures used by passes: their decisions compared with plain searches, and how their
// work grows with graphs.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "framework/graph/passes/first_fit.h"
#include "framework/graph/passes/group_order.h"
#include "framework/graph/passes/rewriter.h"

using namespace cornu;
using passes::FirstFit;
using passes::GroupOrder;
using passes::Rewriter;

namespace {

using Readers = std::vector<std::vector<int>>;

Readers random_readers(int count, int reach, std::mt19937& random) {
  Readers readers(static_cast<size_t>(count));
  for (int node = 0; node < count; ++node) {
    for (int next = node + 1; next < std::min(count, node + reach); ++next) {
      if (random() % 4 == 0) readers[static_cast<size_t>(node)].push_back(next);
    }
  }
  return readers;
}

// Whether a path leads from one group to the other through a third one, or, if `directly`, by a
// single edge.
bool leads(const GroupOrder& order, int from, int to, bool directly) {
  std::vector<int> stack = {from};
  std::vector<int> seen = {from};
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    for (int member : order.members(at)) {
      for (int reader : order.readers(member)) {
        const int group = order.group_of(reader);
        if (group == to && (at != from || directly)) return true;
        if (group == to || std::ranges::find(seen, group) != seen.end()) continue;
        seen.push_back(group);
        stack.push_back(group);
      }
    }
  }
  return false;
}

// The lowest offset that no earlier block occupies during a lifetime.
struct PlainFit {
  struct Block {
    size_t offset, bytes;
    int first, last;
  };
  std::vector<Block> blocks;

  size_t place(size_t bytes, int first, int last) {
    size_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Block& b : blocks) {
        const bool meets = b.first <= last && first <= b.last;
        if (meets && b.offset < offset + bytes && offset < b.offset + b.bytes) {
          offset = b.offset + b.bytes;
          moved = true;
        }
      }
    }
    blocks.push_back({offset, bytes, first, last});
    return offset;
  }
};

}  // namespace

TEST_CASE("groups merge exactly when no other group lies between them") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const int count = 40;
    GroupOrder order(random_readers(count, 3 + round % 8, random));
    for (int attempt = 0; attempt < 120; ++attempt) {
      const int a = order.group_of(static_cast<int>(random() % count));
      const int b = order.group_of(static_cast<int>(random() % count));
      if (a == b) continue;
      const bool adjacent = random() % 2 == 0;
      const bool apart = leads(order, a, b, !adjacent) || leads(order, b, a, !adjacent);
      const auto members = order.members(a).size() + order.members(b).size();
      const auto merged = order.merge(
          a, b, adjacent ? GroupOrder::Adjacent::Allowed : GroupOrder::Adjacent::Refused);
      CHECK(merged.has_value() == !apart);
      if (merged) CHECK(order.members(*merged).size() == members);
    }
  }
}

TEST_CASE("an order that is full in one place makes room") {
  // Every even node is merged into the last one; its other reader must then come after the last
  // one.
  const int count = 5001;
  Readers readers(static_cast<size_t>(count));
  for (int node = 0; node < count - 1; node += 2) {
    readers[static_cast<size_t>(node)] = {node + 1, count - 1};
  }
  GroupOrder order(readers);
  for (int node = 0; node < count - 1; node += 2) {
    REQUIRE(order.merge(node, count - 1, GroupOrder::Adjacent::Allowed) == count - 1);
  }
  CHECK(order.members(count - 1).size() == static_cast<size_t>(count / 2 + 1));
  // A reader now comes directly after the group, and may not be merged with it here.
  CHECK(order.merge(1, count - 1, GroupOrder::Adjacent::Refused) == std::nullopt);
}

TEST_CASE("first fit takes the lowest offset that is free for a whole life") {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const int times = 1 + static_cast<int>(random() % 50);
    FirstFit fit(times);
    PlainFit plain;
    for (int block = 0; block < 120; ++block) {
      const int first = static_cast<int>(random()) & 0xffff;
      const int begin = first % times;
      const int end = begin + static_cast<int>(random() % static_cast<unsigned>(times - begin));
      const size_t bytes = random() % 9 * 8;
      const size_t offset = fit.place(bytes, begin, end);
      if (bytes > 0) CHECK(offset == plain.place(bytes, begin, end));
    }
  }
}

TEST_CASE("a rewriter knows makers, readers and uses while nodes come and go") {
  Rewriter graph(
      parse_graph("graph(%0: float32[2]) {\n"
                  "  %1 = exp(%0) : float32[2]\n"
                  "  %2 = sin(%1) : float32[2]\n"
                  "  %3 = add(%2, %1) : float32[2]\n"
                  "  %4 = multiply(%3, %3) : float32[2]\n"
                  "  return %4, %3\n"
                  "}"));
  CHECK(graph.producer(0) == nullptr);
  CHECK(graph.producer(3, "add") == &graph.node(2));
  CHECK(graph.producer(3, "sin") == nullptr);
  CHECK(graph.readers(1) == std::vector<int>{1, 2});
  CHECK(graph.readers(3) == std::vector<int>{3});
  CHECK(graph.uses(3) == 3);
  CHECK(graph.leaves(3));
  CHECK_FALSE(graph.leaves(1));

  // Puts subtract(exp, sin) in place of the sum, whose readers then use it.
  const OpDef& subtract = OpRegistry::global().at("subtract");
  const ValueId difference = graph.insert(2, subtract, {1, 2}, {})[0];
  graph.replace(3, difference);
  CHECK(graph.uses(3) == 0);
  CHECK(graph.uses(difference) == 3);
  CHECK(graph.readers(1) == std::vector<int>{1, 4, 2});
  graph.remove_unused(3);
  CHECK(graph.removed(2));
  CHECK(graph.readers(1) == std::vector<int>{1, 4});
  CHECK(graph.order() == std::vector<int>{0, 1, 4, 3});

  // The nodes used only by the sine would be removed with it.
  graph.set_inputs(4, {0, 0});
  graph.remove_unused(2);
  CHECK(graph.order() == std::vector<int>{4, 3});
  CHECK(graph.finish().to_string() ==
        "graph(%0: float32[2]) {\n"
        "  %5 = subtract(%0, %0) : float32[2]\n"
        "  %4 = multiply(%5, %5) : float32[2]\n"
        "  return %4, %5\n"
        "}");
}

TEST_CASE("a rewriter keeps what has an effect, and repairs the order") {
  Rewriter graph(
      parse_graph("graph(%0: float32[2]) {\n"
                  "  %1 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
                  "  %2 = exp(%0) : float32[2]\n"
                  "  %3 = sin(%0) : float32[2]\n"
                  "  return %2\n"
                  "}"));
  graph.remove_unused(1);
  CHECK_FALSE(graph.removed(0));
  graph.set_inputs(1, {3});  // reads a value that is produced after it
  CHECK(graph.finish().to_string() ==
        "graph(%0: float32[2]) {\n"
        "  %1 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
        "  %3 = sin(%0) : float32[2]\n"
        "  %2 = exp(%3) : float32[2]\n"
        "  return %2\n"
        "}");
}
