// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/membership.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "distribute/cluster/credentials.h"
#include "distribute/cluster/protocol.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"

namespace cornu::distribute {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kHeartbeat(500);
constexpr std::chrono::milliseconds kAttempts(100);  // between attempts to reach the coordinator
constexpr std::chrono::seconds kHear(2);  // time for the others to hear that a worker has stopped

// Shortens an error text for the other workers: a message has a size limit.
std::string shortened(std::string text) {
  constexpr size_t kMax = size_t{32} << 10;  // bytes, plus up to three to complete a character
  size_t end = std::min(text.size(), kMax);
  while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
  text.resize(end);
  return text;
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Membership::Membership(MembershipOptions options)
    : options_(std::move(options)),
      gate_(std::make_shared<Gate>(this)),
      addresses_(options_.addresses),
      heard_(Clock::now()),
      thread_([this] { watch(); }) {}

Membership::~Membership() {
  {
    const std::lock_guard lock(gate_->mutex);
    gate_->open = nullptr;
  }
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    session = std::move(session_);
  }
  changed_.notify_all();
  thread_.join();
  if (session) session->close("the task ends");
}

// ---- the heartbeat thread ----

void Membership::watch() {
  std::unique_lock lock(mutex_);
  auto last = Clock::now();
  while (!stops_) {
    changed_.wait_for(lock, kHeartbeat);
    const auto now = Clock::now();
    if (now - last > options_.lost_after && !refused_) {
      refused_ = std::make_exception_ptr(Aborted(
          fmt::format("Cluster: {} was suspended for {:g} s, and the other workers have continued "
                      "without it. Restart it; it resumes from their saved state.",
                      own_name(), std::chrono::duration<double>(now - last).count())));
      end_group(refused_);
    }
    last = now;
    if (!session_) continue;
    if (admitted_) session_->send(Json::object({{"kind", "heartbeat"}}));
    if (now - heard_ > options_.lost_after) {
      const auto session = std::exchange(session_, nullptr);
      const uint64_t number = sessions_;
      lock.unlock();
      on_session_end(number, fmt::format("it has given no sign of life for {:g} s",
                                         seconds(options_.lost_after)));
      session->close("no sign of life came for too long");
      lock.lock();
    }
  }
}

// ---- incoming messages ----

void Membership::on_message(uint64_t session, const Json& message) {
  const std::lock_guard lock(mutex_);
  if (session != sessions_) return;
  heard_ = Clock::now();
  const std::string& kind = message.at("kind").as_string();
  const auto why = [&] { return message.at("why").as_string(); };
  check<DataLoss>(admitted_ || kind == "challenge" || kind == "refused",
                  "Cluster: expected a challenge first, got {}.", message.excerpt());
  if (kind == "challenge") {
    on_challenge(message);
  } else if (kind == "members") {
    on_members(message);
  } else if (kind == "start") {
    if (message.at("generation").as_int() == generation_) {
      started_ = message.at("shares_memory").as_bool();
    }
  } else if (kind == "lost") {
    const int64_t rank = message.at("rank").as_int();
    check<DataLoss>(rank >= 0 && rank < static_cast<int64_t>(options_.addresses.size()),
                    "Cluster: expected a rank, got {}.", rank);
    logging::warn(fmt::format("Cluster: {} is lost: {}.", message.at("name").as_string(), why()));
    end_group(std::make_exception_ptr(
        PeerLost(static_cast<int>(rank), addresses_[static_cast<size_t>(rank)], step_)));
  } else if (kind == "stopped") {
    end_group(std::make_exception_ptr(Aborted(
        fmt::format("Cluster: {} has stopped: {}", message.at("name").as_string(), why()))));
    if (session_) session_->send(heard_message());
  } else if (kind == "differs") {
    refused_ = std::make_exception_ptr(FailedPrecondition("Cluster: " + why()));
    end_group(refused_);
  } else if (kind == "refused") {
    refused_ = std::make_exception_ptr(FailedPrecondition(
        fmt::format("Cluster: worker 0 ({}) turns this task away: {}", coordinator(), why())));
  } else if (kind == "busy") {  // the task before it may have died silently
    const auto now = Clock::now();
    if (!busy_since_) busy_since_ = now;
    if (now - *busy_since_ > 2 * options_.lost_after) {
      refused_ = std::make_exception_ptr(FailedPrecondition("Cluster: " + why()));
    }
  } else if (kind == "waiting") {
    missing_ = message.at("for").as_strings();
    if (!join_.is_null()) {
      logging::info("Cluster: waiting for " + cornu::join(missing_, ", ") + ".");
    }
  } else if (kind == "left") {
    on_left(message);
  } else if (kind == "failed") {
    on_failed(message);
  } else if (kind == "heard") {
    all_heard_ = true;
  } else if (kind == "bye") {
    bye_ = true;
  } else if (kind == "over") {
    over_ = true;
  }
  changed_.notify_all();
}

void Membership::on_challenge(const Json& message) {
  const std::string nonces = nonce_ + message.at("nonce").as_string();
  if (!same_signature(message.at("proof").as_string(),
                      signature(options_.token, "coordinator " + nonces))) {
    refused_ = std::make_exception_ptr(FailedPrecondition(fmt::format(
        "Cluster: worker 0 ({}) has another CORNU_JOB_TOKEN. Give all tasks of the job the same "
        "one.",
        coordinator())));
    return;
  }
  admitted_ = true;
  if (join_.is_null()) return;
  join_.set("proof", signature(options_.token, "worker " + nonces));
  session_->send(join_);
}

void Membership::on_members(const Json& message) {
  GroupOffer offer;
  offer.generation = message.at("generation").as_int();
  offer.key = signature(options_.token, "group " + message.at("nonce").as_string());
  const Json::Array& members = message.at("members").as_array();
  check<DataLoss>(members.size() == addresses_.size(), "Cluster: expected {} members, got {}.",
                  addresses_.size(), members.size());
  for (const Json& member : members) {
    offer.inboxes.push_back(member.at("inbox"));
    const Json* address = member.find("address");
    offer.addresses.push_back(address ? address->as_string()
                                      : addresses_[offer.inboxes.size() - 1]);
  }
  check<DataLoss>(offer.generation > generation_,
                  "Cluster: expected a generation after {}, got {}.", generation_,
                  offer.generation);
  generation_ = offer.generation;
  addresses_ = offer.addresses;
  offer_ = std::move(offer);
  in_group_ = true;
  busy_since_.reset();
  ended_ = nullptr;
  has_stopped_ = false;
  endings_.clear();
  started_.reset();
}

void Membership::on_left(const Json& message) {
  if (!in_group_ || message.at("generation").as_int() != generation_) return;
  add_ending(
      {.why = std::make_exception_ptr(FailedPrecondition(fmt::format(
           "Cluster: {} has ended its program, while this one still computes with it. All workers "
           "must take as many steps, and make the same calls.",
           message.at("name").as_string()))),
       .after = message.at("calls").as_int()});
}

void Membership::on_failed(const Json& message) {
  if (!in_group_ || message.at("generation").as_int() != generation_) return;
  add_ending({.why = error_of(static_cast<StatusCode>(message.at("code").as_int()),
                              fmt::format("Cluster: {} {}", message.at("name").as_string(),
                                          message.at("why").as_string())),
              .after = message.at("calls").as_int(),
              .failure = message.at("failure").as_int()});
}

void Membership::add_ending(Ending ending) {
  endings_.push_back(std::move(ending));
  if (tell_) tell_(endings_.back());
}

void Membership::on_session_end(uint64_t session, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (session != sessions_) return;
  ended_session_ = session;
  why_ended_ = why;
  session_ = nullptr;
  admitted_ = false;
  offer_.reset();
  if (in_group_) {
    if (!leaves_) {
      logging::warn(fmt::format("Cluster: {} is lost: {}.", worker_name(0, coordinator()), why));
    }
    end_group(std::make_exception_ptr(PeerLost(0, coordinator(), step_)));
  }
  changed_.notify_all();
}

void Membership::end_group(std::exception_ptr why) {
  if (in_group_) ended_ = why;
  in_group_ = false;
  started_.reset();
  const auto tell = std::exchange(tell_, {});
  if (tell && ended_) tell({.why = ended_});
  changed_.notify_all();
}

// ---- called by the program ----

void Membership::connect(std::unique_lock<std::mutex>& lock) {
  const uint64_t number = ++sessions_;
  nonce_ = random_hex();
  admitted_ = false;
  heard_ = Clock::now();
  const std::string nonce = nonce_;
  const std::string address = coordinator();
  lock.unlock();
  // Session callbacks run on the session's own threads, possibly after this object is gone.
  const auto pass = [gate = gate_](const auto& what) {
    const std::lock_guard inside(gate->mutex);
    if (gate->open) what(*gate->open);
  };
  auto session = options_.connect(
      address, {.on_message =
                    [pass, number](const Json& message) {
                      pass([&](Membership& self) { self.on_message(number, message); });
                    },
                .on_end =
                    [pass, number](const std::string& why) {
                      pass([&](Membership& self) { self.on_session_end(number, why); });
                    }});
  lock.lock();
  if (number != sessions_ || number == ended_session_) return;
  session_ = session;  // set before anything can be answered
  session_->send(Json::object({{"kind", "hello"}, {"protocol", kProtocol}, {"nonce", nonce}}));
}

std::string Membership::own_name() const {
  return worker_name(options_.rank, options_.addresses[static_cast<size_t>(options_.rank)]);
}

// A restarted worker may have a different address.
void Membership::renew_addresses(std::unique_lock<std::mutex>& lock) {
  if (!options_.renew) return;
  lock.unlock();
  const std::vector<std::string> addresses = options_.renew();
  lock.lock();
  if (addresses.size() == addresses_.size()) addresses_ = addresses;
}

std::string Membership::why_not_connected() const {
  if (why_ended_.empty()) return "";
  // Errors typical of a TLS end talking to a plain one.
  const bool may_be_tls = std::ranges::any_of(
      std::initializer_list<const char*>{"reset", "andshake", "losed", "SSL"},
      [&](const char* word) { return why_ended_.find(word) != std::string::npos; });
  const char* hint = !may_be_tls ? ""
                     : options_.over_tls
                         ? " (This task uses TLS, as CORNU_TLS_CERT says: does worker 0, too?)"
                         : " (This task doesn't use TLS: is CORNU_TLS_CERT set for worker 0?)";
  return "; the last attempt: " + why_ended_ + hint;
}

// For worker 0, at its address as this task knows it.
std::string Membership::why_unresolved(std::unique_lock<std::mutex>& lock) const {
  if (!options_.why_unresolved) return "";
  const std::string address = coordinator();
  lock.unlock();
  std::string why = options_.why_unresolved(address);
  lock.lock();
  return why;
}

// An unresolvable name may belong to a machine that is about to start, or may be wrong.
void Membership::say_that_it_waits(std::unique_lock<std::mutex>& lock) {
  const std::string unresolved = why_unresolved(lock);
  const std::string name = worker_name(0, coordinator());
  if (unresolved.empty()) {
    return logging::info(
        fmt::format("Cluster: waiting for {} to answer{}.", name, why_not_connected()));
  }
  logging::warn(fmt::format(
      "Cluster: {} This task waits for {} {}. If that machine isn't about to be started, correct "
      "the addresses of the cluster.",
      unresolved, name,
      options_.join_timeout ? fmt::format("for {:g} s", seconds(*options_.join_timeout))
                            : "as long as it takes, since CORNU_JOIN_TIMEOUT isn't set"));
}

void Membership::give_up(std::unique_lock<std::mutex>& lock) {
  const std::string unresolved = admitted_ ? "" : why_unresolved(lock);
  if (offer_ || refused_) return;  // settled meanwhile
  const std::string names = missing_.empty() ? "the others" : cornu::join(missing_, ", ");
  const std::string whom =
      admitted_ ? names + " to come" : worker_name(0, coordinator()) + " to answer";
  const std::string why = admitted_            ? "."
                          : unresolved.empty() ? why_not_connected() + "."
                                               : ": " + unresolved;
  const DeadlineExceeded error(fmt::format(
      "Cluster: {} has waited for {:g} s for {}{} Look at the addresses of the cluster, and "
      "whether all of its workers run; CORNU_JOIN_TIMEOUT (or join_timeout_seconds of the "
      "strategy) says how long they wait for each other.",
      own_name(), seconds(*options_.join_timeout), whom, why));
  lock.unlock();
  withdraw(std::make_exception_ptr(error));
  throw error;
}

void Membership::withdraw(std::exception_ptr why) {
  std::unique_lock lock(mutex_);
  end_group(std::move(why));
  join_ = nullptr;
  offer_.reset();
  admitted_ = false;
  busy_since_.reset();
  ++sessions_;  // ignore messages of the last session
  const auto session = std::exchange(session_, nullptr);
  lock.unlock();
  if (session) session->close("it has waited for too long");
}

GroupOffer Membership::join(const Json& inbox, std::optional<int> lost, Clock::time_point since) {
  std::unique_lock lock(mutex_);
  offer_.reset();
  tell_ = {};
  join_ = Json::object({{"kind", "join"},
                        {"rank", int64_t{options_.rank}},
                        {"generation", generation_},
                        {"facts", options_.facts},
                        {"inbox", inbox}});
  // If addresses change, the others may know an outdated one.
  if (options_.renew) {
    join_.set("address", options_.addresses[static_cast<size_t>(options_.rank)]);
  }
  if (lost) join_.set("lost", int64_t{*lost});
  if (admitted_ && session_) session_->send(join_);
  missing_.clear();
  auto said = Clock::now();
  auto renewed = said;
  while (!offer_) {
    if (refused_) std::rethrow_exception(refused_);
    if (generation_ == 0 && !lost && options_.job_is_over()) {
      raise<JobOver>(
          "Cluster: all of this job's workers have left it at the end of their programs. {} was "
          "ended after that, and started again: it has nothing left to do with the others. What "
          "its program does after its strategy has gone isn't done again.",
          own_name());
    }
    if (!session_ && Clock::now() >= next_attempt_) {
      next_attempt_ = Clock::now() + kAttempts;
      connect(lock);
      continue;
    }
    changed_.wait_for(lock, kAttempts);
    if (!admitted_ && Clock::now() - renewed > options_.renew_after) {
      renew_addresses(lock);
      renewed = Clock::now();
    }
    if (!admitted_ && Clock::now() - said > options_.say_after) {
      said = Clock::now();
      say_that_it_waits(lock);
    }
    if (!offer_ && options_.join_timeout && Clock::now() - since > *options_.join_timeout) {
      give_up(lock);
    }
  }
  join_ = nullptr;
  return *offer_;
}

std::optional<bool> Membership::start(int64_t generation, bool shares_memory) {
  std::unique_lock lock(mutex_);
  if (session_ && generation == generation_ && in_group_) {
    session_->send(Json::object(
        {{"kind", "ready"}, {"generation", generation}, {"shares_memory", shares_memory}}));
  }
  changed_.wait(lock, [&] { return started_ || !in_group_ || generation != generation_; });
  if (refused_) std::rethrow_exception(refused_);
  return in_group_ && generation == generation_ ? started_ : std::nullopt;
}

bool Membership::is_in_group(int64_t generation) {
  const std::lock_guard lock(mutex_);
  return in_group_ && generation == generation_;
}

void Membership::on_group_end(Tell tell) {
  const std::lock_guard lock(mutex_);
  if (in_group_) {
    for (const Ending& ending : endings_) tell(ending);
    tell_ = std::move(tell);
  } else if (ended_) {
    tell({.why = ended_});
  }
}

void Membership::tell_of_failure(const std::exception& error, const std::string& before,
                                 int64_t after, int64_t failure) {
  const std::string text = shortened(error.what());
  const std::lock_guard lock(mutex_);
  if (!session_ || !in_group_) return;
  session_->send(Json::object({{"kind", "failed"},
                               {"generation", generation_},
                               {"calls", after},
                               {"failure", failure},
                               {"code", static_cast<int64_t>(code_of(error))},
                               {"why", fmt::format("{}: {}", before, text)}}));
}

void Membership::stop(const std::string& why) {
  std::unique_lock lock(mutex_);
  if (!session_ || !in_group_ || bye_) return;
  all_heard_ = false;
  session_->send(
      Json::object({{"kind", "stopped"}, {"generation", generation_}, {"why", shortened(why)}}));
  in_group_ = false;
  has_stopped_ = true;
  ended_ = std::make_exception_ptr(Aborted("Cluster: this worker has stopped: " + why));
  const auto tell = std::exchange(tell_, {});
  if (tell) tell({.why = ended_});
  changed_.wait_for(lock, kHear, [&] { return all_heard_ || !session_; });
}

// Workers continue only after all have recorded the end, so that none records it later.
std::exception_ptr Membership::leave(int64_t calls, const std::function<void()>& note_end) {
  std::unique_lock lock(mutex_);
  tell_ = {};
  leaves_ = true;
  if (session_ && in_group_) {
    session_->send(
        Json::object({{"kind", "leave"}, {"generation", generation_}, {"calls", calls}}));
    changed_.wait(lock, [&] { return bye_ || !in_group_; });
  }
  if (!bye_ && !has_stopped_) return ended_;
  lock.unlock();
  note_end();
  lock.lock();
  if (bye_ && session_) {
    session_->send(Json::object({{"kind", "noted"}}));
    changed_.wait(lock, [&] { return over_ || !session_; });
  }
  return nullptr;
}

}  // namespace cornu::distribute
