// SPDX-License-Identifier: Apache-2.0
// Small files that ask for much: the memory they take stays in proportion to the file, and
// rejections say why.
#include <doctest/doctest.h>
#include <pthread.h>
#include <zip.h>

#include "framework/io/archive.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/body.h"
#include "tests/saving/models.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::message_of;
using test::Scratch;

// ---- HDF5 in its earliest format, byte by byte ----

class Hdf5Bytes {
 public:
  Hdf5Bytes& number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  Hdf5Bytes& u16(uint64_t value) { return number(value, 2); }
  Hdf5Bytes& u32(uint64_t value) { return number(value, 4); }
  Hdf5Bytes& u64(uint64_t value) { return number(value, 8); }
  Hdf5Bytes& text(const std::string& value) {
    text_ += value;
    return *this;
  }
  size_t size() const { return text_.size(); }

  // Returns a reader of a file in which these bytes begin at byte 96, with the root group's header.
  Hdf5Reader open() const {
    Hdf5Bytes file;
    file.text("\x89HDF\r\n\x1a\n").u32(0).u32(0x00080800).u16(4).u16(16).u32(0);
    file.u64(0).u64(~uint64_t{0}).u64(96 + size()).u64(~uint64_t{0});
    file.u64(0).u64(96).u64(0).u64(0).u64(0);
    CHECK(file.size() == 96);
    file.text(text_);
    const auto bytes = std::as_bytes(std::span(file.text_));
    return Hdf5Reader::from_bytes({bytes.begin(), bytes.end()}, "file");
  }

 private:
  std::string text_;
};

Hdf5Bytes header(size_t messages, size_t bytes) {
  Hdf5Bytes result;
  return result.u16(1).u16(messages).u32(1).u32(bytes).u32(0);
}

TEST_CASE("HDF5: parts of a header that overlap") {
  constexpr size_t kParts = 200;
  constexpr size_t kPartBytes = 60'000;
  constexpr size_t kContinuation = 0x10;
  Hdf5Bytes file = header(2 * kParts, kParts * 24);
  const size_t parts = 96 + 16 + kParts * 24;
  for (size_t i = 0; i < kParts; ++i) {
    file.u16(kContinuation).u16(16).u32(0).u64(parts + 8 * i).u64(kPartBytes + 8);
  }
  while (96 + file.size() < parts + 8 * kParts) file.u16(0).u16(kPartBytes).u32(0);
  file.text(std::string(kPartBytes + 8, '\0'));
  const Hdf5Reader reader = file.open();
  CHECK(message_of<DataLoss>([&] { reader.children(""); }) ==
        "'file': an object's header has parts that overlap: they have more bytes than the file.");
}

TEST_CASE("HDF5: names that overlap") {
  constexpr size_t kNames = 4'000;
  constexpr size_t kSymbolTable = 0x11;
  Hdf5Bytes file = header(1, 24);
  const size_t tree = 96 + 16 + 24;
  const size_t leaf = tree + 24 + 16;
  const size_t heap = leaf + 8 + 40 * kNames;
  file.u16(kSymbolTable).u16(16).u32(0).u64(tree).u64(heap);
  file.text("TREE").u16(0).u16(1).u64(~uint64_t{0}).u64(~uint64_t{0}).u64(0).u64(leaf);
  file.text("SNOD").u16(1).u16(kNames);
  for (size_t i = 0; i < kNames; ++i) file.u64(i).u64(96).u64(0).u64(0).u64(0);
  file.text("HEAP").u32(0).u64(kNames + 1).u64(~uint64_t{0}).u64(heap + 32);
  file.text(std::string(kNames, 'a')).number(0, 1);
  const Hdf5Reader reader = file.open();
  CHECK(message_of<DataLoss>([&] { reader.children(""); }) ==
        "'file': a group's names overlap: they have more bytes than the file.");
}

// `groups` groups in the root, named g100 and up, all sharing one table of links, named n100 and
// up.
Hdf5Bytes groups_that_share(size_t groups, size_t links) {
  constexpr size_t kSymbolTable = 0x11;
  constexpr size_t kName = 5;  // bytes of a name, including the zero
  Hdf5Bytes file;
  auto add_header = [&](size_t tree, size_t heap) {
    file.u16(1).u16(1).u32(1).u32(24).u32(0);
    file.u16(kSymbolTable).u16(16).u32(0).u64(tree).u64(heap);
  };
  auto add_table = [&](size_t count, const std::string& letter, size_t step) {
    const size_t leaf = 96 + file.size() + 40;
    file.text("TREE").u16(0).u16(1).u64(~uint64_t{0}).u64(~uint64_t{0}).u64(0).u64(leaf);
    file.text("SNOD").u16(1).u16(count);
    for (size_t i = 0; i < count; ++i) {
      file.u64(kName * i).u64(136 + step * i).u64(0).u64(0).u64(0);
    }
    const size_t heap = 96 + file.size();
    file.text("HEAP").u32(0).u64(kName * count).u64(~uint64_t{0}).u64(heap + 32);
    for (size_t i = 0; i < count; ++i) file.text(letter + std::to_string(100 + i)).number(0, 1);
  };
  const size_t tree = 136 + 40 * groups;
  const size_t shared = tree + 40 + 8 + 40 * groups + 32 + kName * groups;
  add_header(tree, tree + 40 + 8 + 40 * groups);
  for (size_t i = 0; i < groups; ++i) add_header(shared, shared + 40 + 8 + 40 * links);
  add_table(groups, "g", 40);
  CHECK(96 + file.size() == shared);
  add_table(links, "n", 0);
  return file;
}

TEST_CASE("HDF5: tables that many groups share are read a few times at most") {
  const Hdf5Reader reader = groups_that_share(100, 200).open();
  CHECK(reader.children("").size() == 100);
  CHECK(reader.children("g100").size() == 200);
  CHECK(reader.children("g101").size() == 200);
  const std::string error = message_of<DataLoss>([&] {
    for (int i = 102; i < 200; ++i) reader.children("g" + std::to_string(i));
  });
  CHECK(contains(error, "its headers and groups overlap: they have more bytes than the file."));
}

// ---- .keras ----

// Saves a small model to a file.
void save_small(const std::string& path) {
  Sequential model(Input({.shape = {4}}), {layers::Dense({.units = 3, .name = "dense"})});
  model.save(path);
}

// Replaces the config in the file.
void replace_config(const std::string& path, const std::string& config) {
  const ArchiveReader archive(path);
  const auto weights = archive.read("model.weights.h5", SIZE_MAX);
  const auto bytes = std::as_bytes(std::span(config));
  const ArchiveMember members[] = {{"config.json", bytes}, {"model.weights.h5", weights}};
  write_archive(path, members);
}

std::string config_of(const std::string& path) {
  return ArchiveReader(path).read_text("config.json", SIZE_MAX);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("weights that the file doesn't hold aren't made") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  save_small(path);
  const std::string config = config_of(path);
  replace_config(path, replaced(config, R"("units": 3)", R"("units": 100000000)"));
  const std::string error = message_of<InvalidArgument>([&] { load_model(path); });
  CHECK(contains(error,
                 "'dense': a weight of 1600000000 bytes, after 0 bytes of others, isn't in "
                 "the file, whose weights have "));
  for (const char* units : {"4611686018427387905", "1152921504606846977", "9223372036854775807"}) {
    replace_config(path, replaced(config, R"("units": 3)", std::string(R"("units": )") + units));
    CHECK(contains(message_of<InvalidArgument>([&] { load_model(path); }), "dense"));
  }
  replace_config(path, config);
  CHECK(load_model(path).count_params() == 15);
}

TEST_CASE("a config that hardly takes room in its archive") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  save_small(path);
  std::string config = "[0";
  while (config.size() < 3'000'000) config += ",0";
  config += "]";
  zip_t* archive = zip_open(path.c_str(), 0, nullptr);
  REQUIRE(archive != nullptr);
  zip_source_t* source = zip_source_buffer(archive, config.data(), config.size(), 0);
  const auto index =
      static_cast<zip_uint64_t>(zip_file_add(archive, "config.json", source, ZIP_FL_OVERWRITE));
  zip_set_file_compression(archive, index, ZIP_CM_DEFLATE, 9);
  REQUIRE(zip_close(archive) == 0);
  CHECK(contains(message_of<ResourceExhausted>([&] { load_model(path); }),
                 "'config.json' has 3000001 bytes; at most "));
}

TEST_CASE("very long names, and values that are whole trees") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  save_small(path);
  const std::string config = config_of(path);
  const std::string name(200'000, 'n');
  for (const char* known : {R"("class_name": "Dense")", R"("class_name": "Sequential")",
                            R"("class_name": "GlorotUniform")"}) {
    replace_config(path, replaced(config, known, R"("class_name": ")" + name + "\""));
    const std::string error = message_of<InvalidArgument>([&] { load_model(path); });
    CHECK(contains(error, "Unknown "));
    CHECK(contains(error, "nnn…'"));
    CHECK(error.size() < 1'500);
  }
  std::string tree = "[0";
  while (tree.size() < name.size()) tree += ",0";
  replace_config(path, replaced(config, R"("units": 3)", R"("units": )" + tree + "]"));
  const std::string tree_error = message_of<InvalidArgument>([&] { load_model(path); });
  CHECK(contains(tree_error, "expected an integer, got [0, 0, "));
  CHECK(tree_error.size() < 1'000);
  replace_config(path, replaced(config, R"("name": "dense")", R"("name": ")" + name + "\""));
  const std::string error = message_of<InvalidArgument>([&] {
    load_model(path).predict(test::numbers({2, 7}));
  });
  CHECK(error.size() < 10'000);
}

TEST_CASE("models within models") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  save_small(path);
  const auto nested = [](int depth) {
    std::string config, ends;
    for (int i = 0; i < depth; ++i) {
      config += R"({"module": "keras", "class_name": "Sequential", "config": {"name": "s", )"
                R"("layers": [)";
      ends += "]}}";
    }
    return config +
           R"({"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2}})" +
           ends;
  };
  replace_config(path, nested(60));
  CHECK_FALSE(load_model(path).built());
  for (const int depth : {100, 100'000}) {
    replace_config(path, nested(depth));
    CHECK(contains(message_of<DataLoss>([&] { load_model(path); }),
                   "config.json: JSON: nested deeper than 200 levels."));
  }
}

TEST_CASE("a layer's name can't command the terminal") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  save_small(path);
  replace_config(path, replaced(config_of(path), R"("name": "dense")",
                                R"("name": "a\u001b[2Jb\u009bc\u0000d")"));
  std::string text;
  load_model(path).summary({.print_fn = [&](const std::string& all) { text = all; }});
  CHECK(contains(text, R"(a\x1b[2Jb\x9bc\x00d (Dense))"));
  CHECK(text.find('\x1b') == std::string::npos);
}

// ---- long chains ----

// Runs `body` on a thread with a stack of 256 KiB.
template <class F>
void on_small_stack(F body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  const auto run = [](void* f) -> void* {
    (*static_cast<F*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_CASE("a long chain of layers needs no stack") {
  constexpr size_t kCalls = 4'000;
  Tensor input = Input({.shape = {2}});
  const layers::Activation shared({.activation = "linear"});
  Tensor x = input;
  for (size_t i = 0; i < kCalls; ++i) x = shared(x);
  std::unique_ptr<FunctionalGraph> graph;
  on_small_stack([&] { graph = std::make_unique<FunctionalGraph>(input, x); });
  CHECK(graph->nodes().size() == kCalls + 1);
  on_small_stack([&] {
    graph.reset();
    x = Tensor();
  });
}

TEST_CASE("layers in any order in the file, and a long Sequential") {
  constexpr int kLayers = 300;
  const Tensor input = Input({.shape = {3}, .name = "input"});
  const layers::Dense shared({.units = 3, .name = "shared"});
  Tensor x = input;
  for (int i = 0; i < kLayers; ++i) {
    x = layers::Activation({.activation = "tanh", .name = fmt::format("layer_{}", i)})(x);
    if (i % 10 == 0) x = shared(x);
  }
  Model model(input, x);
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  model.save(path);
  Json config = Json::parse(config_of(path));
  Json inner = config.at("config");
  Json::Array layers = inner.at("layers").as_array();
  std::reverse(layers.begin(), layers.end());
  inner.set("layers", layers);
  config.set("config", inner);
  replace_config(path, config.dump());
  Model loaded = load_model(path);
  const Tensor data = test::numbers({2, 3});
  CHECK(test::distance(test::predictions(model, data), test::predictions(loaded, data)) == 0);

  Sequential chain(Input({.shape = {3}}), {});
  for (int i = 0; i < kLayers; ++i) chain.add(layers::Activation({.activation = "tanh"}));
  CHECK(chain.body()->graph()->nodes().size() == kLayers + 1);
  chain.pop();
  CHECK(chain.body()->graph()->nodes().size() == kLayers);
  CHECK_THROWS_AS(chain.add(layers::Conv2D({.filters = 1, .kernel_size = 1})), InvalidArgument);
  CHECK(chain.layers().size() == kLayers - 1);
}

}  // namespace
}  // namespace cornu
