// SPDX-License-Identifier: Apache-2.0
#include "framework/train/epoch_iterator.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/strategy/streams.h"
#include "framework/train/string_inputs.h"

namespace cornu {

std::optional<int64_t> EpochIterator::steps() const {
  if (steps_) return steps_;
  const auto cardinality = source_->cardinality();
  return cardinality == kInfiniteCardinality ? std::nullopt : cardinality;
}

bool EpochIterator::peek(Batch& batch) const {
  if (!source_->iterate()->next(batch)) return false;
  require_numbers_beside_x(batch);
  return true;
}

bool EpochIterator::is_unread() const { return iterator_ && passed_ == 0 && !exhausted_; }

void EpochIterator::open() {
  if (!iterator_) iterate();
}

void EpochIterator::begin_epoch() {
  done_ = 0;
  if (!iterator_ || ((!steps_ || exhausted_) && !is_unread())) iterate();
}

void EpochIterator::begin_anew() {
  if (!is_unread()) iterator_.reset();
  begin_epoch();
}

bool EpochIterator::next(Batch& batch) {
  if (interruption_) interruption_();
  if (exhausted_ || (steps_ && done_ >= *steps_)) return false;
  bool more = iterator_->next(batch);
  if (!more && done_ == 0 && passed_ > 0) {  // the last epoch used up the pass
    iterate();
    more = iterator_->next(batch);
  }
  exhausted_ = !more;
  done_ += more;
  passed_ += more;
  if (more && !ignores_labels_) require_numbers_beside_x(batch);
  if (!more && steps_ && done_ > 0) warn_of_end();
  return more;
}

void EpochIterator::check_finite(const char* method, const char* steps) const {
  check<InvalidArgument>(!steps_ || *steps_ >= 1,
                         "{}: expected {} >= 1, got {}. Omit it to go through all batches.", method,
                         steps, steps_.value_or(0));
  check<InvalidArgument>(steps_ || source_->cardinality() != kInfiniteCardinality,
                         "{}: the dataset never ends. Say how many batches make an epoch ({}), "
                         "or take(n) of them.",
                         method, steps);
}

Json EpochIterator::save() const {
  if (!iterator_) return nullptr;
  return Json::object({{"position", iterator_->save()},
                       {"steps", steps() ? Json(*steps()) : Json()},
                       {"exhausted", exhausted_},
                       {"done", done_},
                       {"passed", passed_}});
}

// Whether a saved position counts batches of the same size as this source's.
bool EpochIterator::has_batches_of(const Json& position) const {
  const Json* then = position.is_object() ? position.find("pipeline") : nullptr;
  const Json now = iterator_->save();
  const Json* here = now.is_object() ? now.find("pipeline") : nullptr;
  return !then || !here || *then == *here;
}

// Restores the counts from a position with another batch size. If epochs are passes, the iterator
// determines the position; with a step count, the epoch continues at the same fraction.
void EpochIterator::restore_counts(const Json& position) {
  const Json& then = position.at("steps");
  exhausted_ = position.at("exhausted").as_bool();
  passed_ = iterator_->save().at("consumed").as_int();
  done_ = passed_;
  if (!steps_) return;
  done_ = position.at("done").as_int();
  if (then.is_null() || then.as_int() < 1) return;
  done_ = std::min(*steps_, streams::saturating_product(done_, *steps_) / then.as_int());
}

bool EpochIterator::restore(const Json& position, BatchSize size) {
  iterator_.reset();
  if (position.is_null()) return false;
  const auto text = [](const Json& steps) { return steps.is_null() ? "unknown" : steps.dump(); };
  const Json here = steps() ? Json(*steps()) : Json();
  iterate();
  if (size == BatchSize::Any) {
    const bool is_same = has_batches_of(position.at("position"));
    iterator_->restore_examples(position.at("position"));
    if (!is_same) {
      restore_counts(position);
      return true;
    }
  } else {
    iterator_->restore(position.at("position"));
  }
  check<FailedPrecondition>(
      position.at("steps") == here,
      "fit: the saved run had {} batches per epoch, this program has {}. Restart the original "
      "program, or delete the saved state to start over.",
      text(position.at("steps")), text(here));
  exhausted_ = position.at("exhausted").as_bool();
  done_ = position.at("done").as_int();
  passed_ = position.at("passed").as_int();
  return false;
}

void EpochIterator::iterate() {
  iterator_ = source_->iterate();
  exhausted_ = false;
  passed_ = 0;
}

void EpochIterator::warn_of_end() const {
  logging::warn(
      fmt::format("The data ran out after {} of {} steps; the epoch ends here. Give the dataset as "
                  "many batches as steps_per_epoch and epochs ask for, with repeat() for example, "
                  "or omit the number of steps.",
                  done_, *steps_));
}

}  // namespace cornu
