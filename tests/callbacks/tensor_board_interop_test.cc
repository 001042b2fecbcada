// SPDX-License-Identifier: Apache-2.0
// TensorBoard's own reader applied to Cornu's files, compared with the files Keras writes for the
// same training. tensor_board.py is the Python side.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

#include <cornu/cornu.h>

#include "framework/callbacks/summaries.h"
#include "framework/io/event_file.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::Scratch;

constexpr int64_t kRows = 20;  // 4 batches of 5

int python(const std::string& arguments) {
  return test::run_python(CORNU_TENSOR_BOARD_SCRIPT, arguments);
}

// The same numbers as in tensor_board.py.
Tensor scattered(const Shape& shape) {
  const Tensor numbers = ops::arange(0, shape.num_elements(), 1, "int32") * 37 % 101;
  return ops::reshape(ops::cast(numbers, "float32") / 50.0f - 1.0f, shape);
}
Tensor rows() { return scattered({kRows, 6}); }
Tensor labels() { return ops::arange(0, kRows, 1, "int32") % 3; }

Model classifier() {
  clear_session();
  set_random_seed(5);
  const Tensor x = Input({.shape = {6}, .name = "x"});
  Tensor y = layers::Reshape({.target_shape = {6, 1}})(x);
  y = layers::Conv1D({.filters = 4, .kernel_size = 3, .use_bias = false, .name = "conv"})(y);
  y = layers::Flatten()(y);
  y = layers::BatchNormalization({.name = "norm"})(y);
  const Tensor same = layers::Dense({.units = 16, .activation = "relu", .name = "same"})(y);
  y = layers::Add()({y, same});
  Model model(x, layers::Dense({.units = 3, .name = "logits"})(y), {.name = "classifier"});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

void train(const std::string& folder, const callbacks::UpdateFrequency& update_freq) {
  Model model = classifier();
  std::filesystem::create_directories(folder);
  model.save(folder + "/model.keras");
  const callbacks::TensorBoard board({.log_dir = folder + "/cornu",
                                      .histogram_freq = 2,
                                      .write_images = true,
                                      .write_steps_per_second = true,
                                      .update_freq = update_freq});
  model.fit(rows(), labels(),
            {.batch_size = 5,
             .epochs = 3,
             .verbose = 0,
             .callbacks = {board},
             .validation_data = {rows().rows(0, 10), labels().rows(0, 10)},
             .shuffle = false,
             .validation_batch_size = 5});
  model.evaluate(rows(), labels(), {.batch_size = 5, .verbose = 0, .callbacks = {board}});
}

TEST_CASE("TensorBoard reads the tags, steps and values that Keras would have written") {
  const Scratch scratch;
  train(scratch.path("epoch"), "epoch");
  train(scratch.path("batch"), "batch");
  train(scratch.path("2"), 2);
  train(scratch.path("3"), 3);
  CHECK(python("compare " + scratch.path() + " epoch batch 2 3") == 0);
}

TEST_CASE("histograms are those of tf.summary.histogram") {
  const Scratch scratch;
  EventFile file(scratch.path());
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto inf = std::numeric_limits<float>::infinity();
  const std::vector<Tensor> cases = {
      scattered({10, 100}),
      Tensor::from<float>({-1, 0, 2}),
      Tensor::from<float>({2.5, 2.5, 2.5}),
      Tensor(7.0f),
      ops::zeros({0, 3}),
      ops::arange(0, 31, 1, "int32"),
      Tensor::from<float>({1, nan, 2}),
      Tensor::from<float>({1, inf, 2}),
      Tensor::from<float>({-inf, 1, 2}),
      Tensor::from<float>({inf, inf}),
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    file.add_value(static_cast<int64_t>(i), callbacks::histogram_summary("h", cases[i]));
  }
  file.flush();
  CHECK(python("histograms " + scratch.path()) == 0);
}

TEST_CASE("a program's own records are those of tf.summary") {
  const Scratch scratch;
  const Tensor pictures = ops::reshape(ops::arange(0, 180, 1, "uint8"), {5, 4, 3, 3});
  {
    SummaryWriter writer(scratch.path("cornu"));
    writer.scalar("loss", 0.25, 3);
    writer.scalar("loss", 0.5, 4);
    writer.histogram("h", scattered({10, 100}), 1);
    writer.image("bytes", pictures, 2);
    writer.image("floats", scattered({2, 3, 4, 1}) / 2 + 0.5, 2, 5);
    writer.text("words", "**bold**", 5);
    writer.text("lines", std::vector<std::string>{"a", "b"}, 5);
  }
  CHECK(python("own " + scratch.path()) == 0);
}

TEST_CASE("TensorBoard's projector reads embeddings") {
  const Scratch scratch;
  clear_session();
  Sequential model({Input({.shape = {2}, .dtype = DType::Int32}),
                    layers::Embedding({.input_dim = 6, .output_dim = 3, .name = "words"}),
                    layers::Flatten(), layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const callbacks::TensorBoard board({.log_dir = scratch.path("logs"),
                                      .embeddings_freq = 1,
                                      .embeddings_metadata = {{"words", "words.tsv"}}});
  model.fit(Tensor::from<int32_t>({0, 1, 2, 3, 4, 5}, {3, 2}), ops::ones({3, 1}),
            {.epochs = 2, .verbose = 0, .callbacks = {board}});
  model.save(scratch.path("model.keras"));
  CHECK(python("projector " + scratch.path()) == 0);
}

TEST_CASE("TensorFlow's converters for the profile plugin read a profile of steps") {
  const Scratch scratch;
  Model model = classifier();
  const callbacks::TensorBoard board({.log_dir = scratch.path(), .profile_batch = {3, 5}});
  model.fit(rows(), labels(), {.batch_size = 5, .epochs = 2, .verbose = 0, .callbacks = {board}});
  CHECK(python("profile " + scratch.path()) == 0);
}

}  // namespace
}  // namespace cornu
