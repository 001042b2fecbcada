// SPDX-License-Identifier: Apache-2.0
// Keras's built-in datasets, from small files in their formats: where they are found, what they
// return, and which errors are reported. keras_data_test.cc compares with Keras itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "data/datasets/boston_housing.h"
#include "data/datasets/california_housing.h"
#include "data/datasets/cifar10.h"
#include "data/datasets/cifar100.h"
#include "data/datasets/fashion_mnist.h"
#include "data/datasets/imdb.h"
#include "data/datasets/reuters.h"
#include "data/numpy_random.h"
#include "data/readers/npz.h"
#include "tests/data/foreign_files.h"
#include "tests/support/http_server.h"

using namespace cornu;
using namespace cornu::testing;
namespace fs = std::filesystem;

namespace {

using Lists = std::vector<std::vector<int64_t>>;

// No dataset, an empty cache, no network.
struct Nowhere {
  TempFolder folder;
  EnvironmentScope datasets{"CORNU_DATASETS", std::nullopt};
  EnvironmentScope cache{"XDG_CACHE_HOME", (folder / "cache").string()};
  std::string dead = HttpServer().url();
  EnvironmentScope url{"CORNU_DATASETS_URL", dead};
};

// Images with the red values `first`, green values first + 1, blue values first + 2.
std::string cifar_batch(const std::vector<int>& firsts, const std::string& label_key) {
  std::string pixels;
  std::vector<int64_t> labels;
  for (const int first : firsts) {
    for (int channel = 0; channel < 3; ++channel) {
      pixels += std::string(1024, static_cast<char>(first + channel));
    }
    labels.push_back(first % 10);
  }
  const auto count = static_cast<int64_t>(firsts.size());
  return "\x80\2}(" + pickled_bytes("batch_label") + pickled_bytes("of Python 2") +
         pickled_bytes(label_key) + pickled_ints(labels) + pickled_bytes("data") +
         pickled_array("u1", '|', {count, 3072}, pickled_bytes(pixels)) + "u.";
}

std::string cifar10_archive() {
  std::string tar;
  for (const int i : {4, 1, 5, 2, 3}) {  // out of order, as in the real archive
    tar += tar_member(fmt::format("cifar-10-batches-py/data_batch_{}", i),
                      cifar_batch({10 * i, 10 * i + 1}, "labels"));
  }
  tar += tar_member("cifar-10-batches-py/readme.html", "<html>");
  return tar + tar_member("cifar-10-batches-py/test_batch", cifar_batch({200}, "labels"));
}

void write_words(const fs::path& path) {
  const auto labels = [](const std::vector<int64_t>& values) {
    std::string elements;
    for (const int64_t value : values) elements += little_endian(static_cast<uint64_t>(value), 8);
    return npy("<i8", fmt::format("({},)", values.size()), elements);
  };
  const Lists train{{1, 2, 3}, {4}, {5, 6, 7, 8, 9}, {10, 11}};
  write_zip(path, {{"x_train.npy", npy_of_lists(train)},
                   {"y_train.npy", labels({0, 1, 2, 3})},
                   {"x_test.npy", npy_of_lists({{1, 20}, {2}})},
                   {"y_test.npy", labels({4, 5})},
                   {"x.npy", npy_of_lists(train)},
                   {"y.npy", labels({0, 1, 2, 3})}});
}

void write_housing(const fs::path& path, int64_t rows) {
  Tensor x = Tensor::empty({rows, 2}, DType::Float64);
  Tensor y = Tensor::empty({rows}, DType::Float64);
  for (int64_t i = 0; i < rows; ++i) {
    x.mutable_data<double>()[static_cast<size_t>(2 * i)] = static_cast<double>(i);
    x.mutable_data<double>()[static_cast<size_t>(2 * i + 1)] = 0.5;
    y.mutable_data<double>()[static_cast<size_t>(i)] = static_cast<double>(i);
  }
  data::savez(path, {{"x", x}, {"y", y}});
}

}  // namespace

TEST_CASE("rows are shuffled as NumPy's RandomState does") {
  const auto orders = [](int64_t seed) {
    data::NumpyRandomState random(seed);
    Lists result;
    for (const int64_t count : {10, 1, 0, 7}) result.push_back(random.permutation(count));
    return result;
  };
  CHECK(orders(113) == Lists{{9, 3, 6, 1, 0, 7, 4, 8, 2, 5}, {0}, {}, {5, 1, 0, 3, 6, 4, 2}});
  CHECK(orders(0) == Lists{{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}, {0}, {}, {3, 1, 2, 6, 5, 0, 4}});
  CHECK(orders(4294967295) ==
        Lists{{6, 9, 5, 1, 8, 0, 7, 4, 2, 3}, {0}, {}, {0, 1, 5, 4, 6, 2, 3}});
  const auto order = data::NumpyRandomState(113).permutation(25'000);
  int64_t sum = 0;
  for (size_t i = 0; i < order.size(); ++i) sum += order[i] * static_cast<int64_t>(i);
  CHECK(sum == 3919982184325);
  CHECK(message_of<InvalidArgument>([] { data::NumpyRandomState(-1); }) ==
        "NumpyRandomState: expected a seed of 0 to 2^32 - 1, got -1.");
  CHECK_THROWS_AS(data::NumpyRandomState(int64_t{1} << 32), InvalidArgument);
}

TEST_CASE("a data set of one file is taken from the first place that has it") {
  const Nowhere nowhere;
  const auto rows = [&](const fs::path& path) {
    const auto [train, test] = datasets::boston_housing::load_data({.path = path});
    return train.x.dim(0) + test.x.dim(0);
  };
  const fs::path mine = nowhere.folder / "mine.npz";
  fs::create_directories(nowhere.folder / "datasets");
  const EnvironmentScope environment("CORNU_DATASETS", (nowhere.folder / "datasets").string());
  write_housing(nowhere.folder / "datasets/boston_housing.npz", 10);
  CHECK(rows(mine) == 10);
  CHECK(rows("") == 10);
  write_housing(nowhere.folder / "boston_housing.npz", 20);
  CHECK(rows(nowhere.folder.path()) == 20);
  write_housing(mine, 30);
  CHECK(rows(mine) == 30);
}

TEST_CASE("a data set that is nowhere: the error names every place") {
  const Nowhere nowhere;
  const EnvironmentScope datasets("CORNU_DATASETS", "/no/datasets");
  const std::string cached = (nowhere.folder / "cache/cornu/datasets/imdb.npz").string();
  const std::string text =
      message_of<NotFound>([&] { datasets::imdb::load_data({.path = "/no/such.npz"}); });
  CHECK(
      text.starts_with("IMDB was not found. Put its file imdb.npz into one of these places, or set "
                       "CORNU_DATASETS to a directory that has it. Looked in:\n"
                       "  /no/such.npz: no such file\n"
                       "  /no/datasets/imdb.npz: no such file\n"
                       "  " +
                       cached + ": no such file\n"));
  CHECK(contains(text, nowhere.dead + "imdb.npz: the download failed: "));
  CHECK_FALSE(contains(message_of<NotFound>([] { datasets::imdb::load_data({.download = false}); }),
                       "http"));
  for (const auto& load : std::vector<std::function<void()>>{
           [] { datasets::reuters::load_data(); }, [] { datasets::reuters::get_word_index(); },
           [] { datasets::imdb::get_word_index(); }, [] { datasets::cifar10::load_data(); },
           [] { datasets::cifar100::load_data(); }, [] { datasets::fashion_mnist::load_data(); },
           [] { datasets::california_housing::load_data(); }}) {
    CHECK(contains(message_of<NotFound>(load), " was not found. Put its "));
  }
}

TEST_CASE("a download of something else is DataLoss, a cached file without network is taken") {
  const Nowhere nowhere;
  const HttpServer server(HttpServer::Files{{"/boston_housing.npz", "something else"}});
  const EnvironmentScope url("CORNU_DATASETS_URL", server.url());
  const auto load = [](bool download) {
    return datasets::boston_housing::load_data({.download = download});
  };
  CHECK(contains(message_of<DataLoss>([&] { load(true); }),
                 "expected a file with the hash "
                 "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"));
  const fs::path cache = nowhere.folder / "cache/cornu/datasets";
  CHECK_FALSE(fs::exists(cache / "boston_housing.npz"));
  write_housing(cache / "boston_housing.npz", 10);
  CHECK(load(false).train.x.dim(0) == 8);
  CHECK_THROWS_AS(load(true), DataLoss);  // its hash differs
}

TEST_CASE("CIFAR-10 is read out of its archive") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "cifar-10-python.tar.gz";
  write_file(path, gzipped(cifar10_archive() + tar_end()));
  const auto [train, test] = datasets::cifar10::load_data({.path = nowhere.folder.path()});
  CHECK(train.x.shape() == Shape{10, 32, 32, 3});
  CHECK(train.x.dtype() == DType::UInt8);
  CHECK(train.y.shape() == Shape{10, 1});
  CHECK(train.y.dtype() == DType::UInt8);
  CHECK(numbers(train.y) == std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const auto pixels = numbers(train.x);
  const std::vector<int64_t> third(pixels.begin() + 2 * 3072, pixels.begin() + 2 * 3072 + 6);
  CHECK(third == std::vector<int64_t>{20, 21, 22, 20, 21, 22});
  CHECK(pixels.back() == 53);
  CHECK(test.x.shape() == Shape{1, 32, 32, 3});
  CHECK(numbers(test.x)[4] == 201);
}

TEST_CASE("CIFAR: what is wrong with an archive is said") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "cifar.tar.gz";
  const auto loss = [&](const std::string& tar) {
    write_file(path, tar);
    return message_of<DataLoss>(
        [&] { datasets::cifar100::load_data({.label_mode = "coarse", .path = path}); });
  };
  const std::string train = "cifar-100-python/train";
  CHECK(loss(tar_member("x", "y") + tar_end()) ==
        path.string() + ": the member 'cifar-100-python/train' is missing.");
  CHECK(contains(loss(tar_member(train, "K") + tar_end()),
                 "member 'cifar-100-python/train': the pickle is cut off"));
  CHECK(contains(loss(gzipped(cifar10_archive()).substr(0, 100)), "gzip data is truncated"));
  const std::string wrong = "}(" + pickled_bytes("data") +
                            pickled_array("u1", '|', {1, 4}, pickled_bytes("1234")) +
                            pickled_bytes("coarse_labels") + pickled_ints({1}) + "u.";
  CHECK(contains(loss(tar_member(train, wrong) + tar_end()),
                 "expected images as uint8 (n, 3072), got uint8 (1, 4)"));
  CHECK(contains(message_of<NotFound>([&] {
                   write_file(path, tar_member(train, cifar_batch({1}, "fine_labels")) + tar_end());
                   datasets::cifar100::load_data({.label_mode = "coarse", .path = path});
                 }),
                 "there is no 'coarse_labels'. Did you mean 'fine_labels'?"));
  CHECK(message_of<InvalidArgument>([] {
          datasets::cifar100::load_data({.label_mode = "rough"});
        }) == "cifar100: expected label_mode \"fine\" or \"coarse\", got \"rough\".");
}

TEST_CASE("IMDB: ranks become numbers") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "imdb.npz";
  write_words(path);
  data::NumpyRandomState random(113);
  const auto order = random.permutation(4);
  const auto [train, test] = datasets::imdb::load_data({.path = path});
  CHECK(train.y.dtype() == DType::Int64);
  CHECK(numbers(train.y) == order);
  const auto text = [&](const datasets::Sequences& part, int64_t label) {
    const auto labels = numbers(part.y);
    const auto place = std::find(labels.begin(), labels.end(), label) - labels.begin();
    return part.x.at(static_cast<size_t>(place));
  };
  CHECK(text(train, 0) == std::vector<int64_t>{1, 4, 5, 6});
  CHECK(text(test, 5) == std::vector<int64_t>{1, 5});
  CHECK(text(test, 4) == std::vector<int64_t>{1, 4, 2});  // 23 is the largest number of all

  const auto few = datasets::imdb::load_data({.path = path, .num_words = 8, .skip_top = 5});
  CHECK(text(few.train, 0) == std::vector<int64_t>{2, 2, 5, 6});
  const auto left_out =
      datasets::imdb::load_data({.path = path, .num_words = 8, .skip_top = 5, .oov_char = {}});
  CHECK(text(left_out.train, 0) == std::vector<int64_t>{5, 6});
  const auto plain = datasets::imdb::load_data(
      {.path = path, .num_words = 100, .start_char = {}, .index_from = 0});
  CHECK(text(plain.train, 2) == std::vector<int64_t>{5, 6, 7, 8, 9});
  const auto shorter = datasets::imdb::load_data({.path = path, .maxlen = 4});
  CHECK(shorter.train.x.size() == 2);
  CHECK(shorter.train.y.shape() == Shape{2});
  CHECK(text(shorter.train, 1) == std::vector<int64_t>{1, 7});
  CHECK(message_of<InvalidArgument>([&] {
          datasets::imdb::load_data({.path = path, .maxlen = 2});
        }) == "imdb: no sequence is shorter than maxlen = 2. Increase maxlen.");
  CHECK_THROWS_AS(datasets::imdb::load_data({.path = path, .seed = -1}), InvalidArgument);
}

TEST_CASE("Reuters: one list of texts, which is split") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "reuters.npz";
  write_words(path);
  const auto [train, test] = datasets::reuters::load_data({.path = path, .test_split = 0.5});
  CHECK(train.x.size() == 2);
  CHECK(train.y.shape() == Shape{2});
  CHECK(test.x.size() == 2);
  auto labels = numbers(train.y);
  for (const int64_t label : numbers(test.y)) labels.push_back(label);
  CHECK(labels == data::NumpyRandomState(113).permutation(4));
  CHECK(message_of<InvalidArgument>([] { datasets::reuters::load_data({.test_split = 1}); }) ==
        "reuters: expected a test_split of 0 to 1 (exclusive of 1), got 1.");
  CHECK(datasets::reuters::get_label_names().size() == 46);
}

TEST_CASE("texts and labels that don't match, and an index of words") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "x.npz";
  write_zip(path, {{"x.npy", npy_of_lists({{1}, {2, 3}})}, {"y.npy", npy("<i8", "(0,)", "")}});
  CHECK(message_of<DataLoss>([&] { datasets::reuters::load_data({.path = path}); }) ==
        path.string() + ": 'x' has 2 sequences, but 'y' is of shape (0,).");
  write_file(path, R"({"the": 1, "fawn": 34701, "d'\u00e9t\u00e9": 2})");
  const auto index = datasets::imdb::get_word_index({.path = path});
  CHECK(index.size() == 3);
  CHECK(index.at("fawn") == 34701);
  CHECK(index.at("d'\u00e9t\u00e9") == 2);
  write_file(path, "[1]");
  CHECK(contains(message_of<DataLoss>([&] { datasets::reuters::get_word_index({.path = path}); }),
                 path.string() + ": expected an object of words and their ranks: "));
}

TEST_CASE("housing: rows in the order of Keras, split") {
  const Nowhere nowhere;
  const fs::path path = nowhere.folder / "california_housing.npz";
  write_housing(path, 700);
  const auto large = datasets::california_housing::load_data({.path = path});
  CHECK(large.train.x.shape() == Shape{560, 2});
  CHECK(large.test.y.shape() == Shape{140});
  CHECK(large.train.x.dtype() == DType::Float64);
  const auto order = data::NumpyRandomState(113).permutation(700);
  CHECK(large.train.x.data<double>()[2] == static_cast<double>(order[1]));
  CHECK(large.train.y.data<double>()[1] == static_cast<double>(order[1]));
  CHECK(large.test.y.data<double>()[0] == static_cast<double>(order[560]));
  const auto small = datasets::california_housing::load_data(
      {.version = "small", .path = path, .test_split = 0, .seed = 7});
  CHECK(small.train.x.dim(0) == 600);
  CHECK(small.test.x.dim(0) == 0);
  CHECK(small.train.y.data<double>()[0] ==
        static_cast<double>(data::NumpyRandomState(7).permutation(600)[0]));
  CHECK(message_of<InvalidArgument>([] {
          datasets::california_housing::load_data({.version = "medium"});
        }) == "california_housing: expected the version \"small\" or \"large\", got \"medium\".");
  CHECK(contains(message_of<InvalidArgument>(
                     [] { datasets::boston_housing::load_data({.test_split = -0.1}); }),
                 "boston_housing: expected a test_split of 0 to 1 (exclusive of 1), got -0.1."));
  data::savez(path, {{"x", Tensor{{1, 2}}}, {"y", Tensor{1, 2}}});
  CHECK(contains(message_of<DataLoss>([&] { datasets::boston_housing::load_data({.path = path}); }),
                 "expected x of shape (n, features) and y of shape (n), got (1, 2) and (2,)"));
}

TEST_CASE("Fashion-MNIST has folders of its own") {
  const Nowhere nowhere;
  const fs::path folder = nowhere.folder / "datasets/fashion-mnist";
  fs::create_directories(folder);
  const EnvironmentScope environment("CORNU_DATASETS", (nowhere.folder / "datasets").string());
  const auto images = std::string("\0\0\x8\3\0\0\0\2\0\0\0\1\0\0\0\1\1\2", 18);
  const auto labels = std::string("\0\0\x8\1\0\0\0\2\3\4", 10);
  for (const char* part : {"train", "t10k"}) {
    write_file(folder / fmt::format("{}-images-idx3-ubyte.gz", part), gzipped(images));
    write_file(folder / fmt::format("{}-labels-idx1-ubyte.gz", part), gzipped(labels));
  }
  const auto [train, test] = datasets::fashion_mnist::load_data();
  CHECK(numbers(train.x) == std::vector<int64_t>{1, 2});
  CHECK(numbers(test.y) == std::vector<int64_t>{3, 4});
  fs::remove(folder / "t10k-labels-idx1-ubyte.gz");
  CHECK(contains(message_of<NotFound>([] { datasets::fashion_mnist::load_data(); }),
                 "Fashion-MNIST was not found."));
}
