// SPDX-License-Identifier: Apache-2.0
// Randomly generated pipelines, with the expected elements computed by plain loops over vectors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/random.h"

namespace cornu::testing {

using Numbers = std::vector<int64_t>;
using Items = std::vector<Numbers>;  // scalars are lists of one number

// A pipeline and its expected elements, which are int64 scalars or vectors of any length.
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

// The element spec of scalars, or of vectors of any length.
inline data::ElementSpec kind(bool vectors) {
  return {.types = {{DType::Int64, vectors ? Shape{kUnknown} : Shape{}}}, .structure = {}};
}
Items to_items(const Numbers& numbers);  // scalars only

// Adds one more transform to the pipeline.
using Apply = std::function<data::Dataset(const data::Dataset&, int64_t calls)>;
void extend(Pipeline& pipeline, const std::string& text, Items items, bool vectors,
            const Apply& apply);

// Groups of `size` items each, and the rest.
std::vector<Items> groups_of(const Items& in, int64_t size, bool drop);
Numbers joined(const Items& group);
// The result of the first pass of shuffle.
Items shuffled(const Items& in, int64_t buffer_size, int64_t seed);

// Numbers in TFRecord, text or CSV files.
Pipeline file_source(Dice& dice);
// Scalars only: converts them to strings and back.
void spell(Pipeline& pipeline, Dice& dice);
// Vectors only: regroups them into batches of another size, ragged batches, or buckets by length.
void rebatch(Pipeline& pipeline, Dice& dice);
void bucket(Pipeline& pipeline, Dice& dice);
// Scalars only.
void make_ragged(Pipeline& pipeline, Dice& dice);
// Chooses from a pipeline and another one of its kind.
void choose(Pipeline& pipeline, const Pipeline& other, Dice& dice);

// Returns the same pipeline for the same seed.
Pipeline made_up(uint64_t seed);

// Returns the next elements, at most `limit`.
Items items_of(data::Iterator& iterator, int64_t limit = INT64_MAX);

}  // namespace cornu::testing
