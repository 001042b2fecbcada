// SPDX-License-Identifier: Apache-2.0
// The messages users get when they train with wrong arguments.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::contains;
using test::error_of;
using test::Log;
using test::some_values;

namespace {

constexpr int64_t kRows = 4;

Tensor labels(const std::vector<int32_t>& values) { return Tensor::from(values); }
Tensor good_labels() { return labels({0, 1, 2, 0}); }

// A classifier of four features into three classes.
Sequential classifier(const CompileOptions& options = {.optimizer = "sgd",
                                                       .loss = "sparse_categorical_crossentropy"}) {
  Sequential model({layers::Dense({.units = 3, .activation = "softmax", .name = "d"})},
                   {.name = "m"});
  model.compile(options);
  return model;
}

// The error of fitting a classifier to this data.
std::string fit_error(const Tensors& x, const Tensors& y, FitOptions options = {}) {
  Sequential model = classifier();
  options.verbose = 0;
  return error_of([&] { model.fit(x, y, options); });
}

data::Dataset batches() {
  return data::Dataset::from_tensor_slices({some_values({kRows, 4}), good_labels()}).batch(2);
}

std::string dataset_error(const data::Dataset& dataset, FitOptions options = {}) {
  Sequential model = classifier();
  options.verbose = 0;
  return error_of([&] { model.fit(dataset, options); });
}

}  // namespace

TEST_CASE("data of the wrong rank") {
  Sequential cnn({layers::Conv2D({.filters = 2, .kernel_size = 3, .name = "c"}), layers::Flatten(),
                  layers::Dense({.units = 3})},
                 {.name = "cnn"});
  cnn.compile({.loss = "mse"});
  CHECK(error_of([&] {
          cnn.fit(some_values({kRows, 784}), some_values({kRows, 3}), {.verbose = 0});
        }) ==
        "InvalidArgument: Conv2D 'c': expected 4-D input (batch, height, width, channels), got "
        "(None, 784). Reshape it first, for example with layers::Reshape({28, 28, 1}).");
  CHECK(fit_error(some_values({kRows}), good_labels()) ==
        "InvalidArgument: Dense 'd': expected input (batch, …, features) of 2 axes or more, got "
        "(None,). Reshape it first, for example with layers::Reshape({1}).");
  const Tensor input = Input({.shape = {4}, .name = "features"});
  Model model(input, layers::Dense({.units = 3})(input), {.name = "m"});
  model.compile({.loss = "mse"});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 2, 2}), some_values({kRows, 3}), {.verbose = 0});
        }) ==
        "InvalidArgument: Functional 'm': input 'features' expected shape (None, 4), got (4, 2, "
        "2). Reshape the data, or give Input their shape.");
  Sequential sequence({input, layers::Dense({.units = 3})}, {.name = "s"});
  CHECK(error_of([&] {
          sequence(some_values({kRows, 2, 2}));
        }) ==
        "InvalidArgument: Sequential 's': input 'features' expected shape (None, 4), got (4, 2, "
        "2). Reshape the data, or give Input their shape.");
}

TEST_CASE("one example in place of a batch") {
  const Tensor input = Input({.shape = {4}, .name = "features"});
  Sequential sequence({input, layers::Dense({.units = 3})}, {.name = "s"});
  CHECK(error_of([&] { sequence.predict(some_values({4}), {.verbose = 0}); }) ==
        "InvalidArgument: Sequential 's': input 'features' expected shape (None, 4), got (4,). Of "
        "one example ops::expand_dims(x, 0) makes a batch, of a dataset's batch(n).");
  const Tensor image = Input({.shape = {8, 8, 1}, .name = "image"});
  Model images(image, layers::Flatten()(image), {.name = "m"});
  CHECK(contains(error_of([&] { images(some_values({8, 8, 1})); }), "ops::expand_dims(x, 0)"));
}

TEST_CASE("images of another number of channels") {
  Sequential model(Input({.shape = {6, 6, 3}}),
                   {layers::Conv2D({.filters = 2, .kernel_size = 3, .name = "c"}),
                    layers::Flatten(), layers::Dense({.units = 3})},
                   {.name = "m"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor y = some_values({kRows, 3});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 6, 6, 1}), y, {.verbose = 0});
        }) ==
        "InvalidArgument: Conv2D 'c': expected 3 elements on axis -1, as when the layer was built, "
        "got (4, 6, 6, 1). Another size needs another layer.");
  // The failed step leaves the model unchanged.
  CHECK(model.fit(some_values({kRows, 6, 6, 3}), y, {.verbose = 0}).at("loss").size() == 1);
}

TEST_CASE("labels of the wrong kind") {
  CHECK(fit_error(some_values({kRows, 4}), some_values({kRows, 3})) ==
        "InvalidArgument: SparseCategoricalCrossentropy 'sparse_categorical_crossentropy': "
        "expected y_true of shape (4,), the class indices for y_pred of shape (4, 3), got (4, 3). "
        "For one-hot labels use the class without 'Sparse' in its name.");
  Sequential dense = classifier({.optimizer = "sgd", .loss = "categorical_crossentropy"});
  CHECK(error_of([&] {
          dense.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) ==
        "InvalidArgument: CategoricalCrossentropy 'categorical_crossentropy': expected y_true of "
        "y_pred's shape (4, 3), got (4,). Give labels as one-hot vectors; for class indices use "
        "SparseCategoricalCrossentropy.");
  Sequential binary = classifier({.optimizer = "sgd", .loss = "binary_crossentropy"});
  CHECK(error_of([&] {
          binary.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) ==
        "InvalidArgument: BinaryCrossentropy 'binary_crossentropy': expected y_true of y_pred's "
        "shape (4, 3), got (4,). Give one label for each prediction; for several classes use "
        "CategoricalCrossentropy or SparseCategoricalCrossentropy.");
  Sequential metric = classifier({.optimizer = "sgd",
                                  .loss = "sparse_categorical_crossentropy",
                                  .metrics = {metrics::CategoricalAccuracy()}});
  CHECK(error_of([&] {
          metric.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) ==
        "InvalidArgument: CategoricalAccuracy 'categorical_accuracy': expected y_true of y_pred's "
        "shape (4, 3), got (4,). Reshape one of them.");
}

TEST_CASE("labels of another dtype") {
  // Callables get labels of the predictions' dtype.
  const Loss loss = [](const Tensor& y_true, const Tensor& y_pred) {
    check<InvalidArgument>(y_true.dtype() == DType::Int32, "labels of {}", y_true.dtype());
    return ops::sum(ops::one_hot(y_true, 3) * y_pred, -1);
  };
  Sequential model = classifier({.optimizer = "sgd", .loss = loss});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) == "InvalidArgument: Loss 'loss': labels of float32");
  // Floats with integer values are class indices, as in Keras.
  CHECK(fit_error(some_values({kRows, 4}), Tensor::from<float>({0, 1, 2, 0})) == "");
  CHECK(contains(fit_error(some_values({kRows, 4}), Tensor::from<float>({0, 1, 2, 3})),
                 "InvalidArgument: Sequential 'm': sparse_softmax_cross_entropy: label 3 "));
}

TEST_CASE("labels that are no class") {
  const std::string advice =
      " is outside of [0, 3), the classes of logits of shape (4, 3). Labels are numbers of "
      "classes, counted from 0; one that is to be left out is named by ignore_class.";
  CHECK(fit_error(some_values({kRows, 4}), labels({0, 1, 2, -1}), {.shuffle = false}) ==
        "InvalidArgument: Sequential 'm': sparse_softmax_cross_entropy: label -1 of row 3" +
            advice);
  CHECK(fit_error(some_values({kRows, 4}), labels({0, 1, 3, 0}), {.shuffle = false}) ==
        "InvalidArgument: Sequential 'm': sparse_softmax_cross_entropy: label 3 of row 2" + advice);
  Sequential eager = classifier(
      {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .run_eagerly = true});
  CHECK(error_of([&] {
          eager.evaluate(some_values({kRows, 4}), labels({0, 1, 9, 0}), {.verbose = 0});
        }) ==
        "InvalidArgument: SparseCategoricalCrossentropy 'sparse_categorical_crossentropy': "
        "sparse_softmax_cross_entropy: label 9 of row 2" +
            advice);
}

TEST_CASE("a step that fails over a label changes nothing, moving statistics included") {
  Sequential model({layers::Dense({.units = 5}), layers::BatchNormalization(),
                    layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  model.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
  const std::vector<Tensor> before = model.get_weights();
  error_of([&] { model.train_on_batch(some_values({kRows, 4}), labels({0, 1, 3, 0})); });
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(test::distance(model.get_weights()[i], before[i]) == 0);
  }
}

TEST_CASE("numbers of samples that differ") {
  CHECK(fit_error(some_values({kRows, 4}), labels({0, 1, 2})) ==
        "InvalidArgument: Sequential 'm': expected as many samples in every array, got x: 4; y: 3. "
        "Row i of each belongs to sample i.");
  CHECK(fit_error(some_values({kRows, 4}), good_labels(),
                  {.validation_split = 0.5, .sample_weight = Tensor::from<float>({1})}) ==
        "InvalidArgument: Sequential 'm': expected as many samples in every array, got x: 4; y: 4; "
        "sample_weight: 1. Row i of each belongs to sample i.");
  CHECK(fit_error(some_values({kRows, 4}), good_labels(),
                  {.validation_data = {some_values({2, 4}), good_labels()}}) ==
        "InvalidArgument: Sequential 'm': expected as many samples in every array, got x: 2; y: 4. "
        "Row i of each belongs to sample i.");
}

TEST_CASE("a dataset that isn't batched, on several replicas") {
  const distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 3})}, {.name = "m"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto dataset =
      data::Dataset::from_tensor_slices({some_values({kRows, 4}), some_values({kRows, 3})});
  CHECK(error_of([&] { model.fit(dataset, {.verbose = 0}); }) ==
        "InvalidArgument: Sequential 'm': expected batches, whose tensors have an example in each "
        "row, got one with a tensor of shape (3,) beside one of 4 rows. If the dataset isn't "
        "batched, batch it: dataset.batch(n).");
}

TEST_CASE("sample weights of the wrong shape") {
  Sequential model({layers::Dense({.units = 3})}, {.name = "m"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor y = some_values({kRows, 3});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), y,
                    {.verbose = 0, .sample_weight = ops::ones({kRows, 3})});
        }) ==
        "InvalidArgument: MeanSquaredError 'mse': expected sample_weight of shape (4,), "
        "as the losses are of shape (4,), got shape (4, 3).");
  CHECK(error_of([&] {
          losses::MeanSquaredError()(some_values({kRows, 2, 3}), some_values({kRows, 2, 3}),
                                     ops::ones({kRows, 3}));
        }) ==
        "InvalidArgument: MeanSquaredError 'mean_squared_error': expected sample_weight of shape "
        "(4,) or (4, 2), as the losses are of shape (4, 2), got shape (4, 3).");
}

TEST_CASE("a loss that becomes NaN") {
  Tensor x = some_values({8, 4});
  x.mutable_data<float>()[4 * 4] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = labels({0, 1, 2, 0, 1, 2, 0, 1});
  FitOptions options = {.batch_size = 2,
                        .epochs = 3,
                        .verbose = 0,
                        .callbacks = {callbacks::TerminateOnNaN()},
                        .shuffle = false};
  Sequential model = classifier();
  const Log log;
  const History history = model.fit(x, y, options);
  CHECK(contains(log.text(), "Epoch 1, batch 3: Invalid loss, terminating training"));
  CHECK(history.epoch == std::vector<int64_t>{0});
  CHECK(std::isnan(history.at("loss").at(0)));
  CHECK(model.optimizer().iterations() == 3);

  options.callbacks = {callbacks::TerminateOnNaN({.raise_error = true})};
  CHECK(fit_error(x, y, options) ==
        "OutOfRange: Sequential 'm': TerminateOnNaN: the loss became nan in batch 3 of epoch 1. "
        "Lower the learning rate, clip gradients (clipnorm), or look for bad values in the data.");
}

TEST_CASE("names that aren't known") {
  auto begins = [](const std::string& error, const std::string& text) {
    CHECK(error.substr(0, text.size()) == text);
  };
  begins(error_of([] { layers::Dense({.units = 2, .activation = "rellu"}); }),
         "InvalidArgument: Unknown activation 'rellu'. Did you mean 'relu'? Known: ");
  begins(error_of([] { classifier({.optimizer = "adamm"}); }),
         "InvalidArgument: Unknown optimizer 'adamm'. Did you mean 'adam' or 'adamw'? Known: ");
  begins(error_of([] { classifier({.loss = "categorical_crosentropy"}); }),
         "InvalidArgument: Unknown loss 'categorical_crosentropy'. Did you mean "
         "'categorical_crossentropy'? Known: ");
  begins(error_of([] { classifier({.metrics = {"acuracy"}}); }),
         "InvalidArgument: Unknown metric 'acuracy'. Did you mean 'accuracy'? Known: ");
  // Names of outputs, too.
  const Tensor input = Input({.shape = {4}});
  Model model(input, layers::Dense({.units = 3, .name = "digit"})(input), {.name = "m"});
  model.compile({.loss = {{"digits", "mse"}}});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), some_values({kRows, 3}), {.verbose = 0});
        }) ==
        "InvalidArgument: Functional 'm': a loss is given for an output 'digits', which it doesn't "
        "have. Did you mean 'digit'? Known: digit.");
}

TEST_CASE("no data") {
  CHECK(fit_error({}, {}) ==
        "InvalidArgument: Sequential 'm': expected input data, got none. Give x at least one "
        "array.");
  CHECK(fit_error(some_values({0, 4}), labels({})) ==
        "InvalidArgument: Sequential 'm': expected at least one sample, got arrays of none: x of "
        "shape (0, 4). Check where they were read or filtered.");
  CHECK(dataset_error(batches().take(0)) ==
        "InvalidArgument: Sequential 'm': fit got no batches: the dataset is empty. Check its "
        "source, and that repeat() or steps_per_epoch leave something for every epoch.");
  Sequential model = classifier();
  CHECK(
      contains(error_of([&] { model.evaluate(batches().take(0), {.verbose = 0}); }),
               "InvalidArgument: Sequential 'm': evaluate got no batches: the dataset is empty."));
  CHECK(contains(error_of([&] { model.predict(batches().take(0), {.verbose = 0}); }),
                 "InvalidArgument: Sequential 'm': predict got no batches: the dataset is empty."));
}

TEST_CASE("a checkpoint where nothing can be written") {
  const test::Scratch scratch;
  test::put(scratch.path("file"), "x");
  const std::string path = scratch.path("file/sub/model.keras");
  FitOptions options = {.verbose = 0,
                        .callbacks = {callbacks::ModelCheckpoint({.filepath = path})}};
  Sequential model = classifier();
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), good_labels(), options);
        }) ==
        "FailedPrecondition: Sequential 'm': ModelCheckpoint: the directory '" +
            scratch.path("file/sub") +
            "' can't be created: Not a directory. Create it, or pass another filepath than '" +
            path + "'.");
  CHECK_FALSE(model.built());  // nothing was trained
}

TEST_CASE("another number of inputs") {
  const Tensor x = some_values({kRows, 4});
  Sequential model = classifier();
  CHECK(error_of([&] {
          model.fit({x, x}, good_labels(), {.verbose = 0});
        }) ==
        "InvalidArgument: Dense 'd': expected 1 input, got 2 of them. Merge them first, for "
        "example with layers::Concatenate().");
  const Tensor left = Input({.shape = {4}, .name = "left"});
  const Tensor right = Input({.shape = {4}, .name = "right"});
  Model two({left, right}, layers::Dense({.units = 3, .name = "score"})(left + right),
            {.name = "two"});
  two.compile({.loss = "mse"});
  CHECK(error_of([&] {
          two.fit(x, some_values({kRows, 3}), {.verbose = 0});
        }) ==
        "InvalidArgument: Functional 'two': expected 2 inputs (left, right), got 1. Give one "
        "tensor for each, in this order or by name.");
  CHECK(error_of([&] {
          two.fit({{"left", x}, {"rihgt", x}}, some_values({kRows, 3}), {.verbose = 0});
        }) ==
        "NotFound: Functional 'two': no data was passed for input 'right': expected left, right, "
        "got left, rihgt.");
  CHECK_NOTHROW(two.predict({{"more", x}, {"right", x}, {"left", x}}, {.verbose = 0}));  // as Keras
  CHECK(error_of([&] {
          two.fit({x, x}, {x, x}, {.verbose = 0});
        }) ==
        "InvalidArgument: Functional 'two': expected a target for each of its outputs (score), "
        "got 2 of them. Give one array for each, in this order or by name.");
  const layers::Dense dense({.units = 2, .name = "d"});
  CHECK(error_of([&] {
          dense({x, x});
        }) ==
        "InvalidArgument: Dense 'd': expected 1 input, got 2 of them. Merge them first, for "
        "example with layers::Concatenate().");
}

TEST_CASE("a target that is missing") {
  const Tensor input = Input({.shape = {4}});
  Model model(input,
              {layers::Dense({.units = 3, .name = "a"})(input),
               layers::Dense({.units = 3, .name = "b"})(input)},
              {.name = "m"});
  model.compile(
      {.optimizer = "sgd", .loss = {{"a", "mse"}}, .metrics = {{"a", {"mae"}}, {"b", {"mae"}}}});
  const Tensor x = some_values({kRows, 4});
  const Tensor y = some_values({kRows, 3});
  CHECK(error_of([&] {
          model.fit(x, {{"a", y}}, {.verbose = 0});
        }) ==
        "InvalidArgument: Functional 'm': expected a target for output 'b', which has a metric, "
        "got none.");
  // The failed attempt doesn't affect the next one.
  const History history = model.fit(x, {{"a", y}, {"b", y}}, {.verbose = 0});
  CHECK(history.names() == std::vector<std::string>{"a_mae", "b_mae", "loss"});
}

TEST_CASE("fit before compile") {
  Sequential model({layers::Dense({.units = 3})}, {.name = "m"});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) ==
        "FailedPrecondition: Sequential 'm': it must be compiled before fit. Call "
        "compile({…}).");
  CHECK(error_of([&] { model.optimizer(); }) ==
        "FailedPrecondition: Sequential 'm': it must be compiled before its optimizer is used. "
        "Call compile({…}).");
  // Without a loss there is nothing to minimize.
  model.compile({.optimizer = "sgd"});
  CHECK(error_of([&] {
          model.fit(some_values({kRows, 4}), good_labels(), {.verbose = 0});
        }) ==
        "FailedPrecondition: Sequential 'm': there is no loss to minimize. Pass a loss to compile, "
        "or add one with add_loss.");
}

TEST_CASE("arguments that make no sense") {
  const Tensor x = some_values({kRows, 4});
  CHECK(contains(fit_error(x, good_labels(), {.steps_per_epoch = 0}),
                 "InvalidArgument: Sequential 'm': fit: expected steps_per_epoch >= 1, got 0."));
  CHECK(contains(fit_error(x, good_labels(), {.batch_size = 0}),
                 "InvalidArgument: Sequential 'm': Expected a batch_size of at least 1, got 0."));
  CHECK(contains(
      fit_error(x, good_labels(), {.validation_data = {x, good_labels()}, .validation_steps = -1}),
      "fit: expected validation_steps >= 1, got -1."));
  CHECK(contains(
      fit_error(x, good_labels(), {.validation_data = {x, good_labels()}, .validation_freq = 0}),
      "fit: expected a validation_freq of at least 1, got 0."));
  CHECK(contains(fit_error(x, good_labels(), {.epochs = -1}),
                 "InvalidArgument: Sequential 'm': fit: expected epochs and initial_epoch >= 0, "
                 "got -1 and 0."));
  CHECK(fit_error(x, good_labels(), {.validation_split = 0.9}) ==
        "InvalidArgument: Sequential 'm': fit: a validation_split of 0.9 leaves 0 of 4 samples for "
        "training. Use another fraction.");
  CHECK(dataset_error(batches(), {.batch_size = 2}) ==
        "InvalidArgument: Sequential 'm': fit: batch_size is only valid with arrays, since a "
        "dataset defines its own batches. Omit it, and call batch() on the dataset instead.");
  CHECK(contains(dataset_error(batches(), {.validation_split = 0.5}),
                 "fit: validation_split is only valid with arrays"));
  CHECK(contains(dataset_error(batches(), {.sample_weight = Tensor::from<float>({1, 1})}),
                 "fit: sample_weight is only valid with arrays"));
  const Tensor placeholder = Input({.shape = {4}});
  CHECK(fit_error(placeholder, good_labels()) ==
        "InvalidArgument: Sequential 'm': expected arrays of values, got a placeholder. Give the "
        "data; a placeholder (what Input and layers called on it return) only makes models.");
}

TEST_CASE("class_weight together with weights of the data") {
  const Tensor x = some_values({kRows, 4});
  const auto data = data::Dataset::from_tensor_slices({x, good_labels(), ops::ones({kRows})});
  Sequential model = classifier();
  CHECK(contains(error_of([&] {
                   model.fit(data.batch(2), {.verbose = 0, .class_weight = {{0, 2.0}}});
                 }),
                 "class_weight was given, and the data have sample weights of their own. "
                 "Multiply it into them."));
}

TEST_CASE("class_weight together with sample_weight") {
  CHECK(
      fit_error(some_values({kRows, 4}), good_labels(),
                {.class_weight = {{0, 2.0}}, .sample_weight = Tensor::from<float>({1, 1, 1, 1})}) ==
      "InvalidArgument: Sequential 'm': fit: class_weight and sample_weight were both given. "
      "Multiply them into sample_weight.");
  CHECK(fit_error(some_values({kRows, 4}), {good_labels(), good_labels()},
                  {.class_weight = {{0, 2.0}}}) ==
        "InvalidArgument: Sequential 'm': class_weight needs a single target of class indices "
        "or one-hot rows, got 2 targets.");
  CHECK(fit_error(some_values({kRows, 4}), Tensor::from<float>({0, 1, NAN, 0}),
                  {.shuffle = false, .class_weight = {{0, 2.0}}}) ==
        "InvalidArgument: Sequential 'm': class_weight needs class indices, but the label of "
        "row 2 of a batch is nan. Labels are numbers of classes.");
}

TEST_CASE("metrics that don't fit the outputs") {
  const Tensor input = Input({.shape = {4}});
  Model model(input,
              {layers::Dense({.units = 3, .name = "a"})(input),
               layers::Dense({.units = 3, .name = "b"})(input)},
              {.name = "m"});
  const Tensor y = some_values({kRows, 3});
  const auto error_with = [&](const CompileOptions& options) {
    model.compile(options);
    return error_of([&] { model.fit(some_values({kRows, 4}), {y, y}, {.verbose = 0}); });
  };
  CHECK(error_with({.loss = "mse", .metrics = {"mae"}}) ==
        "InvalidArgument: Functional 'm': metrics: expected one entry for each of its 2 outputs "
        "(a, b), got 1. Give a metric or a list of them for each, in this order: {{…}, {…}}; or "
        "name outputs: {{\"a\", {…}}}.");
  CHECK(contains(error_with({.loss = "mse", .weighted_metrics = {"mae", "mae", "mae"}}),
                 "weighted_metrics: expected one entry for each of its 2 outputs (a, b), got 3."));
  CHECK(contains(error_with({.loss = "mse", .metrics = {{"c", {"mae"}}}}),
                 "a metric is given for an output 'c', which it doesn't have."));
  CHECK(error_with({.loss = {"mse"}}) ==
        "InvalidArgument: Functional 'm': expected a loss for each of its 2 outputs, got 1 of "
        "them.");
  CHECK(error_with({.loss = {"mse", "mae"}, .metrics = {"mae", {}}}) == "");
}

TEST_CASE("data that ends before steps_per_epoch is warned of") {
  const Log log;
  CHECK(dataset_error(batches(), {.steps_per_epoch = 2}) == "");  // exactly as many as there are
  CHECK(log.text() == "");
  CHECK(dataset_error(batches(), {.steps_per_epoch = 5}) == "");
  CHECK(contains(log.text(),
                 "The data ran out after 2 of 5 steps; the epoch ends here. Give the dataset as "
                 "many batches as steps_per_epoch and epochs ask for, with repeat() for example, "
                 "or omit the number of steps."));
}

TEST_CASE("variables that an optimizer wasn't built for") {
  const Variable known(Tensor::from<float>({1, 2}));
  const Variable other(Tensor::from<float>({1, 2}), {.name = "other"});
  const Optimizer sgd = optimizers::SGD({.learning_rate = 0.5, .name = "sgd"});
  CHECK(error_of([&] { sgd.apply({ops::ones({2})}); }) ==
        "FailedPrecondition: SGD 'sgd': apply without variables needs an optimizer that was built "
        "for some. Call build(variables) first, or give the variables.");
  sgd.build({known});
  sgd.apply({ops::ones({2})});
  sgd.apply({ops::ones({2})}, {known});
  CHECK(known.value().data<float>()[1] == 1.0F);
  CHECK(error_of([&] { sgd.apply({ops::ones({2})}, {other}); }) ==
        "InvalidArgument: SGD 'sgd': expected one of the variables it was built for, got 'other'. "
        "To train other variables, as after unfreezing layers, call compile again with a new "
        "optimizer.");
}

TEST_CASE("an unknown optimizer: known ones are spelled as they are mostly written") {
  CHECK(contains(error_of([] { Optimizer("adamm"); }),
                 "Known: adadelta, adafactor, adagrad, adam, adamw, adamax, ftrl, lamb, lion, "));
}

TEST_CASE("a dataset that never ends") {
  CHECK(dataset_error(batches().repeat()) ==
        "InvalidArgument: Sequential 'm': fit: the dataset never ends. Say how many batches make "
        "an epoch (steps_per_epoch), or take(n) of them.");
  CHECK(dataset_error(batches().repeat(), {.steps_per_epoch = 3}) == "");
  // It must not validate forever.
  const callbacks::LambdaCallback guard({.on_test_batch_end = [](int64_t batch, const Logs&) {
    check<Internal>(batch < 10, "validation goes on");
  }});
  const std::string error =
      dataset_error(batches(), {.callbacks = {guard}, .validation_data = batches().repeat()});
  CHECK(contains(error, "InvalidArgument: Sequential 'm': fit: the dataset never ends."));
  CHECK(contains(error, "(validation_steps)"));
  CHECK(
      dataset_error(data::Dataset::from_tensor_slices({some_values({kRows, 4}), good_labels()})) ==
      "InvalidArgument: Dataset: training takes batches of examples, but the elements are "
      "(float32 (4,), int32 ()). Call batch() first.");
}

TEST_CASE("predict: what batches give must go together") {
  struct Similarities : Model {
    Similarities() : Model({.name = "s"}) {}
    Tensor call(const Tensor& x, const CallArgs&) override {
      return ops::matmul(x, ops::transpose(x));
    }
  };
  Similarities similarities;
  const Tensor x = ops::reshape(ops::arange(12.0f), {6, 2});
  CHECK(similarities.predict(x, {.verbose = 0}).shape() == Shape{6, 6});
  CHECK(similarities.predict(x, {.batch_size = 3, .verbose = 0}).shape() == Shape{6, 3});
  CHECK(error_of([&] { similarities.predict(x, {.batch_size = 4, .verbose = 0}); }) ==
        "InvalidArgument: Similarities 's': predict joins what its batches give along the first "
        "axis, but output 'output_1' of batch 1 (counted from 0) is float32 (2, 2), and of batch 0 "
        "float32 (4, 4). Make all axes after the first alike, for example by padding, or call "
        "predict_on_batch on each batch.");

  struct Sum : Model {
    Sum() : Model({.name = "s"}) {}
    Tensors call_list(const Tensors& x, const CallArgs&) override {
      return Tensors({{"rows", x[0]}, {"sum", ops::sum(x[0])}});
    }
  };
  Sum sum;
  CHECK(error_of([&] { sum.predict(x, {.verbose = 0}); }) ==
        "InvalidArgument: Sum 's': predict joins what its batches give along the first axis, but "
        "output 'sum' of batch 0 (counted from 0) is a scalar. Return one value an example, or "
        "call predict_on_batch on each batch.");

  struct Several : Model {
    Several() : Model({.name = "s"}) {}
    Tensors call_list(const Tensors& x, const CallArgs&) override {
      return std::vector<Tensor>(static_cast<size_t>(x[0].dim(0)), x[0]);
    }
  };
  Several several;
  CHECK(error_of([&] { several.predict(x, {.batch_size = 4, .verbose = 0}); }) ==
        "InvalidArgument: Several 's': predict joins what its batches give along the first axis, "
        "but batch 1 (counted from 0) gave 2 outputs, and batch 0 4. Return as many for each "
        "batch, or call predict_on_batch on each batch.");
}

TEST_CASE("a metric of several numbers") {
  Sequential model =
      classifier({.optimizer = "sgd", .loss = "mse", .metrics = {metrics::F1Score()}});
  const Tensor x = some_values({kRows, 4});
  CHECK(
      error_of([&] { model.fit(x, ops::one_hot(good_labels(), 3), {.verbose = 0}); })
          .find(
              "Sequential 'm': expected one number for 'f1_score', as logs and the history hold, "
              "got shape (3,). Reduce it (ops::mean, ops::sum), or give the metric the option that "
              "makes one of them: average of F1Score") != std::string::npos);
}

TEST_CASE("a model without trainable weights trains nothing, and says so once a compile") {
  Sequential model({layers::Dense({.units = 1, .name = "frozen"})});
  model.build({0, 2});
  model.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const test::Log log;
  for (int i = 0; i < 2; ++i) model.train_on_batch(ops::ones({2, 2}), ops::ones({2, 1}));
  const std::string said = "the model has no trainable weights, so that training changes nothing.";
  const std::string text = log.text();
  REQUIRE(text.find(said) != std::string::npos);
  CHECK(text.find(said, text.find(said) + 1) == std::string::npos);
}
