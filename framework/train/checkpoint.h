// SPDX-License-Identifier: Apache-2.0
// Checkpoints of custom training loops, by tf.train's names and rules. (fit keeps its state
// by itself: callbacks::BackupAndRestore.)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/layer.h"

namespace cornu {

class Model;
class Sequential;

// Something whose state a checkpoint holds, made implicitly of: a model, a layer, an optimizer, a
// metric (anything that has variables()), a Variable, a random::SeedGenerator; or anything with
// `Json save() const` and `void restore(const Json&)`, as iterators over data have, or a pointer to
// that. Handles are copied; the others are referred to, and must live as long as the checkpoint:
// what stands in that place when it is saved is what is saved.
class CheckpointItem {
 public:
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, CheckpointItem>)
      CheckpointItem(T&& thing);  // NOLINT: implicit on purpose

 private:
  friend class Checkpoint;
  template <class T>
  static constexpr bool kHasPosition = requires(T& thing) {
    { std::as_const(thing).save() } -> std::convertible_to<Json>;
    thing.restore(Json());
  };
  std::function<std::vector<Variable>()> variables_;  // or these two
  std::function<Json()> save_;
  std::function<void(const Json&)> restore_;
};

struct NamedCheckpointItem {
  std::string name;  // differs from others; no '/'
  CheckpointItem item;
};

// What a restore has done.
class CheckpointStatus {
 public:
  // FailedPrecondition, naming them, unless all that was saved has been restored, to all objects.
  const CheckpointStatus& assert_consumed() const;
  // FailedPrecondition, naming them, unless all objects of the checkpoint have been restored.
  const CheckpointStatus& assert_existing_objects_matched() const;

 private:
  friend class Checkpoint;
  std::string path_;                  // "": there was none
  std::vector<std::string> missing_;  // objects that weren't saved
  std::vector<std::string> unused_;   // saved ones that aren't among the objects
};

// Named objects, saved together in one file, with where this thread's sequence of seeds stands: a
// loop that resumes from there computes the same bits. A cheap handle; used by one thread at a
// time.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step},
//                          {"iterator", iterator}});
//   checkpoint.restore(latest_checkpoint("run"));  // where there is one
//   …
//   checkpoint.save("run/ckpt");  // run/ckpt-1, then run/ckpt-2, …
//
// Files are written whole or not at all (write_file_atomically, see also for the errors), with a
// checksum, by every worker that calls save() or write(). Reference: tf.train.Checkpoint.
class Checkpoint {
 public:
  // InvalidArgument for names that are empty, taken twice or have a '/', and for "save_counter".
  explicit Checkpoint(std::vector<NamedCheckpointItem> items);

  // Writes `prefix`-<number>, numbers counting from 1, and returns that path. Makes the folder.
  std::string save(const std::string& prefix) const;
  // Writes `path` itself, and returns it.
  std::string write(const std::string& path) const;

  // Gives the objects what the file at `path` holds; without a path it does nothing. Objects must
  // have their variables: build models and optimizers first. Before anything is changed:
  // NotFound without such a file, DataLoss for a damaged one (as read_run_state),
  // FailedPrecondition where an object differs from what was saved, saying how.
  CheckpointStatus restore(const std::optional<std::string>& path) const;

  // How many times save() and a manager have saved; restored with the rest. An int64 scalar.
  const Variable& save_counter() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class T>
requires(!std::is_same_v<std::remove_cvref_t<T>, CheckpointItem>)
    CheckpointItem::CheckpointItem(T&& thing) {
  using Thing = std::remove_reference_t<T>;
  using Plain = std::remove_cv_t<Thing>;
  if constexpr (std::is_same_v<Plain, Variable>) {
    variables_ = [thing] { return std::vector<Variable>{thing}; };
  } else if constexpr (internal::IsSeedGenerator<Plain>) {
    variables_ = [state = thing.state()] { return std::vector<Variable>{state}; };
  } else if constexpr (requires { std::vector<Variable>(thing.variables()); }) {
    // An object of a user's class is referred to: its copies would be refused.
    constexpr bool kIsObject = std::is_base_of_v<Model, Plain> && !std::is_same_v<Plain, Model> &&
                               !std::is_same_v<Plain, Sequential>;
    if constexpr (std::is_copy_constructible_v<Plain> && !kIsObject) {
      variables_ = [thing] { return thing.variables(); };
    } else {
      static_assert(std::is_lvalue_reference_v<T>,
                    "this model or layer is a temporary: give it a name, or make_layer<T>(…)");
      variables_ = [&thing] { return thing.variables(); };
    }
  } else if constexpr (kHasPosition<Thing>) {
    static_assert(std::is_lvalue_reference_v<T>, "this object is a temporary: give it a name");
    save_ = [&thing] { return Json(thing.save()); };
    restore_ = [&thing](const Json& saved) { thing.restore(saved); };
  } else if constexpr (requires { requires kHasPosition<decltype(*thing)>; }) {
    static_assert(std::is_lvalue_reference_v<T>, "this pointer is a temporary: give it a name");
    save_ = [&thing] { return Json(thing->save()); };
    restore_ = [&thing](const Json& saved) { thing->restore(saved); };
  } else {
    static_assert(internal::kNever<T>,
                  "a checkpoint holds models, layers, optimizers, metrics, variables, seed "
                  "generators, and what has save() and restore(), as iterators over data");
  }
}

}  // namespace cornu
