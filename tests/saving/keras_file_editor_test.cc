// SPDX-License-Identifier: Apache-2.0
// Inspecting and editing weights files.
#include "framework/saving/keras_file_editor.h"

#include <doctest/doctest.h>

#include "framework/io/atomic_file.h"
#include "framework/saving/hdf5_file.h"
#include "tests/saving/models.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::distance;
using test::message_of;
using test::numbers;
using test::Scratch;
using Paths = std::vector<std::string>;

Sequential model_of(int64_t units) {
  return Sequential({Input({.shape = {3}}), layers::Dense({.units = 4, .name = "first"}),
                     layers::Dense({.units = units, .name = "second"})},
                    {.name = "small"});
}

TEST_CASE("a file's objects and weights are told, and compared with a model's") {
  const Scratch scratch;
  const std::string path = scratch.path("m.keras");
  Sequential model = model_of(2);
  model.compile({.optimizer = optimizers::SGD({.name = "sgd"}), .loss = "mse"});
  model.fit(numbers({4, 3}), numbers({4, 2}), {.verbose = 0});
  model.save(path);
  const KerasFileEditor editor(path);
  CHECK(editor.objects() == Paths{"layers/dense", "layers/dense_1", "optimizer"});
  CHECK(editor.config().at("class_name").as_string() == "Sequential");
  CHECK(distance(editor.weights("dense_1").at("0"), model.get_weights()[2]) == 0);
  Paths lines;
  editor.summary([&](const std::string& line) { lines.push_back(line); });
  CHECK(lines == Paths{"layers/dense ('first')", "    0: shape=(3, 4), dtype=float32",
                       "    1: shape=(4,), dtype=float32", "layers/dense_1 ('second')",
                       "    0: shape=(4, 2), dtype=float32", "    1: shape=(2,), dtype=float32",
                       "optimizer ('sgd')", "    0: shape=(), dtype=int64",
                       "    1: shape=(), dtype=float32"});
  const auto same = editor.compare(model);
  CHECK(same.status == "success");
  CHECK(same.match_count == 4);
  const auto other = editor.compare(model_of(5));
  CHECK(other.status == "error");
  CHECK(other.match_count == 2);
  CHECK(other.errors ==
        Paths{"'layers/dense_1/0': the file has shape (4, 2), the reference model (4, 5).",
              "'layers/dense_1/1': the file has shape (2,), the reference model (5,)."});
  const auto third = editor.compare(
      Sequential({Input({.shape = {3}}), layers::Dense({.units = 4, .use_bias = false}),
                  layers::BatchNormalization()}));
  CHECK(third.error_count == 3);
  CHECK(third.errors ==
        Paths{"'layers/dense' has 2 weights in the file, 1 in the reference model.",
              "'layers/batch_normalization' is in the reference model, but not in the file.",
              "'layers/dense_1' is in the file, but not in the reference model."});
}

TEST_CASE("a file that was changed loads as what it is then") {
  const Scratch scratch;
  const std::string path = scratch.path("m.weights.h5"), edited = scratch.path("e.weights.h5");
  Sequential model = model_of(2);
  model.save_weights(path);
  KerasFileEditor editor(path);
  editor.delete_object("dense_1");
  editor.rename_object("layers/dense", "einsum_dense");
  editor.add_object("layers/dense", {{"0", ops::ones({4, 5})}});
  editor.add_weights("dense", {{"1", ops::zeros({5})}, {"2", ops::zeros({1})}});
  editor.delete_weight("dense", "2");
  editor.save(edited);
  Sequential other(
      {Input({.shape = {3}}),
       layers::EinsumDense({.equation = "ab,bc->ac", .output_shape = {4}, .bias_axes = "c"}),
       layers::Dense({.units = 5})});
  CHECK(editor.compare(other).status == "success");
  other.load_weights(edited);
  CHECK(distance(other.get_weights()[0], model.get_weights()[0]) == 0);
  CHECK(distance(other.get_weights()[2], ops::ones({4, 5})) == 0);
  CHECK(KerasFileEditor(edited).objects() == Paths{"layers/dense", "layers/einsum_dense"});
}

TEST_CASE("what an editor can't do says so") {
  const Scratch scratch;
  const std::string path = scratch.path("m.weights.h5");
  Sequential model = model_of(2);
  model.save_weights(path);
  KerasFileEditor editor(path);
  CHECK(message_of([] { KerasFileEditor("m.h5"); }) ==
        "KerasFileEditor expected a path that ends in '.keras' or '.weights.h5', got 'm.h5'.");
  CHECK_THROWS_AS(KerasFileEditor(scratch.path("none.keras")), NotFound);
  CHECK(message_of<NotFound>([&] { editor.delete_object("dense_2"); }) ==
        path + " has no object 'dense_2'. Did you mean 'dense_1'? Known: dense, dense_1, layers.");
  CHECK(message_of([&] { editor.rename_object("dense", "layers/x"); }) ==
        path + ": expected a name that isn't empty, '.' or 'vars' and has no '/', got 'layers/x'.");
  // Edits that could be written, but not read back.
  CHECK_THROWS_AS(editor.rename_object("dense", "vars"), InvalidArgument);
  CHECK_THROWS_AS(editor.add_object("layers/vars", {}), InvalidArgument);
  CHECK_THROWS_AS(editor.add_object("layers/", {}), InvalidArgument);
  CHECK_THROWS_AS(editor.add_weights("dense", {{"0/1", ops::ones({1})}}), InvalidArgument);
  CHECK(message_of([&] {
          editor.add_weights("dense", {{"0", ops::ones({1})}, {"2", Tensor()}});
        }).starts_with(path + ": expected numbers as the weight '2', got "));
  CHECK(editor.weights("dense").at("0").shape() == Shape{3, 4});
  CHECK(message_of<AlreadyExists>([&] { editor.rename_object("dense", "dense_1"); }) ==
        path + ": there is an object 'layers/dense_1' already.");
  CHECK(message_of<AlreadyExists>([&] { editor.add_object("layers/dense", {}); }) ==
        path + ": there is an object 'layers/dense' already.");
  CHECK(message_of<NotFound>([&] { editor.add_object("parts/dense", {}); }) ==
        path + " has no object 'parts', in which 'parts/dense' is to be.");
  CHECK(message_of<NotFound>([&] {
          editor.delete_weight("dense", "7");
        }).starts_with(path + ": its object 'dense' has no weight '7'."));
  CHECK(message_of([&] { editor.save("m.keras"); }) ==
        "KerasFileEditor: save expected a path that ends in '.weights.h5', got 'm.keras'.");
  editor.add_object("layers/model", {});
  editor.add_object("layers/model/dense", {{"0", ops::ones({1})}});
  CHECK(message_of([&] { editor.weights("dense"); }) ==
        path +
            " has several objects 'dense': layers/dense, layers/model/dense. Pass the whole path "
            "of one.");
  Hdf5Writer writer;
  std::string deep = "layers";
  for (int i = 0; i < 70; ++i) deep += "/a";
  writer.write(deep + "/vars/0", ops::ones({1}));
  write_file_atomically(path, writer.take_bytes());
  CHECK(message_of<DataLoss>([&] { KerasFileEditor again(path); }) ==
        path + ": its groups are more than 64 deep, or too many.");
}

}  // namespace
}  // namespace cornu
