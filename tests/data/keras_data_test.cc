// SPDX-License-Identifier: Apache-2.0
// NumPy files, pickles and datasets exchanged between Cornu and Python; keras_data.py is the Python
// side.
#include <doctest/doctest.h>

#include "data/audio_dataset.h"
#include "data/datasets/boston_housing.h"
#include "data/datasets/california_housing.h"
#include "data/datasets/cifar10.h"
#include "data/datasets/cifar100.h"
#include "data/datasets/fashion_mnist.h"
#include "data/datasets/imdb.h"
#include "data/datasets/reuters.h"
#include "data/readers/npy.h"
#include "data/readers/npz.h"
#include "data/readers/pickle.h"
#include "data/readers/wav.h"
#include "framework/core/json.h"
#include "framework/core/rows.h"
#include "tests/data/support.h"
#include "tests/support/every_dtype.h"
#include "tests/support/python.h"

using namespace cornu;
using namespace cornu::testing;
using test::kEveryDType;
using test::kShapes;
using test::same;
using test::values;
namespace fs = std::filesystem;

namespace {

int python(const std::string& command, const TempFolder& folder) {
  return test::run_python(CORNU_KERAS_DATA_SCRIPT,
                          fmt::format("{} '{}'", command, folder.path().string()));
}

std::vector<Tensors::Named> all_values() {
  std::vector<Tensors::Named> result;
  for (const DType dtype : kEveryDType) {
    for (size_t i = 0; i < kShapes.size(); ++i) {
      result.emplace_back(fmt::format("{}_{}", to_string(dtype), i), values(dtype, kShapes[i]));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("Cornu reads what NumPy writes") {
  const TempFolder folder;
  REQUIRE(python("write-numpy", folder) == 0);
  const Tensors stored = data::load_npz(folder / "stored.npz");
  const Tensors deflated = data::load_npz(folder / "deflated.npz");
  for (const Tensors::Named& array : all_values()) {
    const std::string& name = array.first;
    const Tensor& wanted = array.second;
    CAPTURE(name);
    CHECK(same(stored[name], wanted));
    CHECK(same(deflated[name], wanted));
    for (const char* form : {"c", "f", "big", "big_f"}) {
      if (wanted.dtype() == DType::BFloat16 && form[0] == 'b') continue;
      CAPTURE(form);
      CHECK(same(data::load_npy(folder / fmt::format("{}_{}.npy", name, form)), wanted));
      CHECK(same(data::load_npy(folder / fmt::format("{}_{}_2.npy", name, form)), wanted));
    }
  }
  CHECK(data::load_npz(folder / "unnamed.npz").names() ==
        std::vector<std::string>{"arr_0", "arr_1"});
  const data::NpzReader ragged(folder / "ragged.npz");
  CHECK(ragged.read_ragged("lists") ==
        std::vector<std::vector<int64_t>>{{1, 2, 300}, {}, {-70000}});
  CHECK(ragged.read_ragged("of_arrays") == std::vector<std::vector<int64_t>>{{1, 2}, {3}});
}

TEST_CASE("NumPy reads what Cornu writes, and would have written the same bytes") {
  const TempFolder folder;
  for (const auto& [name, tensor] : all_values()) data::save_npy(folder / (name + ".npy"), tensor);
  data::savez(folder / "stored.npz", Tensors::named(all_values()));
  data::savez_compressed(folder / "deflated.npz", Tensors::named(all_values()));
  data::savez(folder / "unnamed.npz", {Tensor{1, 2}, Tensor{3}});
  CHECK(python("check-numpy", folder) == 0);
}

TEST_CASE("folders of sounds as Keras gives them, and files as TensorFlow writes them") {
  const TempFolder folder;
  REQUIRE(python("audio", folder) == 0);
  const Tensors expected = data::load_npz(folder / "expected.npz");
  const fs::path sounds = folder / "sounds";
  const auto compare = [&](const std::string& name, const data::Dataset& dataset) {
    CAPTURE(name);
    int64_t i = 0;
    for (const auto& batch : dataset) {
      CHECK(same(batch.tensor(0), expected[fmt::format("{}_x{}", name, i)]));
      CHECK(same(batch.tensor(1), expected[fmt::format("{}_y{}", name, i)]));
      ++i;
    }
    CHECK(i == 2);
  };
  compare("padded", data::audio_dataset_from_directory(
                        sounds, {.batch_size = 2, .shuffle = false, .verbose = false}));
  compare("cut",
          data::audio_dataset_from_directory(
              sounds,
              {.batch_size = 2, .output_sequence_length = 6, .shuffle = false, .verbose = false}));
  const auto validation = data::audio_dataset_from_directory(sounds, {.batch_size = std::nullopt,
                                                                      .seed = 9,
                                                                      .validation_split = 0.34,
                                                                      .subset = "validation",
                                                                      .verbose = false});
  for (const auto& one : validation) CHECK(same(one.tensor(0), expected["validation"]));
  for (const char* name : {"low/a", "low/b", "high/c"}) {
    const fs::path path = sounds / (std::string(name) + ".wav");
    data::save_wav(folder / "own.wav", data::load_npy(folder / (path.stem().string() + ".npy")),
                   8000);
    CHECK(read_text(folder / "own.wav") == read_text(path));
  }
}

TEST_CASE("Cornu reads what Python pickles") {
  const TempFolder folder;
  REQUIRE(python("write-pickles", folder) == 0);
  for (int protocol = 0; protocol <= 5; ++protocol) {
    CAPTURE(protocol);
    const auto pickle = data::load_pickle(folder / fmt::format("{}.pickle", protocol));
    for (const Tensors::Named& array : all_values()) {
      const std::string& name = array.first;
      const Tensor& wanted = array.second;
      if (wanted.dtype() == DType::BFloat16) continue;
      CAPTURE(name);
      const auto forms = pickle.at(name);
      REQUIRE(forms.size() == 4);
      for (size_t i = 0; i < forms.size(); ++i) CHECK(same(forms[i].to_tensor(), wanted));
    }
    const auto scalars = pickle.at("scalars");
    CHECK(scalars[0].as_float() == 1.5);
    CHECK(scalars[1].as_int() == -7);
    CHECK(scalars[2].as_int() == 200);
    CHECK(scalars[3].as_bool());
    const auto plain = pickle.at("plain");
    CHECK(plain[0].is_none());
    CHECK(plain[1].as_bool());
    CHECK(plain[2].as_int() == -1);
    CHECK(plain[3].as_int() == int64_t{1} << 40);
    CHECK(plain[4].as_float() == 0.25);
    CHECK(plain[5].as_str() == "\u00e9\u2603");
    CHECK(plain[6].as_bytes() == std::string("\0\xff", 2));
    CHECK(plain[7][0].as_bytes().empty());
    CHECK(plain[8].size() == 0);
  }
}

namespace {

// The output of Keras's loaders.
class Expected {
 public:
  explicit Expected(const fs::path& path) : arrays_(data::load_npz(path)) {}

  void check(const std::string& prefix, const datasets::SequenceSplits& splits) const {
    CAPTURE(prefix);
    for (const auto& [name, part] : {std::pair("train", &splits.train), {"test", &splits.test}}) {
      std::vector<int64_t> words;
      std::vector<int64_t> lengths;
      for (const auto& list : part->x) {
        words.insert(words.end(), list.begin(), list.end());
        lengths.push_back(static_cast<int64_t>(list.size()));
      }
      const std::string key = prefix + "_" + name;
      CHECK(words == numbers(arrays_[key + "_values"]));
      CHECK(lengths == numbers(arrays_[key + "_lengths"]));
      CHECK(same(part->y, arrays_[key + "_y"]));
    }
  }

  // Keras's x has only every `step`-th row.
  void check(const std::string& prefix, const datasets::Splits& splits, int64_t step = 1) const {
    CAPTURE(prefix);
    for (const auto& [name, part] : {std::pair("train", &splits.train), {"test", &splits.test}}) {
      const std::string key = prefix + "_" + name;
      std::vector<int64_t> rows;
      for (int64_t row = 0; row < part->x.dim(0); row += step) rows.push_back(row);
      CHECK(same(gather_rows(part->x, rows), arrays_[key + "_x"]));
      CHECK(same(part->y, arrays_[key + "_y"]));
    }
  }

  std::vector<int64_t> at(const std::string& name) const { return numbers(arrays_[name]); }

 private:
  Tensors arrays_;
};

// The options of keras_data.py, in the same order.
template <class Options>
std::vector<Options> word_options() {
  std::vector<Options> all(8);
  all[1].num_words = 50;
  all[2].num_words = 40;
  all[2].skip_top = 10;
  all[2].oov_char = std::nullopt;
  all[3].maxlen = 12;
  all[4].start_char = std::nullopt;
  all[5].index_from = 0;
  all[6].start_char = std::nullopt;
  all[6].index_from = 0;
  all[6].seed = 7;
  all[7].skip_top = 20;
  all[7].oov_char = 99;
  return all;
}

}  // namespace

TEST_CASE("data sets are what Keras makes of the same files") {
  using namespace cornu::datasets;
  const TempFolder folder;
  REQUIRE(python("datasets", folder) == 0);
  const EnvironmentScope environment("CORNU_DATASETS", folder.path().string());
  const Expected expected(folder / "expected.npz");

  int number = 0;
  for (const imdb::LoadOptions& options : word_options<imdb::LoadOptions>()) {
    expected.check(fmt::format("imdb_{}", number++), imdb::load_data(options));
  }
  number = 0;
  for (reuters::LoadOptions options : word_options<reuters::LoadOptions>()) {
    options.test_split = 0.3;
    expected.check(fmt::format("reuters_{}", number++), reuters::load_data(options));
  }
  CHECK(expected.at("words") ==
        std::vector<int64_t>{imdb::get_word_index().at("fawn"),
                             reuters::get_word_index().at("l'\u00e9t\u00e9")});
  const Json topics = Json::parse(read_file(folder / "topics.json"));
  const auto names = reuters::get_label_names();
  REQUIRE(topics.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) CHECK(topics[i].as_string() == names[i]);

  expected.check("boston", boston_housing::load_data());
  expected.check("boston_7", boston_housing::load_data({.test_split = 0.33, .seed = 7}));
  expected.check("california", california_housing::load_data());
  expected.check("california_small", california_housing::load_data({.version = "small"}));
  expected.check("cifar10", cifar10::load_data(), 997);
  expected.check("cifar100_fine", cifar100::load_data());
  expected.check("cifar100_coarse", cifar100::load_data({.label_mode = "coarse"}));
  expected.check("fashion_mnist", fashion_mnist::load_data());
}
