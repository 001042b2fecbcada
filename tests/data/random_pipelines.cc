// SPDX-License-Identifier: Apache-2.0
#include "tests/data/random_pipelines.h"

#include <algorithm>
#include <map>
#include <set>

#include "framework/ops/ops.h"
#include "tests/data/support.h"

namespace cornu::testing {

using data::Dataset;
using data::Element;

Items to_items(const Numbers& numbers) {
  Items items;
  for (const int64_t number : numbers) items.push_back({number});
  return items;
}

void extend(Pipeline& pipeline, const std::string& text, Items items, bool vectors,
            const Apply& apply) {
  pipeline.build = [build = pipeline.build, apply](int64_t calls) {
    return apply(build(calls), calls);
  };
  pipeline.items = std::move(items);
  pipeline.vectors = vectors;
  pipeline.text += " | " + text;
}

Items shuffled(const Items& in, int64_t buffer_size, int64_t seed) {
  PhiloxEngine engine(static_cast<uint64_t>(seed), 0);
  Items buffer;
  Items out;
  size_t next = 0;
  while (next < in.size() && std::ssize(buffer) < buffer_size) buffer.push_back(in[next++]);
  while (!buffer.empty()) {
    const size_t at = engine.below(buffer.size());
    out.push_back(buffer[at]);
    if (next < in.size()) {
      buffer[at] = in[next++];
    } else {
      buffer[at] = buffer.back();
      buffer.pop_back();
    }
  }
  return out;
}

namespace {

int64_t value(const Tensor& x) { return x.item<int64_t>(); }

Dataset generated(int64_t count, int64_t broken) {
  return Dataset::from_generator(
      [=] {
        return [=, next = int64_t{0}]() mutable -> std::optional<Element> {
          if (next == count) return std::nullopt;
          const int64_t number = next++;
          check<DataLoss>(broken == 0 || number % broken != 1, "{} is broken", number);
          return Tensor::scalar(number);
        };
      },
      {.output_signature = kind(false)});
}

Pipeline source(Dice& dice) {
  if (dice.one_in(4)) return file_source(dice);
  const int64_t count = dice.one_in(12) ? 0 : dice.between(1, 25);
  const int64_t start = dice.between(-5, 5);
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(start + 2 * i);
  const auto text = [&](const char* name) { return fmt::format("{}({}, {})", name, start, count); };
  switch (dice.between(0, 6)) {
    case 0:
      return {[=](int64_t) { return Dataset::range(start, start + 2 * count, 2); },
              to_items(numbers), false, text("range")};
    case 1:
      return {[=](int64_t) { return Dataset::from_tensor_slices(Tensor::from(numbers)); },
              to_items(numbers), false, text("rows")};
    case 2:
      return {[=](int64_t) { return Dataset::counter(start, 2).take(count); }, to_items(numbers),
              false, text("counter")};
    case 3:
      return {[=](int64_t) { return Dataset::from_tensors(Tensor::from(numbers)); },
              {numbers},
              true,
              text("tensors")};
    case 4: {
      for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = philox(static_cast<uint64_t>(count), i, 0)[0] % 1000;
      }
      return {[=](int64_t) {
                return Dataset::random({.seed = count}).take(count).map([](const Tensor& x) {
                  return ops::mod(x, 1000);
                });
              },
              to_items(numbers), false, text("random")};
    }
    case 5: {
      Numbers whole;
      for (int64_t i = 0; i < count; ++i) {
        if (i % 4 != 1) whole.push_back(i);
      }
      return {[=](int64_t) { return generated(count, 4).ignore_errors(); }, to_items(whole), false,
              text("failing")};
    }
    default:
      for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i;
      return {[=](int64_t) { return generated(count, 0); }, to_items(numbers), false,
              text("generator")};
  }
}

// Elements of any kind.
void cut(Pipeline& p, Dice& dice) {
  const Items& in = p.items;
  const int64_t n = dice.between(0, 9);
  const auto first = in.begin() + std::min(n, count_of(in));
  switch (dice.between(0, 3)) {
    case 0:
      return extend(p, fmt::format("take {}", n), Items(in.begin(), first), p.vectors,
                    [=](const Dataset& d, int64_t) { return d.take(n); });
    case 1:
      return extend(p, fmt::format("skip {}", n), Items(first, in.end()), p.vectors,
                    [=](const Dataset& d, int64_t) { return d.skip(n); });
    case 2: {
      const int64_t count = dice.between(1, 3);
      const int64_t index = dice.between(0, count - 1);
      Items out;
      for (int64_t i = index; i < count_of(in); i += count) out.push_back(in[size_t(i)]);
      return extend(p, fmt::format("shard {} {}", count, index), out, p.vectors,
                    [=](const Dataset& d, int64_t) { return d.shard(count, index); });
    }
    default: {
      const int64_t times = dice.between(0, 3);
      Items out;
      for (int64_t i = 0; i < times; ++i) out.insert(out.end(), in.begin(), in.end());
      const bool endless = dice.one_in(3);
      return extend(p, fmt::format("repeat {}{}", times, endless ? " of endless" : ""), out,
                    p.vectors, [=, size = count_of(out)](const Dataset& d, int64_t) {
                      return endless ? d.repeat().take(size) : d.repeat(times);
                    });
    }
  }
}

void hold(Pipeline& p, Dice& dice) {
  const int64_t n = dice.between(1, 9);
  switch (dice.between(0, 4)) {
    case 0:
      return extend(p, fmt::format("shuffle {}", n), shuffled(p.items, n, 7 * n), p.vectors,
                    [=](const Dataset& d, int64_t) {
                      return d.shuffle(n, {.seed = 7 * n, .reshuffle_each_iteration = false});
                    });
    case 1:
      return extend(p, "cache", p.items, p.vectors,
                    [=](const Dataset& d, int64_t) { return d.cache(); });
    case 2:
      return extend(p, "ignore_errors", p.items, p.vectors,
                    [=](const Dataset& d, int64_t) { return d.ignore_errors(); });
    case 3:
      return extend(p, "assert", p.items, p.vectors,
                    [size = count_of(p.items)](const Dataset& d, int64_t) {
                      return d.assert_cardinality(size);
                    });
    default:
      return extend(p, "prefetch", p.items, p.vectors,
                    [=](const Dataset& d, int64_t calls) { return d.prefetch(calls - 1); });
  }
}

// Takes two pipelines of the same kind.
void join(Pipeline& p, Dice& dice) {
  const Pipeline other = source(dice);
  if (other.vectors != p.vectors) return cut(p, dice);
  if (dice.one_in(3)) return choose(p, other, dice);
  Items out;
  if (dice.one_in(2)) {
    out = p.items;
    out.insert(out.end(), other.items.begin(), other.items.end());
    return extend(
        p, "concatenate " + other.text, out, p.vectors,
        [=](const Dataset& d, int64_t calls) { return d.concatenate(other.build(calls)); });
  }
  const bool stops = dice.one_in(2);
  const int64_t seed = dice.between(0, 1000);
  std::array<size_t, 2> next{};
  std::array<bool, 2> ended{};
  for (uint64_t i = 0; !ended[0] || !ended[1]; ++i) {
    const auto words = philox(static_cast<uint64_t>(seed), i, 0);
    const size_t from = to_unit_double(words[0], words[1]) * 4 < 1 ? 0 : 1;
    const Items& chosen = from == 0 ? p.items : other.items;
    if (next[from] < chosen.size()) {
      out.push_back(chosen[next[from]++]);
    } else {
      ended[from] = true;
      if (stops) break;
    }
  }
  extend(p, fmt::format("sample {}{} with {}", seed, stops ? " stopping" : "", other.text), out,
         p.vectors, [=](const Dataset& d, int64_t calls) {
           return Dataset::sample_from_datasets(
               {d, other.build(calls)},
               {.weights = {1, 3}, .seed = seed, .stop_on_empty_dataset = stops});
         });
}

Items windows_of(const Items& in, int64_t size, const data::WindowOptions& how) {
  Items out;
  for (int64_t start = 0; start < count_of(in); start += *how.shift) {
    Items window;
    for (int64_t i = 0; i < size && start + i * how.stride < count_of(in); ++i) {
      window.push_back(in[size_t(start + i * how.stride)]);
    }
    if (std::ssize(window) == size || !how.drop_remainder) out.push_back(joined(window));
  }
  return out;
}

Items grouped_by_three(const Items& in, int64_t size) {
  std::map<int64_t, Items> groups;
  Items out;
  for (const Numbers& item : in) {
    const int64_t key = ((item[0] % 3) + 3) % 3;
    groups[key].push_back(item);
    if (std::ssize(groups[key]) < size) continue;
    out.push_back(joined(groups[key]));
    groups.erase(key);
  }
  for (const auto& [key, group] : groups) out.push_back(joined(group));
  return out;
}

// Turns scalars into vectors.
void gather(Pipeline& p, Dice& dice) {
  if (dice.one_in(4)) return make_ragged(p, dice);
  const int64_t n = dice.between(1, 4);
  const bool drop = dice.one_in(3);
  switch (dice.between(0, 2)) {
    case 0: {
      Items out;
      for (const Items& group : groups_of(p.items, n, drop)) out.push_back(joined(group));
      return extend(p, fmt::format("batch {}{}", n, drop ? " drop" : ""), out, true,
                    [=](const Dataset& d, int64_t calls) {
                      return d.batch(n, {.drop_remainder = drop, .num_parallel_calls = calls});
                    });
    }
    case 1: {
      const data::WindowOptions how{
          .shift = dice.between(1, 5), .stride = dice.between(1, 3), .drop_remainder = drop};
      return extend(p, fmt::format("window {} {} {} {}", n, *how.shift, how.stride, drop),
                    windows_of(p.items, n, how), true, [=](const Dataset& d, int64_t) {
                      return d.window(n, how).flat_map([n](const Dataset& w) { return w.batch(n); },
                                                       {.output_signature = kind(true)});
                    });
    }
    default:
      return extend(p, fmt::format("group_by_window {}", n), grouped_by_three(p.items, n), true,
                    [=](const Dataset& d, int64_t) {
                      return d.group_by_window(
                          [](const Tensor& x) { return ops::mod(x, 3); },
                          [n](int64_t, const Dataset& group) { return group.batch(n); }, n,
                          {.output_signature = kind(true)});
                    });
  }
}

// x, x + 1, …: |x| % 4 numbers.
Dataset few(const Tensor& x) { return Dataset::range(value(x), value(x) + std::abs(value(x)) % 4); }
Numbers few_of(const Numbers& item) {
  Numbers out;
  for (int64_t i = 0; i < std::abs(item[0]) % 4; ++i) out.push_back(item[0] + i);
  return out;
}

Items interleaved(const Items& in, size_t cycle, int64_t block) {
  std::vector<std::optional<std::pair<Numbers, size_t>>> slots(cycle);
  Items out;
  size_t next = 0;
  for (size_t place = 0, idle = 0; idle < cycle; place = (place + 1) % cycle) {
    auto& slot = slots[place];
    if (!slot && next < in.size()) slot.emplace(few_of(in[next++]), 0);
    idle = slot ? 0 : idle + 1;
    if (!slot) continue;
    for (int64_t i = 0; slot && i < block; ++i) {
      if (slot->second == slot->first.size()) {
        slot.reset();
      } else {
        out.push_back({slot->first[slot->second++]});
      }
    }
  }
  return out;
}

// Turns one scalar into any number of them.
void multiply(Pipeline& p, Dice& dice) {
  if (dice.one_in(2)) {
    Items out;
    for (const Numbers& item : p.items) {
      for (const int64_t number : few_of(item)) out.push_back({number});
    }
    return extend(p, "flat_map", out, false, [](const Dataset& d, int64_t) {
      return d.flat_map(&few, {.output_signature = kind(false)});
    });
  }
  const int64_t cycle = dice.between(1, 4);
  const int64_t block = dice.between(1, 3);
  extend(p, fmt::format("interleave {} {}", cycle, block),
         interleaved(p.items, static_cast<size_t>(cycle), block), false,
         [=](const Dataset& d, int64_t calls) {
           return d.interleave(&few, {.cycle_length = cycle,
                                      .block_length = block,
                                      .num_parallel_calls = calls,
                                      .output_signature = kind(false)});
         });
}

Items where(const Items& in, const std::function<bool(int64_t)>& keeps) {
  Items out;
  for (const Numbers& item : in) {
    if (keeps(item[0])) out.push_back(item);
  }
  return out;
}

// Traced functions of scalars.
void compute(Pipeline& p, Dice& dice) {
  if (dice.one_in(6)) return spell(p, dice);
  Items out = p.items;
  switch (dice.between(0, 5)) {
    case 0:
      for (Numbers& item : out) item[0] = item[0] * 2 - 3;
      return extend(p, "map", out, false, [](const Dataset& d, int64_t calls) {
        return d.map([](const Tensor& x) { return x * 2 - 3; }, {.num_parallel_calls = calls});
      });
    case 1:
      return extend(
          p, "filter", where(p.items, [](int64_t x) { return x % 2 == 0; }), false,
          [](const Dataset& d, int64_t) {
            return d.filter([](const Tensor& x) { return ops::equal(ops::mod(x, 2), 0); });
          });
    case 2: {
      const int64_t limit = dice.between(0, 40);
      const auto end = std::find_if(p.items.begin(), p.items.end(),
                                    [&](const Numbers& item) { return item[0] >= limit; });
      return extend(p, fmt::format("take_while {}", limit), Items(p.items.begin(), end), false,
                    [=](const Dataset& d, int64_t) {
                      return d.take_while([=](const Tensor& x) { return ops::less(x, limit); });
                    });
    }
    case 3: {
      int64_t sum = 5;
      for (Numbers& item : out) item[0] = sum += item[0];
      return extend(p, "scan", out, false, [](const Dataset& d, int64_t) {
        return d.scan(Tensor::scalar(int64_t{5}), [](const Tensor& sum, const Tensor& x) {
          return std::pair(sum + x, sum + x);
        });
      });
    }
    case 4: {
      for (size_t i = 0; i < out.size(); ++i) out[i][0] += 10 * static_cast<int64_t>(i);
      return extend(p, "enumerate", out, false, [](const Dataset& d, int64_t calls) {
        return d.enumerate().map([](const Tensor& i, const Tensor& x) { return x + i * 10; },
                                 {.num_parallel_calls = calls});
      });
    }
    default: {
      const Pipeline other = source(dice);
      if (other.vectors) return cut(p, dice);
      out.resize(std::min(out.size(), other.items.size()));
      for (size_t i = 0; i < out.size(); ++i) out[i][0] -= other.items[i][0];
      return extend(p, "minus " + other.text, out, false, [=](const Dataset& d, int64_t calls) {
        return Dataset::zip({d, other.build(calls)}).map([](const Tensor& x, const Tensor& y) {
          return x - y;
        });
      });
    }
  }
}

// Vectors only: back to scalars, or padded to the longest of a few.
void spread(Pipeline& p, Dice& dice) {
  if (dice.one_in(4)) return rebatch(p, dice);
  if (dice.one_in(4)) return bucket(p, dice);
  Items out;
  if (!dice.one_in(3)) {
    for (const Numbers& item : p.items) {
      for (const int64_t number : item) out.push_back({number});
    }
    return extend(p, "unbatch", out, false, [](const Dataset& d, int64_t) { return d.unbatch(); });
  }
  const int64_t n = dice.between(1, 4);
  const bool drop = dice.one_in(3);
  for (Items group : groups_of(p.items, n, drop)) {
    size_t longest = 0;
    for (const Numbers& item : group) longest = std::max(longest, item.size());
    for (Numbers& item : group) {
      item.resize(longest, -9);
      out.push_back(item);
    }
  }
  extend(p, fmt::format("padded_batch {}{}", n, drop ? " drop" : ""), out, true,
         [=](const Dataset& d, int64_t) {
           return d.padded_batch(n, {.padding_values = {Tensor(-9)}, .drop_remainder = drop})
               .unbatch();
         });
}

Items distinct(const Items& in) {
  std::set<int64_t> seen;
  return where(in, [&](int64_t x) { return seen.insert(x).second; });
}

}  // namespace

Pipeline made_up(uint64_t seed) {
  Dice dice(seed);
  Pipeline p = source(dice);
  const int64_t length = dice.between(1, 9);
  for (int64_t i = 0; i < length; ++i) {
    if (count_of(p.items) > 80) {
      p.items.resize(50);
      extend(p, "take 50", p.items, p.vectors,
             [](const Dataset& d, int64_t) { return d.take(50); });
    }
    const int64_t which = dice.between(0, 9);
    if (which <= 1) {
      cut(p, dice);
    } else if (which <= 3) {
      hold(p, dice);
    } else if (which == 4) {
      join(p, dice);
    } else if (p.vectors) {
      spread(p, dice);
    } else if (which <= 6) {
      compute(p, dice);
    } else if (which == 7) {
      multiply(p, dice);
    } else if (which == 8) {
      gather(p, dice);
    } else {
      extend(p, "unique", distinct(p.items), false,
             [](const Dataset& d, int64_t) { return d.unique(); });
    }
  }
  return p;
}

Items items_of(data::Iterator& iterator, int64_t limit) {
  Items items;
  Element element;
  for (int64_t i = 0; i < limit && iterator.next(element); ++i) {
    items.push_back(numbers(element.tensor(0)));
  }
  return items;
}

}  // namespace cornu::testing
