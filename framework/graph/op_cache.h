// SPDX-License-Identifier: Apache-2.0
// A cache of what backends prepare for single ops.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/graph/kernel_spec.h"

namespace cornu {

// An LRU cache keyed by op, attributes, input types, and any other settings that results depend on.
template <class Value>
class OpCache {
 public:
  explicit OpCache(size_t most) : most_(most) {}

  // Calls `make`, which returns a std::unique_ptr<Value>, on a miss. The reference is valid until
  // the next call.
  template <class Make>
  Value& get(const KernelSpec& spec, int settings, Make make) {
    Key key{settings, &spec.op, spec.attributes, {spec.inputs.begin(), spec.inputs.end()}};
    if (const auto it = index_.find(key); it != index_.end()) {
      entries_.splice(entries_.begin(), entries_, it->second);
      return *it->second->second;
    }
    entries_.emplace_front(key, make());
    index_.emplace(std::move(key), entries_.begin());
    if (entries_.size() > most_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return *entries_.front().second;
  }

 private:
  struct Key {
    int settings;
    const OpDef* op;
    Attributes attributes;
    std::vector<TensorType> inputs;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      size_t result = std::hash<const void*>()(key.op) ^ key.attributes.hash();
      result = result * 31 + static_cast<size_t>(key.settings);
      for (const TensorType& type : key.inputs) {
        result = result * 31 + static_cast<size_t>(type.dtype);
        for (int64_t dim : type.shape) result = result * 31 + static_cast<size_t>(dim);
      }
      return result;
    }
  };
  using Entry = std::pair<Key, std::unique_ptr<Value>>;

  size_t most_;
  std::list<Entry> entries_;
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> index_;
};

}  // namespace cornu
