// SPDX-License-Identifier: Apache-2.0
// The attacks in published advisories about Keras's loader, each as a file that a test creates: it
// is rejected with an error that says why, nothing in it is executed, no other file is opened,
// there is no network access, and no more memory is used than the file has. If an advisory has no
// public example, the file is of the kind of attack that it describes, and the case says so.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>

#include "framework/io/archive.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/get_file.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/saving/models.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::Foreign;
using test::Scratch;

// Detects whether a file is opened.
class Watched {
 public:
  explicit Watched(const std::string& path) : path_(path), events_(inotify_init1(IN_CLOEXEC)) {
    test::put(path, "secret of this test\n");
    REQUIRE(inotify_add_watch(events_.get(), path.c_str(), IN_OPEN | IN_ACCESS) >= 0);
  }
  const std::string& path() const { return path_; }
  bool was_opened() const {
    pollfd wait{events_.get(), POLLIN, 0};
    return poll(&wait, 1, 0) > 0;
  }

 private:
  std::string path_;
  FileDescriptor events_;
};

// A local server that must not receive any request.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* at = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(socket_.get(), at, size) == 0);
    REQUIRE(listen(socket_.get(), 1) == 0);
    REQUIRE(getsockname(socket_.get(), at, &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/secret", port_); }
  bool was_asked() const {
    pollfd wait{socket_.get(), POLLIN, 0};
    return poll(&wait, 1, 0) > 0;
  }

 private:
  FileDescriptor socket_;
  int port_ = 0;
};

// The peak memory usage of this process, in MiB.
int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

// Creates a .keras file of a Sequential model with this single layer and these weights.
std::string keras_file(const Scratch& scratch, const std::string& layer,
                       const std::vector<std::byte>& weights) {
  const std::string path = scratch.path("model.keras");
  const std::string config =
      R"({"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [)"
      R"({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 3],)"
      R"( "dtype": "float32", "name": "input"}, "registered_name": null}, )" +
      layer + R"(]}, "registered_name": null})";
  const ArchiveMember members[] = {{"config.json", std::as_bytes(std::span(config))},
                                   {"model.weights.h5", weights}};
  write_archive(path, members);
  return path;
}

std::vector<std::byte> no_weights() {
  Foreign file(false);
  file.add_group("layers");
  return file.take_bytes();
}

// Returns the kind and message of the error.
std::string refusal(const std::string& path) {
  try {
    load_model(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was loaded";
}

std::string layer_of(const std::string& module, const std::string& class_name,
                     const std::string& config) {
  return R"({"module": ")" + module + R"(", "class_name": ")" + class_name + R"(", "config": )" +
         config + R"(, "registered_name": null})";
}

// A function as written by Python Keras: marshalled bytecode in base64.
constexpr char kBytecode[] =
    R"({"class_name": "__lambda__", "config": {"code": "4wEAAAAAAAAA", "defaults": null, )"
    R"("closure": null}})";

TEST_CASE("CVE-2024-3660: bytecode of a Lambda layer") {
  const Scratch scratch;
  const std::string text = refusal(
      keras_file(scratch,
                 layer_of("keras.layers", "Lambda",
                          R"({"name": "l", "trainable": true, "dtype": "float32", "function": )" +
                              std::string(kBytecode) + "}"),
                 no_weights()));
  CAPTURE(text);
  CHECK(contains(text, "Lambda 'l': its function is Python bytecode, which is never executed."));
  CHECK(contains(text, "register_keras_serializable"));
}

TEST_CASE("CVE-2025-9905: the same in a whole-model HDF5 file") {
  const Scratch scratch;
  Foreign file(false);
  file.add_group("model_weights");
  file.add_fixed_string(
      ".", "model_config",
      R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "Lambda", )"
      R"("config": {"name": "l", "function": ["4wEAAAAAAAAA", null, null], "function_type": "lambda"}}]}})");
  const std::string path = scratch.path("model.h5");
  write_file_atomically(path, file.take_bytes());
  const std::string text = refusal(path);
  CAPTURE(text);
  CHECK(contains(text, "Lambda 'l': its function is Python bytecode, which is never executed."));
}

TEST_CASE("whole models in HDF5 files that aren't") {
  const Scratch scratch;
  const std::string path = scratch.path("model.h5");
  const auto refusal_of = [&](const char* config) {
    Foreign file(false);
    if (config) file.add_fixed_string(".", "model_config", config);
    write_file_atomically(path, file.take_bytes());
    return refusal(path);
  };
  CHECK(contains(refusal_of(nullptr),
                 "has no model, which would be the attribute 'model_config'. Weights alone are "
                 "loaded into a model with load_weights."));
  for (const char* config :
       {"[", "[]", "3", "{}", R"({"class_name": 3, "config": {}})",
        R"({"class_name": "Functional", "config": 3})",
        R"({"class_name": "Functional", "config": {"layers": 3}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [3], "input_layers": [],)"
        R"( "output_layers": []}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [{"class_name": "Dense",)"
        R"( "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[["a"]]]}],)"
        R"( "input_layers": [["a", 0, 0]], "output_layers": [["d", 0, 0]]}})",
        R"({"class_name": "Functional", "config": {"name": "f", "layers": [{"class_name": "Add",)"
        R"( "name": "d", "config": {}, "inbound_nodes": [[["d", 0, 0, 5], ["e", -1, 7, {}]]]}],)"
        R"( "input_layers": [["d", 0, 0]], "output_layers": [["d", 9, 0]]}})"}) {
    const std::string text = refusal_of(config);
    CAPTURE(std::string(config));
    CHECK(text != "it was loaded");
    CHECK(contains(text, path));
  }
}

TEST_CASE("CVE-2025-1550 and CVE-2025-8747: functions of any module in a config") {
  const Scratch scratch;
  for (const auto& [module, name] : {std::pair{"os", "system"},
                                     {"subprocess", "Popen"},
                                     {"keras.utils", "get_file"},
                                     {"builtins", "eval"}}) {
    const std::string text = refusal(keras_file(
        scratch, layer_of(module, name, R"({"name": "x", "args": ["touch /tmp/owned"]})"),
        no_weights()));
    CAPTURE(text);
    CHECK(contains(text, std::string("Unknown layer '") + name));
    // As an activation and as an initializer.
    const std::string function = R"({"module": ")" + std::string(module) +
                                 R"(", "class_name": "function", "config": ")" + name +
                                 R"(", "registered_name": "function"})";
    const std::string dense = R"({"name": "d", "units": 2, "activation": )" + function + "}";
    CHECK(contains(
        refusal(keras_file(scratch, layer_of("keras.layers", "Dense", dense), no_weights())),
        name));
    const std::string started =
        R"({"name": "d", "units": 2, "kernel_initializer": )" + function + "}";
    CHECK(contains(
        refusal(keras_file(scratch, layer_of("keras.layers", "Dense", started), no_weights())),
        "nitializer"));
  }
}

// The published bypass of the first fix: a Lambda whose function is one of Keras's own, with
// arguments that make it download a file.
TEST_CASE("CVE-2025-8747: a Lambda that calls keras.utils.get_file") {
  const Scratch scratch;
  const Listener server;
  for (const char* module : {"keras.utils", "keras.src.utils.file_utils"}) {
    const std::string function =
        fmt::format(R"({{"module": "{}", "class_name": "function", "config": "get_file", )"
                    R"("registered_name": "get_file"}})",
                    module);
    const std::string config = fmt::format(
        R"({{"name": "l", "function": {}, "arguments": {{"origin": "{}", "cache_dir": "{}", )"
        R"("fname": "owned", "force_download": true}}}})",
        function, server.url(), scratch.path("cache"));
    const std::string text =
        refusal(keras_file(scratch, layer_of("keras.layers", "Lambda", config), no_weights()));
    CAPTURE(text);
    CHECK(contains(text, "Unknown function 'get_file' of a Lambda layer."));
    CHECK_FALSE(server.was_asked());
    CHECK_FALSE(std::filesystem::exists(scratch.path("cache")));
  }
}

TEST_CASE("CVE-2025-9906: a config that switches safety off") {
  const Scratch scratch;
  const std::string text = refusal(keras_file(
      scratch, layer_of("keras.config", "enable_unsafe_deserialization", R"({"name": "x"})"),
      no_weights()));
  CHECK(contains(text, "Unknown layer 'enable_unsafe_deserialization'"));
}

TEST_CASE("CVE-2025-12058: a vocabulary that is another file, or an address") {
  const Scratch scratch;
  const Watched secret(scratch.path("secret.txt"));
  const Listener server;
  for (const std::string& place : {secret.path(), "file://" + secret.path(), server.url()}) {
    for (const char* layer : {"StringLookup", "IntegerLookup", "TextVectorization"}) {
      const std::string text = refusal(
          keras_file(scratch,
                     layer_of("keras.layers", layer,
                              R"({"name": "l", "vocabulary": ")" + std::string(place) + R"("})"),
                     no_weights()));
      CAPTURE(text);
      CHECK(contains(text, place));
      CHECK_FALSE(contains(text, "secret of"));
      CHECK_FALSE(secret.was_opened());
      CHECK_FALSE(server.was_asked());
    }
  }
}

// The advisory is about keras.utils.get_file, which unpacked tar archives without checking the
// names and links of their members. Cornu's get_file unpacks no archives, only gzip data to the one
// file that was named; and load_model writes no member of its archive to disk. It rejects such an
// archive.
TEST_CASE("CVE-2025-12060: members of an archive that lie outside of it") {
  const Scratch scratch;
  const std::string path = scratch.path("models/model.keras");
  std::filesystem::create_directory(scratch.path("models"));
  Sequential model(Input({.shape = {3}}), {layers::Dense({.units = 2})});
  model.save(path);
  const ArchiveReader archive(path);
  const auto config = archive.read("config.json", size_t{1} << 20);
  const auto weights = archive.read("model.weights.h5", size_t{1} << 20);
  const auto write_with = [&](const std::string& name) {
    const ArchiveMember members[] = {
        {"config.json", config}, {"model.weights.h5", weights}, {name, config}};
    write_archive(path, members);
  };
  for (const std::string& name :
       {std::string("../owned"), std::string("assets/../../owned"), scratch.path("owned"),
        std::string(".."), std::string("assets/.."), std::string("..\\owned"),
        std::string("\\owned"), std::string("C:\\owned")}) {
    write_with(name);
    const std::string text = refusal(path);
    CAPTURE(text);
    CHECK(contains(text, "'" + path + "': its member '" + name + "' would be outside of"));
    CHECK_THROWS_AS(load_model(path), InvalidArgument);
    CHECK(scratch.names() == std::vector<std::string>{"models"});
  }
  for (const char* name : {"assets/..owned", "assets/a..b/owned.", ".owned", "assets/c:d"}) {
    write_with(name);
    CAPTURE(refusal(path));
    CHECK(load_model(path).count_params() == 8);
  }
  for (const char* name : {"../owned", "/owned", "..", ""}) {
    CHECK_THROWS_AS(
        get_file(name, {.origin = {"http://127.0.0.1:1/"}, .cache_dir = scratch.path()}),
        InvalidArgument);
  }
  CHECK(scratch.names() == std::vector<std::string>{"models"});
}

TEST_CASE("CVE-2026-1462: a layer that loads another model") {
  const Scratch scratch;
  const Watched secret(scratch.path("saved_model.pb"));
  const std::string text =
      refusal(keras_file(scratch,
                         layer_of("keras.layers", "TFSMLayer",
                                  R"({"name": "t", "filepath": ")" + scratch.path() +
                                      R"(", "call_endpoint": "serve"})"),
                         no_weights()));
  CHECK(contains(text, "Unknown layer 'TFSMLayer'"));
  CHECK_FALSE(secret.was_opened());
}

// Links, external storage and virtual datasets, with which HDF5 reads other files.
TEST_CASE("CVE-2026-1669: weights that lie in another file") {
  const Scratch scratch;
  const Watched secret(scratch.path("secret"));
  const std::string dense =
      layer_of("keras.layers", "Dense", R"({"name": "d", "units": 2, "use_bias": false})");
  const auto refusal_of = [&](Foreign& file) {
    return refusal(keras_file(scratch, dense, file.take_bytes()));
  };
  const std::string kernel = "layers/dense/vars/0";
  for (const bool latest : {false, true}) {
    Foreign external(latest), soft(latest), data(latest), parts(latest);
    external.add_external_link(kernel, secret.path(), "/x");
    soft.add_soft_link(kernel, "/somewhere");
    data.add_external_data(kernel, secret.path());
    parts.add_virtual(kernel, secret.path(), "/x");
    CHECK(contains(refusal_of(external), "is a link to another place"));
    CHECK(contains(refusal_of(soft), "is a link to another place"));
    CHECK(contains(refusal_of(data), "its elements are in other files, which are not opened"));
    CHECK(contains(refusal_of(parts), "put together from other datasets (virtual)"));
  }
  CHECK_FALSE(secret.was_opened());
}

// Shapes of terabytes in files of kilobytes: for a dataset, its chunks, and a layer.
TEST_CASE("CVE-2026-0897: weights that claim to be huge") {
  const Scratch scratch;
  const int64_t before = peak_memory();
  const auto dense = [](const std::string& units) {
    return layer_of("keras.layers", "Dense",
                    R"({"name": "d", "use_bias": false, "units": )" + units + "}");
  };
  const std::string kernel = "layers/dense/vars/0";
  for (const bool latest : {false, true}) {
    Foreign huge(latest), chunks(latest), unwritten(latest), packed(latest);
    huge.add_huge(kernel);
    CHECK(contains(refusal(keras_file(scratch, dense("2"), huge.take_bytes())), "(3, 2)"));
    chunks.add_chunked(kernel, {3, 2}, {},
                       {.shape = {1 << 14, 1 << 14}, .most = {1 << 20, 1 << 20}});
    CHECK(contains(refusal(keras_file(scratch, dense("2"), chunks.take_bytes())), "never written"));
    unwritten.add_huge(kernel);
    CHECK(contains(refusal(keras_file(scratch, dense("1000000000000"), unwritten.take_bytes())),
                   "isn't in the file"));
    // 64 MiB of compressed zeros: more than the model's few numbers.
    packed.add_chunked(kernel, {1 << 24}, std::vector<float>(1 << 24, 0),
                       {.shape = {1 << 22}, .gzip = 9});
    const auto bytes = packed.take_bytes();
    CHECK(bytes.size() < 100'000);
    const int64_t made = peak_memory();
    CHECK(contains(refusal(keras_file(scratch, dense("2"), bytes)), "(3, 2), got (16777216,)"));
    CHECK(peak_memory() - made < 16);
  }
  // The memory that libhdf5 used to create the files counts, too.
  CHECK(peak_memory() - before < 400);
}

}  // namespace
}  // namespace cornu
