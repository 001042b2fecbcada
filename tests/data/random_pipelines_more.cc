// SPDX-License-Identifier: Apache-2.0
// Files, strings, and transforms whose results depend on lengths.
#include <algorithm>
#include <map>

#include "data/csv.h"
#include "data/string_functions.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "framework/ops/ops.h"
#include "tests/data/random_pipelines.h"
#include "tests/data/support.h"

namespace cornu::testing {

using data::Dataset;

namespace {

// A file with these numbers, which exists until the process ends.
std::string file_of(const Numbers& numbers, const std::string& ending) {
  static const TempFolder folder;
  std::string name;
  for (const int64_t number : numbers) name += fmt::format("{}_", number);
  const std::string path = folder / (name + "." + ending);
  if (std::filesystem::exists(path)) return path;
  if (ending == "tfrecord") {
    data::TFRecordWriter writer(path);
    for (const int64_t number : numbers) writer.write(std::to_string(number));
    return path;
  }
  std::string text;
  for (const int64_t number : numbers) {
    text += fmt::format("{}{}\n", ending == "csv" ? "x," : "", number);
  }
  write_text(path, text);
  return path;
}

Dataset as_numbers(const Dataset& texts, int64_t calls) {
  return texts.map(data::strings::functions::to_number("int64"),
                   {.num_parallel_calls = calls, .output_signature = kind(false)});
}

// Takes one item from each list in turn, with `count` lists open at a time. When a list has ended,
// the next one takes its place and yields an item the next time it is that place's turn.
Numbers in_turn(const std::vector<Numbers>& lists, size_t count) {
  std::vector<std::pair<size_t, size_t>> open;  // a list and its next item
  size_t next = 0;
  while (next < lists.size() && open.size() < count) open.emplace_back(next++, 0);
  Numbers all;
  for (size_t place = 0; !open.empty();) {
    if (place >= open.size()) place = 0;
    auto& [list, item] = open[place];
    if (item < lists[list].size()) {
      all.push_back(lists[list][item++]);
      ++place;
    } else if (next < lists.size()) {
      open[place] = {next++, 0};
      ++place;
    } else {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  return all;
}

}  // namespace

Pipeline file_source(Dice& dice) {
  std::vector<Numbers> lists(static_cast<size_t>(dice.between(1, 3)));
  std::string sizes;
  int64_t number = dice.between(-5, 5);
  for (Numbers& list : lists) {
    list.resize(static_cast<size_t>(dice.one_in(5) ? 0 : dice.between(1, 9)));
    for (int64_t& item : list) item = number++;
    sizes += fmt::format(" {}", list.size());
  }
  const int64_t which = dice.between(0, 2);
  const std::string ending = which == 0 ? "tfrecord" : which == 1 ? "txt" : "csv";
  const int64_t reads = which == 2 ? 0 : dice.between(-1, 3);  // 0: not set
  const auto asked = reads == 0 ? std::nullopt : std::optional(reads);
  const int64_t buffer = which != 2 && dice.one_in(2) ? dice.between(1, 12) : 0;  // 0: no shuffle
  const auto build = [=](int64_t calls) {
    std::vector<std::string> paths;
    for (const Numbers& list : lists) paths.push_back(file_of(list, ending));
    if (ending == "csv") {
      return data::CsvDataset(paths, {"none", DType::Int64})
          .map([](const Tensor&, const Tensor& x) { return x; },
               {.num_parallel_calls = calls, .output_signature = kind(false)});
    }
    const Dataset texts = ending == "txt"
                              ? data::TextLineDataset(paths, {.num_parallel_reads = asked})
                              : data::TFRecordDataset(paths, {.num_parallel_reads = asked});
    const data::ShuffleOptions once = {.seed = 5, .reshuffle_each_iteration = false};
    return as_numbers(buffer > 0 ? texts.shuffle(buffer, once) : texts, calls);
  };
  Items items = to_items(in_turn(lists, static_cast<size_t>(std::max<int64_t>(reads, 1))));
  if (buffer > 0) items = shuffled(items, buffer, 5);
  return {build, std::move(items), false,
          fmt::format("{} from {} of{}, {} reads, shuffled by {}", ending,
                      lists[0].empty() ? 0 : lists[0][0], sizes, reads, buffer)};
}

void spell(Pipeline& p, Dice& dice) {
  const int64_t digit = dice.between(0, 9);
  Items out = p.items;
  for (Numbers& item : out) {
    std::string text = std::to_string(item[0]);
    std::replace(text.begin(), text.end(), static_cast<char>('0' + digit), '1');
    item[0] = std::stoll(text);
  }
  extend(p, fmt::format("{} spelled 1", digit), out, false, [=](const Dataset& d, int64_t calls) {
    const data::MapOptions how = {
        .num_parallel_calls = calls,
        .output_signature = data::ElementSpec{{{DType::String, Shape{}}}, {}}};
    return as_numbers(
        d.map(data::strings::functions::as_string(), how)
            .map(data::strings::functions::regex_replace(std::to_string(digit), "1"), how),
        calls);
  });
}

void rebatch(Pipeline& p, Dice& dice) {
  const int64_t n = dice.between(1, 5);
  const bool drop = dice.one_in(3);
  Items out;
  for (const Items& group : groups_of(to_items(joined(p.items)), n, drop)) {
    out.push_back(joined(group));
  }
  extend(p, fmt::format("rebatch {}{}", n, drop ? " drop" : ""), out, true,
         [=](const Dataset& d, int64_t calls) {
           return d.rebatch(n, {.drop_remainder = drop, .num_parallel_calls = calls});
         });
}

void bucket(Pipeline& p, Dice& dice) {
  const Numbers boundaries = {2, 4};
  const Numbers sizes = {dice.between(1, 3), dice.between(1, 3), dice.between(1, 3)};
  const bool drop = dice.one_in(3);
  std::map<size_t, Items> groups;
  Items out;
  const auto give = [&](Items group) {
    size_t longest = 0;
    for (const Numbers& item : group) longest = std::max(longest, item.size());
    for (Numbers& item : group) {
      item.resize(longest, -9);
      out.push_back(item);
    }
  };
  for (const Numbers& item : p.items) {
    const auto at = std::upper_bound(boundaries.begin(), boundaries.end(), std::ssize(item));
    const auto which = static_cast<size_t>(at - boundaries.begin());
    groups[which].push_back(item);
    if (std::ssize(groups[which]) < sizes[which]) continue;
    give(std::exchange(groups[which], {}));
  }
  for (const auto& [which, group] : groups) {
    if (!drop) give(group);
  }
  extend(p, fmt::format("bucket {} {} {}{}", sizes[0], sizes[1], sizes[2], drop ? " drop" : ""),
         out, true, [=](const Dataset& d, int64_t) {
           return d
               .bucket_by_sequence_length([](const Tensor& x) { return ops::sum(x * 0 + 1); },
                                          boundaries, sizes,
                                          {.padding_values = {Tensor(-9)}, .drop_remainder = drop})
               .unbatch();
         });
}

// Joins `m` batches of `n` items: their numbers, followed by where each begins and ends.
void make_ragged(Pipeline& p, Dice& dice) {
  const int64_t n = dice.between(1, 4);
  const int64_t m = dice.between(1, 3);
  const bool drop = dice.one_in(3);
  Items batches;
  for (const Items& group : groups_of(p.items, n, false)) batches.push_back(joined(group));
  Items out;
  for (const Items& group : groups_of(batches, m, drop)) {
    Numbers numbers = joined(group);
    int64_t end = 0;
    numbers.push_back(end);
    for (const Numbers& row : group) numbers.push_back(end += std::ssize(row));
    out.push_back(numbers);
  }
  extend(p, fmt::format("ragged_batch {} of batch {}{}", m, n, drop ? " drop" : ""), out, true,
         [=](const Dataset& d, int64_t calls) {
           return d.batch(n)
               .ragged_batch(m, {.drop_remainder = drop})
               .map(
                   [](const Tensors& ragged) {
                     return ops::concatenate({ragged["values"], ragged["row_splits"]});
                   },
                   {.num_parallel_calls = calls});
         });
}

void choose(Pipeline& p, const Pipeline& other, Dice& dice) {
  const bool stops = dice.one_in(2);
  Numbers choices(static_cast<size_t>(dice.between(0, 30)));
  std::string text;
  for (int64_t& choice : choices) {
    choice = dice.between(0, 1);
    text += std::to_string(choice);
  }
  Items out;
  std::array<size_t, 2> next{};
  for (const int64_t choice : choices) {
    const auto from = static_cast<size_t>(choice);
    const Items& chosen = from == 0 ? p.items : other.items;
    if (next[from] < chosen.size()) {
      out.push_back(chosen[next[from]++]);
    } else if (stops) {
      break;
    }
  }
  extend(p, fmt::format("choose {}{} with {}", text, stops ? " stopping" : "", other.text), out,
         p.vectors, [=](const Dataset& d, int64_t calls) {
           return Dataset::choose_from_datasets({d, other.build(calls)},
                                                Dataset::from_tensor_slices(Tensor::from(choices)),
                                                {.stop_on_empty_dataset = stops});
         });
}

std::vector<Items> groups_of(const Items& in, int64_t size, bool drop) {
  std::vector<Items> groups;
  for (const Numbers& item : in) {
    if (groups.empty() || std::ssize(groups.back()) == size) groups.emplace_back();
    groups.back().push_back(item);
  }
  if (drop && !groups.empty() && std::ssize(groups.back()) < size) groups.pop_back();
  return groups;
}

Numbers joined(const Items& group) {
  Numbers all;
  for (const Numbers& item : group) all.insert(all.end(), item.begin(), item.end());
  return all;
}

}  // namespace cornu::testing
