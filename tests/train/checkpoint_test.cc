// SPDX-License-Identifier: Apache-2.0
// Checkpoints of custom loops, and the manager that keeps the latest of them.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/saving/run_state.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"

using namespace cornu;
using test::message_of;
using testing::contains;
using testing::names_in;
using testing::TempFolder;

namespace {

namespace fs = std::filesystem;

Variable counter(int64_t value = 0) {
  return Variable(Tensor::scalar(value), {.name = "step", .trainable = false});
}

Sequential small_model(int64_t units = 2) {
  return Sequential({Input({.shape = {3}}), layers::Dense({.units = units, .name = "dense"})},
                    {.name = "small"});
}

using Names = std::vector<std::string>;

// A layer of a user-defined class, which can't be copied.
class Scale : public Layer {
 public:
  void build(const Shape&) override { gain_ = add_weight({.shape = {}, .initializer = "ones"}); }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * gain_; }

 private:
  Variable gain_;
};

}  // namespace

TEST_CASE("every kind of object comes back") {
  const TempFolder folder;
  const auto dataset = data::Dataset::range(10).shuffle(10, {.seed = 3});
  set_random_seed(1);
  Sequential model = small_model();
  Scale scale;
  scale.build(Shape{});
  optimizers::Adam optimizer({.learning_rate = 0.5});
  optimizer.build(model.trainable_variables());
  metrics::Mean mean;
  Variable step = counter();
  random::SeedGenerator seeds(5);
  data::Iterator elements = dataset.iterator();
  std::shared_ptr<BatchSource> source = dataset.batch(2);
  std::unique_ptr<BatchIterator> batches = source->iterate();
  const Checkpoint checkpoint({{"model", model},
                               {"scale", scale},
                               {"optimizer", optimizer},
                               {"mean", mean},
                               {"step", step},
                               {"seeds", seeds},
                               {"elements", elements},
                               {"batches", batches}});
  const auto next_element = [&] {
    data::Element element;
    REQUIRE(elements.next(element));
    return element[0].item<int64_t>();
  };
  const auto next_batch = [&] {
    Batch batch;
    REQUIRE(batches->next(batch));
    return batch.x[0].to_vector<int64_t>();
  };
  // Changes all objects, and returns their observable state.
  const auto use = [&] {
    std::vector<Tensor> gradients;
    for (const Variable& variable : model.trainable_variables()) {
      gradients.push_back(ops::ones(variable.shape()));
    }
    optimizer.apply(gradients, model.trainable_variables());
    mean.update_state(random::uniform({3}));
    step.assign_add(1);
    scale.weights()[0].assign_add(1);
    return fmt::format("{} {} {} {} {} {} {} {}", model.get_weights()[0].to_vector<float>()[0],
                       optimizer.iterations(), mean.result().item<float>(), step.item<int64_t>(),
                       random::uniform({1}, {.seed = seeds}).item<float>(), next_element(),
                       fmt::join(next_batch(), ","), scale.weights()[0].item<float>());
  };
  use();
  use();
  const std::string path = checkpoint.save(folder / "run/ckpt");
  CHECK(path == (folder / "run/ckpt-1").string());
  const std::string expected = use() + use();
  // Iterators are restored by creating new ones.
  elements = dataset.iterator();
  batches = source->iterate();
  checkpoint.restore(path).assert_consumed();
  CHECK(use() + use() == expected);
  CHECK(checkpoint.save(folder / "run/ckpt") == (folder / "run/ckpt-2").string());
  CHECK(checkpoint.save_counter().item<int64_t>() == 2);
  CHECK(latest_checkpoint(folder / "run") == (folder / "run/ckpt-2").string());
  CHECK(!latest_checkpoint(folder / "nowhere"));
}

TEST_CASE("what was saved and what is here are compared") {
  const TempFolder folder;
  const std::string path = folder / "a";
  const Variable step = counter(3);
  Sequential model = small_model();
  CHECK(Checkpoint({{"step", step}, {"model", model}}).write(path) == path);
  const Variable other = counter();

  const Checkpoint fewer({{"step", other}});
  const CheckpointStatus status = fewer.restore(path);
  CHECK(other.item<int64_t>() == 3);
  CHECK_NOTHROW(status.assert_existing_objects_matched());
  CHECK(message_of<FailedPrecondition>([&] { status.assert_consumed(); }) ==
        "Checkpoint: '" + path +
            "' holds model, which no object here took. Add them, or don't assert this.");

  const Checkpoint more({{"step", step}, {"model", model}, {"more", other}});
  CHECK(message_of<FailedPrecondition>([&] {
          more.restore(path).assert_existing_objects_matched();
        }) == "Checkpoint: '" + path + "' has nothing for more.");
  CHECK(message_of<FailedPrecondition>([&] { more.restore({}).assert_consumed(); }) ==
        "Checkpoint: nothing was restored, there was no path.");

  step.assign(Tensor::scalar(int64_t{8}));
  Sequential wider = small_model(5);
  CHECK(message_of<FailedPrecondition>([&] {
          Checkpoint({{"step", step}, {"model", wider}}).restore(path);
        }) ==
        "Checkpoint: 'model' in '" + path +
            "' isn't what it is here: variable 0 was 'small/dense/kernel' of shape (3, 2) and "
            "dtype float32, here it is 'small/dense/kernel' of shape (3, 5) and dtype float32. "
            "Make it as it was, and before it is restored, its variables: by build(), or a "
            "first call.");
  Sequential unbuilt({layers::Dense({.units = 2})});
  CHECK(contains(
      message_of<FailedPrecondition>([&] {
        Checkpoint({{"step", step}, {"model", unbuilt}}).restore(path);
      }),
      "it had 2 variables, here are 0; variable 0, 'small/dense/kernel' of shape (3, 2) and "
      "dtype float32, isn't here. Make it as it was, and before it is restored, its "
      "variables: by build(), or a first call."));
  CHECK(step.item<int64_t>() == 8);  // nothing was changed

  CHECK_THROWS_AS(more.restore(folder / "none"), NotFound);
  testing::write_file(path, testing::read_file(path).substr(0, 100));
  CHECK(contains(message_of<DataLoss>([&] { more.restore(path); }), "it is cut off."));
}

TEST_CASE("a checkpoint of another version is restored, with a warning") {
  const TempFolder folder;
  const std::string path = folder / "a";
  const Checkpoint checkpoint({{"step", counter(3)}});
  checkpoint.write(path);
  const auto log_of_restore = [&] {
    const test::Log log;
    checkpoint.restore(path).assert_consumed();
    return log.text();
  };
  CHECK(log_of_restore().empty());
  RunState saved = read_run_state(path);
  saved.info.set("version", "0.0.9");
  write_run_state(path, saved);
  CHECK(contains(log_of_restore(), "The saved run computed with Cornu 0.0.9, this one does with "));
}

TEST_CASE("names that can't be") {
  const Variable step = counter();
  CHECK(message_of([&] {
          Checkpoint({{"a/b", step}});
        }) == "Checkpoint: expected a name without '/', got 'a/b'.");
  CHECK(message_of([&] {
          Checkpoint({{"a", step}, {"a", step}});
        }) == "Checkpoint: the name 'a' is taken.");
  CHECK(message_of([&] {
          Checkpoint({{"save_counter", step}});
        }) ==
        "Checkpoint: the name 'save_counter' is taken. It is the checkpoint's own. Choose "
        "another.");
}

TEST_CASE("a manager keeps the newest") {
  const TempFolder scratch;
  const std::string folder = scratch / "run";
  const Variable step = counter();
  const Checkpoint checkpoint({{"step", step}});
  CheckpointManager manager(checkpoint, {.directory = folder, .max_to_keep = 2});
  CHECK(manager.checkpoints().empty());
  CHECK(!manager.latest_checkpoint());
  CHECK(!manager.restore_or_initialize());
  for (int i = 1; i <= 4; ++i) {
    step.assign_add(10);
    CHECK(manager.save() == folder + "/ckpt-" + std::to_string(i));
  }
  CHECK(names_in(folder) == Names{"checkpoint", "ckpt-3", "ckpt-4"});
  CHECK(manager.checkpoints() == Names{folder + "/ckpt-3", folder + "/ckpt-4"});
  CHECK(latest_checkpoint(folder) == folder + "/ckpt-4");

  // Another program continues with them.
  const Variable again = counter();
  CheckpointManager later(Checkpoint({{"step", again}}), {.directory = folder, .max_to_keep = 2});
  CHECK(later.restore_or_initialize() == folder + "/ckpt-4");
  CHECK(again.item<int64_t>() == 40);
  CHECK(later.save() == folder + "/ckpt-5");
  CHECK(later.save(77) == folder + "/ckpt-77");
  CHECK(names_in(folder) == Names{"checkpoint", "ckpt-5", "ckpt-77"});
  CHECK(later.directory() == folder);
}

TEST_CASE("a manager keeps one every n hours for ever") {
  const TempFolder scratch;
  const std::string folder = scratch / "run";
  double hours = 100;
  const auto clock = [&] { return hours * 3600; };
  const CheckpointManagerOptions options{.directory = folder,
                                         .max_to_keep = 1,
                                         .keep_checkpoint_every_n_hours = 2.0,
                                         .checkpoint_name = "at",
                                         .clock = clock};
  const Checkpoint checkpoint({{"step", counter()}});
  CheckpointManager manager(checkpoint, options);
  for (hours = 101; hours <= 104; ++hours) manager.save();
  CHECK(names_in(folder) == Names{"at-2", "at-4", "checkpoint"});
  CheckpointManager again(checkpoint, options);  // it knows what the first manager kept last
  for (hours = 105; hours <= 107; ++hours) again.save();
  CHECK(names_in(folder) == Names{"at-2", "at-4", "at-6", "at-7", "checkpoint"});
  CHECK(again.checkpoints() == Names{folder + "/at-7"});
}

TEST_CASE("a manager saves once an interval") {
  const TempFolder scratch;
  const Variable step = counter();
  CheckpointManager manager(
      Checkpoint({{"step", step}}),
      {.directory = scratch / "run", .step_counter = step, .checkpoint_interval = 3});
  Names saved;
  for (int i = 0; i < 7; ++i, step.assign_add(1)) {
    if (manager.save()) saved.push_back(std::to_string(i));
  }
  CHECK(saved == Names{"0", "3", "6"});
  CHECK(manager.save({}, false));
}

TEST_CASE("a damaged checkpoint is passed over; that all are is an error") {
  const TempFolder scratch;
  const std::string folder = scratch / "run";
  const Variable step = counter();
  const Checkpoint checkpoint({{"step", step}});
  int initialized = 0;
  CheckpointManager manager(checkpoint, {.directory = folder, .init_fn = [&] { ++initialized; }});
  CHECK(!manager.restore_or_initialize());
  CHECK(initialized == 1);
  for (int i = 0; i < 3; ++i, step.assign_add(1)) manager.save();
  testing::write_file(folder + "/ckpt-3", "damaged");
  {
    const test::Log log;
    CHECK(manager.restore_or_initialize() == folder + "/ckpt-2");
    CHECK(contains(log.text(), "Checkpoint " + folder +
                                   "/ckpt-3: it is cut off. The checkpoint before it is used, '" +
                                   folder + "/ckpt-2'."));
    CHECK(step.item<int64_t>() == 1);
  }
  CHECK(manager.save() == folder + "/ckpt-3");  // replaces the damaged checkpoint
  fs::remove(folder + "/ckpt-3");
  for (const char* name : {"/ckpt-1", "/ckpt-2"}) testing::write_file(folder + name, "");
  CHECK(contains(message_of<DataLoss>([&] { manager.restore_or_initialize(); }),
                 "There is no complete checkpoint before it, either. Delete the directory '" +
                     folder + "' to start over."));
  CHECK(initialized == 1);
}

TEST_CASE("checkpoints are found where their list is lost") {
  const TempFolder scratch;
  const std::string folder = scratch / "run";
  const Variable step = counter();
  const Checkpoint checkpoint({{"step", step}});
  CheckpointManager manager(checkpoint, {.directory = folder});
  for (int i = 0; i < 11; ++i, step.assign_add(1)) manager.save();
  testing::write_file(folder + "/checkpoint", "{\"model_checkpoint_path\": \"ck");
  const test::Log log;
  CheckpointManager later(checkpoint, {.directory = folder});
  CHECK(later.restore_or_initialize() == folder + "/ckpt-11");
  CHECK(
      contains(log.text(), "The list of checkpoints '" + folder + "/checkpoint' can't be used: "));
  CHECK(contains(log.text(), "The newest of the 11 files there is taken to be 'ckpt-11'."));
  fs::remove(folder + "/checkpoint");
  CHECK(latest_checkpoint(folder) == folder + "/ckpt-11");
}

TEST_CASE("a manager's options are checked") {
  const Checkpoint checkpoint({{"step", counter()}});
  const auto error_of = [&](const CheckpointManagerOptions& options) {
    return message_of([&] { CheckpointManager(checkpoint, options); });
  };
  CHECK(error_of({}) == "CheckpointManager: expected a directory for the checkpoints, got none.");
  CHECK(error_of({.directory = "x", .max_to_keep = 0}) ==
        "CheckpointManager: expected max_to_keep >= 1, or none, got 0.");
  CHECK(error_of({.directory = "x", .checkpoint_name = "a/b"}) ==
        "CheckpointManager: expected a checkpoint_name of at least one character and without '/', "
        "got 'a/b'.");
  CHECK(error_of({.directory = "x", .checkpoint_interval = 2}) ==
        "CheckpointManager: a checkpoint_interval needs a step_counter, the variable that counts "
        "steps.");
  const TempFolder scratch;
  testing::write_file(scratch / "file", "");
  CHECK(contains(message_of<FailedPrecondition>([&] { checkpoint.write(scratch / "file/ckpt"); }),
                 "isn't a directory, and none can be created there"));
  const std::string long_name(300, 'x');
  CHECK(contains(
      message_of<FailedPrecondition>([&] { checkpoint.write(scratch / (long_name + "/ckpt")); }),
      "isn't a directory, and none can be created there: File name too long"));
}
