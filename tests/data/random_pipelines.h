// SPDX-License-Identifier: Apache-2.0
// Pipelines that are made up at random, with what plain loops over vectors give.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/random.h"

namespace cornu::testing {

using Numbers = std::vector<int64_t>;
using Items = std::vector<Numbers>;  // of scalars: lists of one

// What a pipeline is and should give. Its elements are int64 scalars, or vectors of any length.
struct Pipeline {
  std::function<data::Dataset(int64_t calls)> build;
  Items items;
  bool vectors = false;
  std::string text;
};

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_.below(static_cast<uint64_t>(high - low + 1)));
  }
  bool one_in(int64_t count) { return between(1, count) == 1; }

 private:
  PhiloxEngine engine_;
};

inline int64_t count_of(const Items& items) { return std::ssize(items); }

// Of scalars, or of vectors of any length.
inline data::ElementSpec kind(bool vectors) {
  return {.types = {{DType::Int64, vectors ? Shape{kUnknown} : Shape{}}}, .structure = {}};
}
Items to_items(const Numbers& numbers);  // of scalars

// The same pipeline with one transform more.
using Apply = std::function<data::Dataset(const data::Dataset&, int64_t calls)>;
void extend(Pipeline& pipeline, const std::string& text, Items items, bool vectors,
            const Apply& apply);

// Each `size` of the items, and what is left.
std::vector<Items> groups_of(const Items& in, int64_t size, bool drop);
Numbers joined(const Items& group);
// What shuffle gives the first time.
Items shuffled(const Items& in, int64_t buffer_size, int64_t seed);

// Numbers in files of records, lines or tables.
Pipeline file_source(Dice& dice);
// By way of strings, of scalars.
void spell(Pipeline& pipeline, Dice& dice);
// Into batches of another size, ragged ones, and buckets of lengths; of vectors.
void rebatch(Pipeline& pipeline, Dice& dice);
void bucket(Pipeline& pipeline, Dice& dice);
// Of scalars.
void make_ragged(Pipeline& pipeline, Dice& dice);
// Chosen from a pipeline and another of its kind.
void choose(Pipeline& pipeline, const Pipeline& other, Dice& dice);

// The same for the same seed.
Pipeline made_up(uint64_t seed);

// The next elements, up to `limit`.
Items items_of(data::Iterator& iterator, int64_t limit = INT64_MAX);

}  // namespace cornu::testing
