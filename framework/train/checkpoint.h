// SPDX-License-Identifier: Apache-2.0
// Checkpoints for custom training loops, following the names and rules of tf.train. (fit saves its
// state itself: callbacks::BackupAndRestore.)
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

// An object whose state is checkpointed. Converts implicitly from a model, layer, optimizer or
// metric (anything with variables()), a Variable, a random::SeedGenerator, anything with
// `Json save() const` and `void restore(const Json&)`, such as dataset iterators, or a pointer to
// the latter. Handles are copied; other objects are held by reference and must outlive the
// checkpoint: saving reads whatever object is in that place at the time.
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
  std::function<std::vector<Variable>()> variables_;  // either variables_, or save_ and restore_
  std::function<Json()> save_;
  std::function<void(const Json&)> restore_;
};

struct NamedCheckpointItem {
  std::string name;  // unique; must not contain '/'
  CheckpointItem item;
};

// The result of a restore.
class CheckpointStatus {
 public:
  // Throws FailedPrecondition unless all saved state was restored and every object was restored,
  // naming those that weren't.
  const CheckpointStatus& assert_consumed() const;
  // Throws FailedPrecondition unless every object in the checkpoint was restored, naming those that
  // weren't.
  const CheckpointStatus& assert_existing_objects_matched() const;

 private:
  friend class Checkpoint;
  std::string path_;                  // "": no checkpoint was given
  std::vector<std::string> missing_;  // objects that weren't saved
  std::vector<std::string> unused_;   // saved objects that the checkpoint doesn't have
};

// A set of named objects saved together in one file, along with the state of this thread's seed
// sequence, so that a loop that resumes from it computes bitwise identical results. A cheap handle;
// must be used by one thread at a time.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step},
//                          {"iterator", iterator}});
//   checkpoint.restore(latest_checkpoint("run"));  // if there is one
//   …
//   checkpoint.save("run/ckpt");  // run/ckpt-1, then run/ckpt-2, …
//
// Files are written atomically (for errors, see write_file_atomically), with a checksum, by every
// worker that calls save() or write(). Reference: tf.train.Checkpoint.
class Checkpoint {
 public:
  // Throws InvalidArgument for names that are empty, duplicated, contain '/', or are
  // "save_counter".
  explicit Checkpoint(std::vector<NamedCheckpointItem> items);

  // Writes `prefix`-<number>, with numbers counting from 1, and returns that path. Creates the
  // directory if needed.
  std::string save(const std::string& prefix) const;
  // Writes to `path` itself and returns it.
  std::string write(const std::string& path) const;

  // Restores the objects from the file at `path`; a no-op without a path. Objects must already have
  // their variables, so build models and optimizers first. Errors are thrown before anything is
  // changed: NotFound if the file doesn't exist, DataLoss if it is damaged (as read_run_state), and
  // FailedPrecondition, with details, if an object doesn't match what was saved.
  CheckpointStatus restore(const std::optional<std::string>& path) const;

  // Number of saves by save() and by managers, an int64 scalar that is restored along with the
  // rest.
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
    // Objects of user-defined classes are held by reference, since copying them is an error.
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
