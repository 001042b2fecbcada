// SPDX-License-Identifier: Apache-2.0
// Finding, checking and downloading MNIST.
#include "data/datasets/mnist.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>

#include "data/readers/npz.h"
#include "tests/data/support.h"
#include "tests/support/http_server.h"

using namespace cornu;
using namespace cornu::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::array kNames = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

std::string idx(const std::vector<uint8_t>& sizes, uint8_t fill) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  size_t count = 1;
  for (uint8_t size : sizes) {
    text += std::string{'\0', '\0', '\0', static_cast<char>(size)};
    count *= size;
  }
  return text + std::string(count, static_cast<char>(fill));
}

// A tiny substitute for the four files.
void write_small(const fs::path& folder, uint8_t fill = 1) {
  fs::create_directories(folder);
  write_file(folder / kNames[0], idx({3, 28, 28}, fill));
  write_file(folder / kNames[1], idx({3}, fill));
  write_file(folder / (std::string(kNames[2]) + ".gz"), gzipped(idx({2, 28, 28}, fill)));
  write_file(folder / kNames[3], idx({2}, fill));
}

// No dataset, an empty cache, no network.
struct Nowhere {
  TempFolder folder;
  EnvironmentScope datasets{"CORNU_DATASETS", std::nullopt};
  EnvironmentScope cache{"XDG_CACHE_HOME", (folder / "cache").string()};
  std::string dead = HttpServer().url();
  EnvironmentScope url{"CORNU_MNIST_URL", dead};
};

}  // namespace

TEST_CASE("MNIST is taken from the first place that has it") {
  const Nowhere nowhere;
  const fs::path explicit_folder = nowhere.folder / "mine";
  const fs::path datasets = nowhere.folder / "datasets";
  const EnvironmentScope environment("CORNU_DATASETS", datasets.string());
  auto loaded = [&] {
    auto [train, test] = datasets::mnist::load_data({.path = explicit_folder});
    CHECK(train.x.shape() == Shape{3, 28, 28});
    CHECK(train.y.shape() == Shape{3});
    CHECK(test.x.shape() == Shape{2, 28, 28});
    CHECK(test.y.dtype() == DType::UInt8);
    CHECK(test.x.data<uint8_t>()[0] == train.y.data<uint8_t>()[0]);
    return static_cast<int>(train.y.data<uint8_t>()[0]);
  };
  write_small(nowhere.folder / "cache/cornu/datasets/mnist", 1);
  CHECK(loaded() == 1);
  write_small(datasets / "mnist", 2);
  CHECK(loaded() == 2);
  write_small(explicit_folder / "mnist", 3);
  CHECK(loaded() == 3);
  write_small(explicit_folder, 4);
  CHECK(loaded() == 4);
  fs::remove(explicit_folder / kNames[1]);  // incomplete, so the next location is used
  CHECK(loaded() == 3);
}

TEST_CASE("MNIST as Keras distributes it") {
  const Nowhere nowhere;
  const auto write = [&](const fs::path& path, int64_t labels) {
    data::savez(path, {{"x_train", Tensor::empty({3, 28, 28}, DType::UInt8)},
                       {"y_train", Tensor::empty({labels}, DType::UInt8)},
                       {"x_test", Tensor::empty({2, 28, 28}, DType::UInt8)},
                       {"y_test", Tensor::empty({2}, DType::UInt8)}});
  };
  const fs::path file = nowhere.folder / "mnist.npz";
  write(file, 3);
  for (const fs::path& path : {file, nowhere.folder.path()}) {
    const auto [train, test] = datasets::mnist::load_data({.path = path});
    CHECK(train.x.shape() == Shape{3, 28, 28});
    CHECK(test.y.shape() == Shape{2});
  }
  write(file, 4);
  CHECK(contains(message_of<DataLoss>([&] { datasets::mnist::load_data({.path = file}); }),
                 "mnist.npz: x_train has 3 images, but "));
  write_file(file, "no archive");
  CHECK_THROWS_AS(datasets::mnist::load_data({.path = file}), DataLoss);
}

TEST_CASE("MNIST nowhere: the error names every place") {
  const Nowhere nowhere;
  const EnvironmentScope datasets("CORNU_DATASETS", "/no/datasets");
  const fs::path partly = nowhere.folder / "mine";
  write_small(partly);
  fs::remove(partly / kNames[0]);
  const std::string message =
      message_of<NotFound>([&] { datasets::mnist::load_data({.path = partly}); });
  CHECK(message.starts_with("MNIST was not found. Put its four files"));
  CHECK(contains(message,
                 "\n  " + partly.string() + ": it lacks train-images-idx3-ubyte (plain or .gz)"));
  CHECK(contains(message, "\n  " + partly.string() + "/mnist: no such directory"));
  CHECK(contains(message, "\n  /no/datasets/mnist: no such directory"));
  CHECK(contains(
      message,
      "\n  " + (nowhere.folder / "cache/cornu/datasets/mnist: no such directory").string()));
  CHECK(contains(message, nowhere.dead + "train-images-idx3-ubyte.gz: the download failed: "));
  CHECK(contains(message, "connect"));

  const std::string offline =
      message_of<NotFound>([&] { datasets::mnist::load_data({.download = false}); });
  CHECK_FALSE(contains(offline, "http"));
}

TEST_CASE("a damaged MNIST is not passed over") {
  const Nowhere nowhere;
  const fs::path folder = nowhere.folder / "mine";
  auto loss = [&] {
    return message_of<DataLoss>([&] { datasets::mnist::load_data({.path = folder}); });
  };
  write_small(folder);
  write_file(folder / kNames[1], idx({4}, 1));
  CHECK(loss() == (folder / kNames[0]).string() + " has 3 images, but " +
                      (folder / kNames[1]).string() + " has 4 labels.");
  write_file(folder / kNames[1], idx({3, 1}, 1));
  CHECK(contains(loss(), "expected labels of shape (n) in uint8, got uint8 (3, 1)"));
  write_file(folder / kNames[0], idx({3, 28}, 1));
  CHECK(
      contains(loss(), "expected images of shape (n, height, width) in uint8, got uint8 (3, 28)"));
  write_file(folder / kNames[0], idx({3, 28, 28}, 1).substr(0, 1000));
  CHECK(contains(loss(), "train-images-idx3-ubyte: truncated at byte 1000"));
}

TEST_CASE("a download of something else is DataLoss") {
  const Nowhere nowhere;
  HttpServer::Files files;
  for (const char* name : kNames) files[fmt::format("/{}.gz", name)] = gzipped(idx({3}, 1));
  const HttpServer server(files);
  const EnvironmentScope url("CORNU_MNIST_URL", server.url());
  const std::string message = message_of<DataLoss>([] { datasets::mnist::load_data(); });
  CHECK(contains(message, server.url() + "train-images-idx3-ubyte.gz: expected a file with the "
                                         "hash 6bbc9ace898e44ae57da46a324031adb, got one with "));
  CHECK_FALSE(fs::exists(nowhere.folder / "cache/cornu/datasets/mnist/train-images-idx3-ubyte"));
}
