// SPDX-License-Identifier: Apache-2.0
// Embedding tables, of whose gradients replicas exchange only rows, train as on one device.
#include <doctest/doctest.h>

#include "tests/distribute/models.h"

using namespace cornu;
using test::replica_counts;
using test::strategy_kinds;
using test::StrategyKind;

namespace {

constexpr int64_t kWords = 3000;

struct Training {
  std::string optimizer = "sgd";
  int64_t examples = 13;  // the last batch has fewer examples than there are replicas
  std::optional<double> clipnorm = {};
  bool tied = false;  // the table computes the logits, too
};

Tensor words_of(int64_t examples) {
  const Tensor few = random::randint({examples, 4}, 0, 40, {.seed = 1});
  return ops::cast(few * 70, DType::Int32);
}

// One table is looked up twice; another isn't used by any example of some replicas.
Model make_model(const Training& training) {
  const Tensor words = Input({.shape = {4}, .dtype = DType::Int32});
  const Tensor averaged = ops::mean(
      layers::Embedding({.input_dim = kWords, .output_dim = 8, .name = "averaged"})(words), 1);
  Tensor rows;
  if (training.tied) {
    const layers::ReversibleEmbedding table({.input_dim = kWords, .output_dim = 8});
    const Tensor first = layers::GlobalAveragePooling1D()(table(words));
    const Tensor logits = table(first + averaged, {.settings = Json::object({{"reverse", true}})});
    rows = ops::mean(logits, -1, true);
  } else {
    const layers::Embedding table({.input_dim = kWords, .output_dim = 8});
    rows = layers::Flatten()(table(words)) + layers::Flatten()(table(2999 - words));
  }
  return Model(words, layers::Dense({.units = 1})(layers::Concatenate()({rows, averaged})));
}

std::vector<Tensor> trained(const Training& training) {
  set_random_seed(3);
  Model model = make_model(training);
  Optimizer optimizer = training.optimizer;
  if (training.clipnorm) optimizer = optimizers::Adagrad({.clipnorm = training.clipnorm});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  model.fit(words_of(training.examples), random::uniform({training.examples, 1}, {.seed = 2}),
            {.batch_size = 6, .epochs = 3, .verbose = 0, .shuffle = false});
  return model.get_weights();
}

void check_like_one_device(const Training& training) {
  const std::vector<Tensor> expected = trained(training);
  for (const int replicas : replica_counts()) {
    for (const StrategyKind& kind : strategy_kinds()) {
      CAPTURE(kind.name);
      CAPTURE(replicas);
      const auto strategy = kind.make(replicas);
      const auto scope = strategy.scope();
      CHECK(test::distance(trained(training), expected) < 2e-5);
    }
  }
}

}  // namespace

TEST_CASE("embeddings, whether an update needs all rows or those of a batch") {
  for (const std::string optimizer : {"sgd", "adagrad", "adam"}) {
    for (const int64_t examples : {12, 13, 7}) {
      CAPTURE(optimizer);
      CAPTURE(examples);
      check_like_one_device({.optimizer = optimizer, .examples = examples});
    }
  }
}

TEST_CASE("embeddings whose gradients are clipped, and one that gives logits") {
  check_like_one_device({.clipnorm = 0.01});
  check_like_one_device({.tied = true});
}

TEST_CASE("every worker ends up with the bits of worker 0") {
  const auto strategy = test::replicated(test::replicas_or_all(2));
  const auto scope = strategy.scope();
  std::string own;
  for (const Tensor& weight : trained({.optimizer = "adagrad"})) {
    own += fmt::format("{:a}\n", fmt::join(weight.to_vector<float>(), " "));
  }
  CHECK(test::of_first_worker(own) == own);
}
