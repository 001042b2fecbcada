// SPDX-License-Identifier: Apache-2.0
// Ends long chains of objects without recursion.
#pragma once

#include <new>
#include <utility>
#include <vector>

namespace cornu {

// For the destructor of an object that may be the last to hold others of its kind (`parts`), and
// they others: lets them end one after another, since the stack has no room for the destructors of
// a long chain within each other. Only where there is no memory for a list of them are they ended
// recursively.
template <class Parts>
void end_in_turn(Parts parts) {
  thread_local std::vector<Parts>* ending = nullptr;  // set while a chain ends
  std::vector<Parts> list;
  try {
    (ending ? *ending : list).push_back(std::move(parts));
  } catch (const std::bad_alloc&) {  // `parts` end with this call
  }
  if (ending) return;
  ending = &list;
  while (!list.empty()) {
    const Parts last = std::move(list.back());
    list.pop_back();  // what only `last` held is added to the list when it ends
  }
  ending = nullptr;
}

}  // namespace cornu
