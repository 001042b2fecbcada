// SPDX-License-Identifier: Apache-2.0
#include "framework/train/fit_run.h"

#include <algorithm>
#include <csignal>

#include "framework/core/logging.h"
#include "framework/strategy/agreed_bits.h"
#include "framework/train/array_source.h"
#include "framework/train/body.h"
#include "framework/train/model_in_training.h"
#include "framework/train/same_on_workers.h"
#include "framework/train/worker_parts.h"

namespace cornu {
namespace {

// Empty if the optimizer can't be serialized; a user-defined schedule needn't support it.
Json config_of(const Optimizer& optimizer) {
  try {
    return optimizer.impl().get_config();
  } catch (const Error&) {
    return Json::object();
  }
}

// The first ones, counted from 0.
Json validated_epochs(const FitOptions& options) {
  constexpr int64_t kMax = 1000;
  Json::Array epochs;
  if (options.validation_data.empty()) return epochs;
  for (int64_t epoch = 0; epoch < std::min(options.epochs, kMax); ++epoch) {
    if (options.validation_freq.includes(epoch)) epochs.emplace_back(epoch);
  }
  return epochs;
}

}  // namespace

std::string place_of(int64_t epoch, std::optional<int64_t> batch) {
  return batch ? fmt::format("after batch {} of epoch {}", *batch + 1, epoch + 1)
               : fmt::format("after epoch {}", epoch + 1);
}

bool keeps_state(const FitOptions& options) {
  return std::ranges::any_of(options.callbacks, [](const CallbackHandle& callback) {
    return callback->keeps_run_state();
  });
}

// Returns this worker's part of a source, and records facts that must be the same on all workers.
std::shared_ptr<BatchSource> Trainer::FitRun::shared(const char* which,
                                                     std::shared_ptr<BatchSource> source) {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() > 1 || keeps_state(options_)) {
    add_facts(data_facts_, which, source->facts());
  }
  return strategy.distribute(std::move(source));
}

Trainer::FitRun::FitRun(Trainer& trainer, Model& model, std::shared_ptr<BatchSource> source,
                        const FitOptions& options, JointCall& call)
    : trainer_(trainer),
      model_(model),
      options_(options),
      source_(shared("", with_class_weight(std::move(source), options.class_weight))),
      iterator_(source_, options.steps_per_epoch),
      validation_(
          options.validation_data.empty()
              ? nullptr
              : shared("validation ", options.validation_data.source(options.validation_batch_size,
                                                                     options.validation_steps))),
      validation_iterator_(validation_, options.validation_steps),
      callbacks_(std::in_place, options.callbacks, in_training(model),
                 CallbackParams{.verbose = options.verbose.resolve(),
                                .epochs = options.epochs,
                                .steps = iterator_.steps()}),
      epoch_(options.initial_epoch),
      call_(call) {
  iterator_.check_finite("fit", "steps_per_epoch");
  if (validation_) validation_iterator_.check_finite("fit", "validation_steps");
}

History Trainer::FitRun::run() {
  model_.stop_training = false;
  // Callbacks that keep the state, the first to be told, find out whether another run has its
  // place.
  callbacks_->on_train_begin();
  schedules_ = trainer_.optimizer(model_).impl().schedules();
  // Facts are recorded as a restarted program will see them.
  if (keeps_state(options_)) {
    signals_.emplace();
    optimizer_config_ = config_of(trainer_.optimizer(model_));
    facts_ = facts(false);
  }
  get_strategy().impl().agree(agreed::kOfFit, 0);  // discard flags of an earlier run
  const Json of_worker = get_strategy().impl().num_workers() > 1 ? facts(true) : Json::object();
  for (std::optional<PeerLost> lost;;) {
    if (lost) recover(*lost);
    try {
      if (lost && !call_.join()) return skip_run(callbacks_->callbacks(), call_);
      require_same_on_workers("fit", of_worker);
      agree_on_orders();
      const bool has_state = resume();
      if (lost && !has_state && !has_begun_) logging::info(kBeginsAnew);
      if (!has_state && !has_begun_) note_untouched();
      if (has_state || !has_begun_) {
        train();
        return std::move(history_);
      }
    } catch (const PeerLost& another) {
      lost = another;
      continue;
    } catch (const FailedPrecondition&) {  // possibly caused by a value lost with a worker
      const std::optional<PeerLost> another = get_strategy().impl().lost_worker();
      if (!another) throw;
      lost = another;
      continue;
    }
    throw *lost;  // the saved state is gone
  }
}

// Trains to the last epoch, from the run's current position.
void Trainer::FitRun::train() {
  for (; epoch_ < options_.epochs && (!stopped_ || resumed_); ++epoch_) {
    model_.reset_metrics();
    callbacks_->on_epoch_begin(epoch_);
    agree_on_learning_rate(trainer_.optimizer(model_));
    if (resumed_) {  // resuming within this epoch; its start changed the state
      restore(*resumed_);
    } else {
      iterator_.begin_epoch();
      if (validation_) validation_iterator_.open();  // the state has its position from now on
      if (untouched_) opened_ = places();
    }
    logs_ = train_epoch();
    callbacks_->set_steps(iterator_.done());
    evaluate(logs_);
    logs_ = callbacks_->on_epoch_end(epoch_, logs_);
    history_.add(epoch_, logs_);
    stopped_ = stops_after_epoch();
    offer_state({}, [this] { return logs_; });
  }
  end();
}

// If a signal arrives while callbacks are notified of the end, the state is still there, and all
// workers end. Callbacks that save (and remove) it are notified last, when signals are no longer
// handled.
void Trainer::FitRun::end() {
  // No worker may return to a state that the chief has removed.
  get_strategy().impl().exchange("the end of fit", "");
  std::optional<RunState> last;
  if (!history_.epoch.empty()) {
    if (signals_ && !is_further_) {
      epoch_ = history_.epoch.back();
      last = state({}, logs_);
    }
    trainer_.optimizer(model_).impl().finalize_variable_values();
  }
  callbacks_->on_train_end(false, logs_);
  if (signals_) {
    const auto signal = stop_signal(Known::Now);
    if (signal) keep_and_end(*signal, {}, last ? &*last : nullptr);
    signals_.reset();
  }
  if (!is_further_) callbacks_->on_train_end(true, logs_);
}

// Facts that should be the same in a program that resumes from the state; with `of_worker`, facts
// that all workers must share.
Json Trainer::FitRun::facts(bool of_worker) const {
  Json::Object weights;
  for (const auto& [label, weight] : options_.class_weight) {
    weights.emplace_back(std::to_string(label), weight);
  }
  Json facts = of_worker ? facts_of_schedule() : Json::object();
  facts.set("class_weight", Json::of_members(std::move(weights)));
  add_facts(facts, "", facts_of_model(model_, of_worker));
  add_facts(facts, "", data_facts_);
  return facts;
}

// The numbers of epochs and steps, and the callbacks that save the state.
Json Trainer::FitRun::facts_of_schedule() const {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json::Array keepers;
  for (const CallbackHandle& callback : callbacks_->callbacks()) {
    if (callback->keeps_run_state()) keepers.emplace_back(callback->class_name());
  }
  return Json::object(
      {{"number of epochs", options_.epochs},
       {"initial epoch", options_.initial_epoch},
       {"number of steps of an epoch", or_null(iterator_.steps())},
       {"number of validation steps", validation_ ? or_null(validation_iterator_.steps()) : Json()},
       {"list of epochs with a validation", validated_epochs(options_)},
       {"list of callbacks that keep the state", std::move(keepers)}});
}

// If nothing has happened except that a pass was started, that is undone.
void Trainer::FitRun::agree_on_orders() {
  std::vector<std::vector<uint64_t>> orders;
  for (const auto& source : {source_, validation_}) {
    if (!source) continue;
    const size_t place = orders.size();
    if (!has_begun_ && place < orders_.size()) source->set_order_keys(orders_[place]);
    orders.push_back(source->order_keys());
    distribute::agree_on_order(get_strategy().impl(), *source);
  }
  if (orders_.empty()) orders_ = std::move(orders);
}

void Trainer::FitRun::recover(const PeerLost& lost) {
  if (!signals_) throw lost;  // no callback saves a state to return to
  signals_.reset();           // a signal while waiting ends the process: there is nothing to save
  if (noticed_) std::raise(noticed_->number);  // the others don't know of it yet
  get_strategy().impl().rejoin(lost);
  signals_.emplace();
  if (!has_begun_) undo_touches();
  bits_ = 0;
  kept_ = false;
  unkept_.clear();
  noticed_.reset();
  model_.stop_training = false;
  history_ = {};
  logs_ = {};
  epoch_ = options_.initial_epoch;
  stopped_ = is_further_ = false;
  resumed_.reset();
}

std::optional<StopSignal> Trainer::FitRun::stop_signal(Known when) {
  if (!signals_) return {};
  StrategyImpl& strategy = get_strategy().impl();
  const std::optional<StopSignal> own = signals_->received();
  if (strategy.num_workers() == 1) return own;
  bits_ &= ~agreed::kKeep;
  if (own)
    bits_ |= !own->ends               ? agreed::kKeep
             : own->number == SIGTERM ? agreed::kTerminate
                                      : agreed::kInterrupt;
  if (own && own->ends) noticed_ = own;
  uint32_t agreed = strategy.agree(agreed::kOfFit, bits_);
  if (when == Known::Now) {
    for (const std::string& theirs : strategy.exchange("signals", std::to_string(bits_))) {
      agreed |= static_cast<uint32_t>(std::stoul(theirs));
    }
  }
  if ((agreed & (agreed::kInterrupt | agreed::kTerminate)) == 0) {
    return agreed & agreed::kKeep ? std::optional(StopSignal{.number = SIGTERM, .ends = false})
                                  : std::nullopt;
  }
  // As if the signal had been sent to this process; if this process ignores it, the others still
  // don't.
  const int number = agreed & agreed::kTerminate ? SIGTERM : SIGINT;
  if (!noticed_ || noticed_->number != number) {
    std::raise(number);
    static_cast<void>(signals_->received());
  }
  noticed_ = StopSignal{.number = number, .ends = true};
  return noticed_;
}

bool Trainer::FitRun::stops_here() {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return model_.stop_training;
  if (model_.stop_training) bits_ |= agreed::kStopTraining;
  if ((strategy.agree(agreed::kOfFit, bits_) & agreed::kStopTraining) == 0) return false;
  model_.stop_training = true;
  return true;
}

// If a worker has written a state, or can't write one, all workers learn of it after the same step.
void Trainer::FitRun::tell_of_kept_states() {
  StrategyImpl& strategy = get_strategy().impl();
  if (!signals_ || strategy.num_workers() == 1) return;
  for (const CallbackHandle& callback : callbacks_->callbacks()) {
    if (const std::string why = callback->unkept_state(); !why.empty()) unkept_ = why;
    if (beginning_ && callback->has_kept_state()) bits_ |= agreed::kKept;
  }
  if (!unkept_.empty()) bits_ |= agreed::kUnkept;
  const uint32_t agreed = strategy.agree(agreed::kOfFit, bits_);
  if (agreed & agreed::kKept) beginning_.reset();
  if ((agreed & agreed::kUnkept) == 0) return;
  const std::vector<std::string> all = strategy.exchange("why states aren't kept", unkept_);
  unkept_.clear();
  bits_ &= ~agreed::kUnkept;
  for (size_t worker = 0; worker < all.size(); ++worker) {
    if (all[worker].empty() || static_cast<int64_t>(worker) == strategy.worker()) continue;
    logging::warn(
        fmt::format("fit: worker {} can't write the state of the run: {} Training continues; if a "
                    "worker is lost, it resumes from the previous state.",
                    worker, all[worker]));
  }
}

bool Trainer::FitRun::stops_after_epoch() {
  const auto by_worker =
      get_strategy().impl().exchange("whether to stop", model_.stop_training ? "stops" : "");
  model_.stop_training =
      !std::ranges::all_of(by_worker, [](const std::string& said) { return said.empty(); });
  return model_.stop_training;
}

Logs Trainer::FitRun::train_epoch() {
  const bool reads = callbacks_->wants_batches();
  // Callbacks count as if every execution were complete (as in Keras).
  const int64_t further = trainer_.options_.steps_per_execution - 1;
  Tensors figures;
  Batch batch;
  const BegunSteps begun;
  while (!stopped_ && iterator_.next(batch)) {
    if (untouched_) note_beginning(batch);
    resumed_.reset();
    const int64_t first = iterator_.done() - 1;
    if (reads) callbacks_->on_train_batch_begin(first);
    figures = trainer_.run_steps(model_, Kind::Train, iterator_, batch);
    if (reads) callbacks_->on_train_batch_end(first + further, read_logs(figures));
    tell_of_kept_states();
    stopped_ = stops_here();  // after a batch, even if set earlier
    if (stopped_) break;
    offer_state(iterator_.done() - 1, [&figures] { return read_logs(figures); });
  }
  figures = trainer_.finish_steps(model_, figures);
  if (resumed_) {  // the state was saved after the epoch's last batch
    const Logs logs = logs_from_json(resumed_->info.at("logs"));
    resumed_.reset();
    return logs;
  }
  check<InvalidArgument>(!figures.empty(),
                         "{}: fit got no batches: the dataset is empty. Check its source, and "
                         "that repeat() or steps_per_epoch leave something for every epoch.",
                         title_of(model_));
  return read_logs(figures);
}

void Trainer::FitRun::evaluate(Logs& logs) {
  if (!validation_ || !options_.validation_freq.includes(epoch_)) return;
  if (signals_) {  // an interrupted evaluation is repeated
    const int64_t last = iterator_.done() - 1;
    validation_iterator_.set_interruption([this, last, before = state(last, logs)] {
      if (const auto signal = stop_signal()) keep_and_end(*signal, last, &before);
    });
  }
  validation_iterator_.begin_anew();
  for (const auto& [name, value] :
       trainer_.test_loop(model_, validation_iterator_, *callbacks_,
                          [this](const Batch& first) { note_untested(first); })) {
    logs["val_" + name] = value;
  }
  validation_iterator_.set_interruption({});
}

void Trainer::FitRun::offer_state(std::optional<int64_t> batch, const std::function<Logs()>& logs) {
  std::optional<RunState> now;
  const auto made = [&]() -> const RunState& {
    if (!now) now = state(batch, logs());
    return *now;
  };
  // Saved even if no callback wants a state yet, so that workers can return to the first step.
  const bool first = signals_ && !kept_ && get_strategy().impl().num_workers() > 1;
  for (const CallbackHandle& callback : callbacks_->callbacks()) {
    const bool wants = callback->wants_run_state(batch);
    if (!wants && !(first && callback->keeps_run_state())) continue;
    callback->keep_run_state(made());
    kept_ = true;
  }
  if (const auto signal = stop_signal()) keep_and_end(*signal, batch, &made());
}

void Trainer::FitRun::keep_and_end(const StopSignal& signal, std::optional<int64_t> batch,
                                   const RunState* state) {
  for (const CallbackHandle& callback : callbacks_->callbacks()) {
    if (state && callback->keeps_run_state()) callback->keep_run_state(*state);
  }
  if (!signal.ends) return;
  const auto [said, is_kept] = settle_state();
  const std::string text =
      fmt::format("fit: {} ends it {}. {}", signal.name(), place_of(epoch_, batch), said);
  // An exception caused by SIGTERM can't be caught.
  if (signal.number == SIGTERM) is_kept ? logging::info(text) : logging::warn(text);
  throw Interrupted(signal.number, text);
}

std::pair<std::string, bool> Trainer::FitRun::settle_state() {
  const std::vector<CallbackHandle> callbacks = callbacks_->callbacks();
  callbacks_.reset();  // they leave when they have written
  StrategyImpl& strategy = get_strategy().impl();
  bool is_kept = false;
  std::string why;
  for (const CallbackHandle& callback : callbacks) {
    if (!callback->keeps_run_state()) continue;
    const std::string error = callback->unkept_state();
    // On other workers than the chief, most have nothing to write.
    is_kept |= error.empty() && (strategy.is_chief() || callback->has_kept_state());
    if (why.empty()) why = error;
  }
  try {  // don't leave before the others have saved it
    const Json own = Json::object({{"kept", is_kept}, {"why", why}});
    for (const std::string& text : strategy.exchange("that the state is kept", own.dump())) {
      const Json theirs = Json::parse(text);
      is_kept |= theirs.at("kept").as_bool();
      if (why.empty()) why = theirs.at("why").as_string();
    }
    strategy.exchange("that all know of the state", "");
  } catch (const Unavailable& error) {
    logging::warn(error.what());
  } catch (const Aborted& error) {
    logging::warn(error.what());
  }
  if (is_kept) {
    return {"Its state was saved: restart the same program to resume from there.", true};
  }
  return {fmt::format("{} Restarted, the same program resumes from the last state that was "
                      "written, or starts over if there is none.",
                      why.empty() ? "Other workers can't know whether its state was saved."
                                  : "Its state can't be written: " + why),
          false};
}

}  // namespace cornu
