// SPDX-License-Identifier: Apache-2.0
// Vocabularies in .keras files: assets, and values stored with the weights.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/io/archive.h"
#include "tests/saving/models.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::message_of;
using test::Scratch;

constexpr char kWordsFile[] = "assets/layers/string_lookup/vocabulary.txt";

std::string golden_file_of(const std::string& name) {
  const char* folder = std::getenv("CORNU_TEST_DATA");
  REQUIRE(folder != nullptr);
  return std::string(folder) + "/files/" + name;
}

std::string golden_words() { return golden_file_of("words.keras"); }

layers::StringLookup lookup_in(const Model& model) {
  return layers::StringLookup::of(model.get_layer("string_lookup"));
}

// Copies the archive with another text for one of its members, or without it.
void rewrite(const std::string& from, const std::string& to, const std::string& member,
             const std::optional<std::string>& text) {
  const ArchiveReader archive(from);
  std::vector<std::vector<std::byte>> kept;
  std::vector<ArchiveMember> members;
  for (const std::string& name : archive.names()) {
    if (name != member) {
      kept.push_back(archive.read(name, size_t{1} << 20));
    } else if (text) {
      const auto bytes = std::as_bytes(std::span(text->data(), text->size()));
      kept.emplace_back(bytes.begin(), bytes.end());
    } else {
      continue;
    }
    members.push_back({name, {}});
  }
  for (size_t i = 0; i < kept.size(); ++i) members[i].bytes = kept[i];
  write_archive(to, members);
}

TEST_CASE("a model of words that Keras wrote, and one that Cornu writes of it") {
  const Json expected = test::golden_cases("files/words.keras")[0];
  const Tensor x = test::golden_tensor(expected.at("inputs")[0]);
  const Tensor y = test::golden_tensor(expected.at("outputs")[0]);
  Model model = load_model(golden_words());
  CHECK(test::distance(model(x), y) < 1e-6);
  const auto vocabulary = lookup_in(model).get_vocabulary();
  CHECK(vocabulary == std::vector<std::string>{"[UNK]", "[UNK]", "b\xc3\xa9", "a", "d", "c"});

  const Scratch scratch;
  const std::string path = scratch.path("a.keras");
  model.save(path);
  const ArchiveReader theirs(golden_words());
  const ArchiveReader ours(path);
  CHECK(ours.names() == theirs.names());
  CHECK(ours.read_text(kWordsFile, 1000) == theirs.read_text(kWordsFile, 1000));
  Model again = load_model(path);
  CHECK(test::distance(again(x), y) < 1e-6);
  CHECK(lookup_in(again).get_vocabulary() == vocabulary);
  // It can adapt again, to the same number of words.
  lookup_in(again).adapt(Tensor::from({"w", "x", "y", "z"}));
  CHECK(lookup_in(again).get_vocabulary(false) == std::vector<std::string>{"z", "y", "x", "w"});
}

TEST_CASE("a model of texts that Keras wrote, and one that Cornu writes of it") {
  const Json expected = test::golden_cases("files/texts.keras")[0];
  const Tensor x = test::golden_tensor(expected.at("inputs")[0]);
  const Scratch scratch;
  std::string path = golden_file_of("texts.keras");
  for (const bool written_here : {false, true}) {
    CAPTURE(written_here);
    Model model = load_model(path);
    const Tensors y = model(x);
    REQUIRE(y.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
      CHECK(test::difference(y[i], expected.at("outputs")[i], {.relative = 1e-6}) == "");
    }
    path = scratch.path("a.keras");
    if (!written_here) model.save(path);
  }
  const auto sorted_names = [](const std::string& file) {
    std::vector<std::string> names = ArchiveReader(file).names();
    std::sort(names.begin(), names.end());
    return names;
  };
  CHECK(sorted_names(path) == sorted_names(golden_file_of("texts.keras")));
}

TEST_CASE("a vocabulary that ends in empty lines") {
  clear_session();
  const Scratch scratch;
  const layers::StringLookup lookup;
  lookup.set_vocabulary({"a", "", " b "});
  const layers::StringLookup empty_last({.num_oov_indices = 2});
  empty_last.set_vocabulary({"a", ""});
  const Tensor x = Input({.shape = {1}, .dtype = "string"});
  Model model(x, Tensors({lookup(x), empty_last(x)}));
  model.save(scratch.path("a.keras"));
  const Model loaded = load_model(scratch.path("a.keras"));
  CHECK(lookup_in(loaded).get_vocabulary() == lookup.get_vocabulary());
  CHECK(layers::StringLookup::of(loaded.get_layer(empty_last.name())).get_vocabulary() ==
        empty_last.get_vocabulary());
}

TEST_CASE("lists are in the config, and lines can't be tokens") {
  clear_session();
  const Scratch scratch;
  const std::string path = scratch.path("a.keras");
  const auto save = [&](const layers::StringLookup& lookup) {
    Sequential({Input({.shape = {1}, .dtype = "string"}), lookup}).save(path);
  };
  save(layers::StringLookup({.vocabulary = {"a\nb"}}));
  CHECK_FALSE(ArchiveReader(path).contains(kWordsFile));
  CHECK(lookup_in(load_model(path)).get_vocabulary(false) == std::vector<std::string>{"a\nb"});
  const auto refusal = [&](const char* token) {
    const layers::StringLookup lookup({.name = "l"});
    lookup.set_vocabulary({token});
    return message_of<FailedPrecondition>([&] { save(lookup); });
  };
  CHECK(contains(
      refusal("a\nb"),
      "StringLookup 'l': the token 'a\\x0ab' has a line's end, and the file of a vocabulary "
      "has a line for each. Give the vocabulary when the layer is made"));
  // Of lines of Windows: it would be read as "yes".
  CHECK(contains(refusal("yes\r"), "the token 'yes\\x0d' has a line's end"));
}

TEST_CASE("vocabularies that are missing, or don't fit") {
  const Scratch scratch;
  const std::string path = scratch.path("a.keras");
  rewrite(golden_words(), path, kWordsFile, std::nullopt);
  CHECK(message_of<DataLoss>([&] { load_model(path); }) ==
        path +
            " has no 'assets/layers/string_lookup/vocabulary.txt', which StringLookup "
            "'string_lookup' needs.");
  rewrite(golden_words(), path, kWordsFile, "[UNK]\n[UNK]\na\na\nb\nc");
  CHECK(contains(message_of<InvalidArgument>([&] { load_model(path); }),
                 "expected each token of the vocabulary once, got these several times: ['a']"));
  rewrite(golden_words(), path, kWordsFile, "[UNK]\n[UNK]\na");
  CHECK(contains(message_of<FailedPrecondition>([&] { load_model(path); }),
                 "its outputs have 6 elements, and a vocabulary of 3 would change that"));

  const ArchiveReader archive(golden_words());
  std::string config = archive.read_text("config.json", size_t{1} << 20);
  const std::string size = "\"vocabulary_size\": 6";
  REQUIRE(contains(config, size));
  const auto with_size = [&](const std::string& number) {
    std::string changed = config;
    changed.replace(changed.find(size), size.size(), "\"vocabulary_size\": " + number);
    rewrite(golden_words(), path, "config.json", changed);
  };
  with_size("7");
  CHECK_THROWS_AS(load_model(path), InvalidArgument);
  with_size("4000000000000");  // more than the file has weights for
  CHECK_THROWS_AS(load_model(path), InvalidArgument);
}

}  // namespace
}  // namespace cornu
