// SPDX-License-Identifier: Apache-2.0
// Positions of shuffles of file contents: the items are read again when they are drawn.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/places.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "framework/core/random.h"
#include "framework/io/fuzzing.h"
#include "framework/strategy/stream.h"
#include "tests/data/support.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Place;
using Texts = std::vector<std::string>;

namespace {

// Records "0", "1", … of very different lengths, in files of different sizes.
Texts write_files(const std::filesystem::path& folder, int64_t records,
                  const std::string& compression = "") {
  PhiloxEngine engine(7);
  Texts paths;
  for (int64_t next = 0; next < records;) {
    const int64_t end = std::min(records, next + static_cast<int64_t>(engine.below(300)));
    paths.push_back((folder / fmt::format("{:03}", paths.size())).string());
    data::TFRecordWriter writer(paths.back(), {.compression_type = compression});
    for (; next < end; ++next) {
      const size_t padding = engine.below(engine.below(20) == 0 ? 9000 : 40);
      writer.write(std::to_string(next) + std::string(padding, ' '));
    }
    writer.close();
  }
  return paths;
}

int64_t number_of(const Tensor& text) { return std::stoll(text.item<std::string>()); }

// The numbers in the shuffled texts, parsed by `calls` threads.
Dataset shuffled(const Dataset& texts, int64_t buffer, int64_t calls) {
  return texts.shuffle(buffer, {.seed = 3})
      .map([](const Tensor& text) { return Tensor::scalar(number_of(text)); },
           {.num_parallel_calls = calls});
}

// Restores a position of `first` in `second`, and a position of that iterator in `first`, at random
// places. `alike`: both datasets have the same positions.
void check_restored(const Dataset& first, const Dataset& second, PhiloxEngine& engine,
                    bool alike = true) {
  const auto all = numbers(first);
  CHECK(numbers(second) == all);
  const int64_t stop = static_cast<int64_t>(engine.below(all.size() + 1));
  const int64_t more = static_cast<int64_t>(engine.below(all.size() + 1));
  CAPTURE(stop);
  CAPTURE(more);
  // The iterator of the second pass, which is shuffled differently.
  auto iterator = first.iterator();
  numbers(iterator, stop);
  const std::string saved = iterator.save().dump();
  const auto rest = numbers(iterator);
  auto restored = second.iterator();
  restored.restore(Json::parse(saved));
  if (alike) CHECK(restored.save().dump() == saved);
  auto both = numbers(restored, more);
  const std::string later = restored.save().dump();
  auto again = first.iterator();
  again.restore(Json::parse(later));
  const auto last = numbers(again);
  both.insert(both.end(), last.begin(), last.end());
  CHECK(both == rest);
}

// The position of a map of a shuffle in the older format, in which items had no places.
Json without_places(const Json& position) {
  const Json& state = position.at("state").at("state");
  const Json input = Json::object({{"taken", state.at("input").at("taken")}});
  const Json older = Json::object({{"input", input},
                                   {"given", state.at("given")},
                                   {"ended", state.at("ended")},
                                   {"failed", state.at("failed")}});
  Json changed = position;
  changed.set("state",
              Json::object({{"taken", position.at("state").at("taken")}, {"state", older}}));
  return changed;
}

}  // namespace

TEST_CASE("a shuffle of records goes on as it would, at any parallelism and from any place") {
  const TempFolder folder;
  const auto paths = write_files(folder.path(), cases(1500, 300));
  for (int64_t seed = 0; seed < cases(40, 8); ++seed) {
    CAPTURE(seed);
    PhiloxEngine engine(static_cast<uint64_t>(seed));
    const int64_t buffers[] = {1, 2, 9, 100, 700, 5000};
    const int64_t buffer = buffers[engine.below(6)];
    const int64_t kind = seed % 4;
    CAPTURE(buffer);
    CAPTURE(kind);
    const auto make = [&](int64_t calls) {
      Dataset names = Dataset::from_tensor_slices(Tensor::from(paths));
      if (kind == 1) names = names.shuffle(4, {.seed = 5});
      Dataset made = shuffled(data::TFRecordDataset(names), buffer, calls);
      if (kind == 2) made = made.repeat(2).prefetch(3);
      if (kind == 3) made = made.batch(7).prefetch(2).unbatch().shuffle(5, {.seed = 9});
      return made;
    };
    const int64_t calls[] = {1, 2, 8};
    check_restored(make(calls[engine.below(3)]), make(calls[engine.below(3)]), engine);
  }
}

TEST_CASE("a shuffle of lines and of records of one length goes on as it would") {
  const TempFolder folder;
  Texts paths;
  for (int file = 0; file < 3; ++file) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += fmt::format("{:05}\n", file * 200 + i);
    paths.push_back((folder / std::to_string(file)).string());
    write_text(paths.back(), text);
  }
  PhiloxEngine engine(1);
  for (int64_t round = 0; round < cases(10, 3); ++round) {
    CAPTURE(round);
    const Dataset lines = shuffled(data::TextLineDataset(paths), 150, 2);
    check_restored(lines, shuffled(data::TextLineDataset(paths), 150, 1), engine);
    const Dataset records = shuffled(data::FixedLengthRecordDataset(paths, 6), 150, 2);
    check_restored(records, shuffled(data::FixedLengthRecordDataset(paths, 6), 150, 8), engine);
  }
}

TEST_CASE("positions are written while the shuffle goes on, on another thread") {
  const TempFolder folder;
  const auto paths = write_files(folder.path(), cases(600, 150));
  const Dataset dataset = shuffled(data::TFRecordDataset(paths), 90, 2).prefetch(8);
  const auto all = numbers(shuffled(data::TFRecordDataset(paths), 90, 1));
  auto iterator = dataset.iterator();
  std::vector<Json> positions;
  for (size_t i = 0; i <= all.size(); ++i) {
    positions.push_back(iterator.save());
    numbers(iterator, 1);
  }
  for (size_t i = 0; i < positions.size(); i += 41) {
    CAPTURE(i);
    auto restored = dataset.iterator();
    restored.restore(positions[i]);
    CHECK(numbers(restored) ==
          std::vector<int64_t>(all.begin() + static_cast<int64_t>(i), all.end()));
  }
}

TEST_CASE("positions of shuffled records are restored where they have no places, and from before") {
  const TempFolder folder;
  const auto paths = write_files(folder.path(), 900);
  const auto make = [&] { return shuffled(data::TFRecordDataset(paths), 200, 1); };
  const auto make_ahead = [&] {
    return shuffled(data::TFRecordDataset(paths, {.num_parallel_reads = data::kAutotune}), 200, 2);
  };
  PhiloxEngine engine(2);
  for (int64_t round = 0; round < cases(5, 2); ++round) {
    CAPTURE(round);
    check_restored(make(), make_ahead(), engine, false);
    check_restored(make_ahead(), make(), engine, false);
  }
  const Dataset plain = make();
  auto iterator = plain.iterator();
  numbers(iterator, 450);
  const Json saved = unsealed(iterator.save());
  CHECK(contains(saved.dump(), "\"slots\""));
  const auto rest = numbers(iterator);
  auto restored = plain.iterator();
  restored.restore(without_places(saved));
  CHECK(restored.save().at("state") == saved.at("state"));
  CHECK(numbers(restored) == rest);
  {
    // Measuring adds links between the shuffle and the files.
    const EnvironmentScope statistics("CORNU_DATA_STATS", "1");
    auto measured = plain.iterator();
    measured.restore(saved);
    numbers(measured, 10);
    const Json later = measured.save();
    const auto last = numbers(measured);
    CHECK(last == std::vector<int64_t>(rest.begin() + 10, rest.end()));
    auto again = plain.iterator();
    again.restore(later);
    CHECK(numbers(again) == last);
  }

  const auto compressed = write_files(folder.path(), 300, "GZIP");
  const auto packed = [&] {
    return shuffled(data::TFRecordDataset(compressed, {.compression_type = "GZIP"}), 50, 1);
  };
  check_restored(packed(), packed(), engine);
  auto other = packed().iterator();
  numbers(other, 100);
  CHECK(!contains(other.save().dump(), "\"slots\""));
}

TEST_CASE("what a shuffle of records held is read when it is drawn, and nothing else") {
  const TempFolder folder;
  const auto paths = write_files(folder.path(), 2000);
  const Dataset dataset = shuffled(data::TFRecordDataset(paths), 100, 1);
  auto iterator = dataset.iterator();
  numbers(iterator, 1500);
  const Json saved = iterator.save();
  // Five characters per held item, plus a constant.
  CHECK(saved.dump().size() < 100 * 5 + 1000);
  const auto rest = numbers(iterator);
  const std::string last = read_text(paths.back());
  // Neither elements returned before nor those that come later are read.
  std::filesystem::remove(paths.front());
  std::filesystem::remove(paths.back());
  auto restored = dataset.iterator();
  restored.restore(saved);
  auto all = numbers(restored, 50);
  write_text(paths.back(), last);
  for (const int64_t number : numbers(restored)) all.push_back(number);
  CHECK(all == rest);
}

TEST_CASE("a line that a shuffle held and that isn't there any more is told") {
  const TempFolder folder;
  const std::string path = (folder.path() / "lines").string();
  std::string text;
  for (int i = 0; i < 400; ++i) text += fmt::format("{}\n", 1000 + i);
  write_text(path, text);
  const Dataset dataset = shuffled(data::TextLineDataset(path), 100, 1);
  auto iterator = dataset.iterator();
  numbers(iterator, 50);
  const Json saved = iterator.save();
  write_text(path, "1" + text);  // no line begins where one did before
  auto restored = dataset.iterator();
  restored.restore(saved);
  const std::string message = message_of<DataLoss>([&] { numbers(restored, 1); });
  CHECK_MESSAGE(contains(message, "but no line starts there. Was the file changed?"), message);
}

TEST_CASE("a record that a shuffle held and that is damaged fails in its place") {
  const TempFolder folder;
  const auto path = (folder / "r").string();
  {
    data::TFRecordWriter writer(path);
    for (int i = 0; i < 100; ++i) writer.write(fmt::format("{:03}", i));
  }
  const auto make = [&] { return shuffled(data::TFRecordDataset(path), 40, 1); };
  const auto saved_in = [](const Dataset& dataset) {
    auto iterator = dataset.iterator();
    numbers(iterator, 30);
    const Json saved = iterator.save();
    return std::pair(saved, numbers(iterator));
  };
  const auto plain = saved_in(make());
  const auto tolerant = saved_in(make().ignore_errors());
  const Json& saved = plain.first;
  const std::vector<int64_t>& rest = plain.second;
  CHECK(tolerant.second == rest);
  const auto held = std::find_if(rest.begin(), rest.end(), [](int64_t x) { return x < 60; });
  REQUIRE(held != rest.end());
  std::string bytes = read_text(path);
  const size_t at = static_cast<size_t>(*held) * 19;
  bytes[at + 13] = '!';
  write_text(path, bytes);
  if (kChecksumsMatter) {
    auto restored = make().iterator();
    restored.restore(saved);
    CHECK(numbers(restored, held - rest.begin()) == std::vector<int64_t>(rest.begin(), held));
    data::Element element;
    const std::string message = message_of<DataLoss>([&] { restored.next(element); });
    CHECK_MESSAGE(
        contains(message, fmt::format("r: the record at byte {}: its content is damaged", at)),
        message);
    auto others_restored = make().ignore_errors().iterator();
    others_restored.restore(tolerant.first);
    std::vector<int64_t> without(rest.begin(), held);
    without.insert(without.end(), held + 1, rest.end());
    CHECK(numbers(others_restored) == without);
  }
  write_text(path, bytes.substr(0, 19));
  CHECK(contains(message_of<DataLoss>([&] { make().iterator().restore(saved); }),
                 "r: the position is at byte 1330, but there are 19 now."));
}

TEST_CASE("damaged places in a position are refused") {
  const TempFolder folder;
  const auto paths = write_files(folder.path(), 300);
  const Dataset dataset = data::TFRecordDataset(paths).shuffle(20, {.seed = 1});
  auto iterator = dataset.iterator();
  data::Element element;
  for (int i = 0; i < 100; ++i) iterator.next(element);
  const Json saved = unsealed(iterator.save());
  const auto error_of = [&](const Json& places) {
    Json state = saved.at("state");
    state.set("slots", places);
    Json position = saved;
    position.set("state", state);
    return message_of<DataLoss>([&] {
      auto restored = dataset.iterator();
      restored.restore(position);
      while (restored.next(element)) {
      }
    });
  };
  for (const Json& places : {Json(""), Json(1), Json("A"), Json("ä"), Json(std::string(50, 'g'))}) {
    CHECK(contains(error_of(places),
                   "a position's state is damaged: expected the places of 20 items, got "));
  }
  CHECK(contains(error_of(Json("+H" + std::string(39, 'A'))),
                 "TFRecordDataset: the position needs file 127, but it isn't there now."));
}

TEST_CASE("a shuffle's position says how many random words it has drawn") {
  const TempFolder folder;
  const Dataset dataset =
      data::TFRecordDataset(write_files(folder.path(), 300)).shuffle(20, {.seed = 1});
  auto iterator = dataset.iterator();
  data::Element element;
  for (int i = 0; i < 100; ++i) iterator.next(element);
  Json saved = unsealed(iterator.save());
  Json state = saved.at("state");
  CHECK(state.at("words") == Json(200));
  state.set("words", 198);
  saved.set("state", state);
  const std::string message = message_of<DataLoss>([&] { dataset.iterator().restore(saved); });
  CHECK_MESSAGE(contains(message, "is damaged: 100 items were given, but 198 random words drawn."),
                message);
}

TEST_CASE("places are packed and unpacked, in any order") {
  PhiloxEngine engine(4);
  std::vector<Place> places = {{}, {streams::kMaxItems, streams::kMaxItems}, {}};
  for (int i = 0; i < 1000; ++i) {
    places.push_back({static_cast<int64_t>(engine.below(100)),
                      static_cast<int64_t>(engine.below(uint64_t{1} << engine.below(40)))});
  }
  const Json text(data::packed_places(places));
  CHECK((data::unpacked_places(text, places.size()) == places));
  CHECK(data::packed_places({}).empty());
  CHECK_THROWS_AS(data::unpacked_places(text, places.size() - 1), DataLoss);
  CHECK_THROWS_AS(data::unpacked_places(text, places.size() + 1), DataLoss);
}
