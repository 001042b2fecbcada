// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/coordinator.h"

#include <algorithm>
#include <utility>

#include "distribute/cluster/address.h"
#include "distribute/cluster/credentials.h"
#include "distribute/cluster/protocol.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
namespace {

constexpr int64_t kMaxGenerations = int64_t{1} << 53;

}  // namespace

struct Coordinator::Guest {
  std::shared_ptr<Session> session;
  Time heard;
  Time came;
  std::string nonces;       // both, once it has said hello
  int rank = -1;            // set once it has joined
  bool has_proved = false;  // that it knows the token
  bool is_refused = false;
};

Coordinator::Coordinator(CoordinatorOptions options)
    : options_(std::move(options)),
      addresses_(options_.addresses),
      members_(options_.addresses.size()) {}

Session::Listener Coordinator::accept(const std::shared_ptr<Session>& session) {
  auto guest = std::make_shared<Guest>();
  guest->session = session;
  guest->heard = guest->came = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(guests_, [](const auto& known) { return known.expired(); });
  guests_.push_back(guest);
  return {.on_message = [self = shared_from_this(),
                         guest](const Json& message) { self->on_message(guest, message); },
          .on_end = [self = shared_from_this(),
                     guest](const std::string& why) { self->on_end(guest, why); }};
}

void Coordinator::on_message(const std::shared_ptr<Guest>& guest, const Json& message) {
  const std::lock_guard lock(mutex_);
  guest->heard = std::chrono::steady_clock::now();
  const std::string& kind = message.at("kind").as_string();
  try {
    if (kind == "hello") return on_hello(*guest, message);
    if (kind == "join") return on_join(guest, message);
    check<DataLoss>(guest->rank >= 0, "Cluster: expected hello and join first, got {}.",
                    message.excerpt());
    if (kind == "heartbeat") return;
    if (kind == "ready") return on_ready(*guest, message);
    if (kind == "stopped") return on_stopped(*guest, message);
    if (kind == "heard") return on_heard(guest->rank);
    if (kind == "leave") return on_leave(*guest, message);
    if (kind == "noted") return on_noted(guest->rank);
    if (kind == "failed") return on_failed(*guest, message);
    raise<DataLoss>("Cluster: no such message: {}.", message.excerpt());
  } catch (const Error& error) {
    guest->is_refused = true;
    options_.refusals->add(guest->session->peer(), error.what());
    throw;  // which ends the session
  }
}

void Coordinator::on_hello(Guest& guest, const Json& message) {
  check<DataLoss>(guest.nonces.empty(), "Cluster: expected one hello, got two.");
  if (message.at("protocol").as_int() != kProtocol) {
    return refuse(guest, "refused",
                  fmt::format("its cluster protocol is number {}, that of worker 0 is {}. All "
                              "workers must run the same version of Cornu.",
                              message.at("protocol").as_int(), kProtocol));
  }
  const std::string own = random_hex();
  guest.nonces = message.at("nonce").as_string() + own;
  guest.session->send(
      Json::object({{"kind", "challenge"},
                    {"nonce", own},
                    {"proof", signature(options_.token, "coordinator " + guest.nonces)}}));
}

void Coordinator::on_join(const std::shared_ptr<Guest>& guest, const Json& message) {
  const int64_t rank = message.at("rank").as_int();
  // Checks what forming a group later, when all have joined, depends on.
  const int64_t generation = message.at("generation").as_int();
  check<DataLoss>(generation >= 0 && generation < kMaxGenerations,
                  "Cluster: expected a generation, got {}.", generation);
  message.at("facts").as_object();
  message.at("inbox");
  // A worker that arrives after all have left may belong to whatever starts next at this address.
  // It tries again.
  if (phase_ == Phase::Over) {
    guest->is_refused = true;
    return guest->session->close("all workers of the job that was there have left it");
  }
  if (guest->rank < 0 && !let_in(guest, message)) return;
  check<DataLoss>(guest->rank == rank, "Cluster: worker {} joins as worker {}.", guest->rank, rank);
  if (const Json* address = message.find("address")) {
    addresses_[static_cast<size_t>(rank)] = Address::parse(address->as_string(), "Cluster").text();
  }
  admit(guest, message);
}

// Makes a worker that joins for the first time a member. Returns whether it was accepted.
bool Coordinator::let_in(const std::shared_ptr<Guest>& guest, const Json& message) {
  check<DataLoss>(!guest->nonces.empty() &&
                      same_signature(message.at("proof").as_string(),
                                     signature(options_.token, "worker " + guest->nonces)),
                  "Cluster: its CORNU_JOB_TOKEN is another one.");
  guest->has_proved = true;
  const int64_t rank = message.at("rank").as_int();
  if (rank < 0 || rank >= static_cast<int64_t>(members_.size())) {
    const Json* workers = message.at("facts").find("number of workers");
    refuse(*guest, "refused",
           fmt::format("it is worker {} of {}, but worker 0 knows {} workers. Give all tasks the "
                       "same cluster.",
                       rank, workers ? workers->dump() : "an unknown number", members_.size()));
    return false;
  }
  Member& member = members_[static_cast<size_t>(rank)];
  if (member.guest && guest->heard - member.guest->heard < options_.lost_after / 2) {
    refuse(*guest, "busy",
           fmt::format("{} is there already, as another process. Two tasks must have been given "
                       "the same index.",
                       name_of(static_cast<int>(rank))));
    return false;
  }
  if (member.guest) lose(*member.guest, "it was restarted");
  guest->rank = static_cast<int>(rank);
  member.guest = guest;
  member.left = false;
  return true;
}

void Coordinator::admit(const std::shared_ptr<Guest>& guest, const Json& message) {
  if (phase_ != Phase::Gathering) {
    // The worker knows of a loss that hasn't been noticed here. Worker 0 is this process: a worker
    // that misses it is itself the one that is cut off.
    const Json* lost = message.find("lost");
    const auto size = static_cast<int64_t>(members_.size());
    const bool names_one = lost && lost->is_int() && lost->as_int() > 0 && lost->as_int() < size;
    const int rank = names_one ? static_cast<int>(lost->as_int()) : guest->rank;
    const std::string why =
        rank == guest->rank ? "it hasn't heard of the others" : "a worker has lost it";
    end_group(lost_message(rank, name_of(rank), why), guest->rank);
  }
  const std::string differs = difference(message);
  Member& member = member_of(*guest);
  member.join = message;
  if (!differs.empty()) {
    end_group(Json::object({{"kind", "differs"}, {"why", differs}}), -1);
    return;
  }
  form_if_complete();
}

// What a worker states about its program must match what the others state.
std::string Coordinator::difference(const Json& join) const {
  for (size_t other = 0; other < members_.size(); ++other) {
    const Json& before = members_[other].join;
    if (before.is_null()) continue;
    for (const auto& [name, value] : join.at("facts").as_object()) {
      const Json* theirs = before.at("facts").find(name);
      if (theirs && *theirs == value) continue;
      const auto rank = static_cast<int>(join.at("rank").as_int());
      return fmt::format(
          "the {} of {} is {}, that of {} is {}. All workers must run the same: "
          "start all of them again.",
          name, name_of(rank), value.dump(), name_of(static_cast<int>(other)),
          theirs ? theirs->dump() : "unknown");
    }
  }
  return "";
}

void Coordinator::form_if_complete() {
  for (const Member& member : members_) {
    if (member.join.is_null()) return;
  }
  Json members = Json::array();
  for (const Member& member : members_) {
    generation_ = std::max(generation_, member.join.at("generation").as_int());
    Json known = Json::object({{"inbox", member.join.at("inbox")}});
    if (const Json* address = member.join.find("address")) known.set("address", *address);
    members.push_back(std::move(known));
  }
  ++generation_;
  phase_ = Phase::Forming;
  send_to_all(Json::object({{"kind", "members"},
                            {"generation", generation_},
                            {"nonce", random_hex()},
                            {"members", std::move(members)}}));
}

void Coordinator::on_ready(const Guest& guest, const Json& message) {
  if (phase_ != Phase::Forming || message.at("generation").as_int() != generation_) return;
  Member& member = member_of(guest);
  member.ready = true;
  member.shares_memory = message.at("shares_memory").as_bool();
  bool shares = true;
  for (const Member& other : members_) {
    if (!other.ready) return;
    shares = shares && other.shares_memory;
  }
  phase_ = Phase::Running;
  send_to_all(
      Json::object({{"kind", "start"}, {"generation", generation_}, {"shares_memory", shares}}));
}

void Coordinator::on_stopped(const Guest& guest, const Json& message) {
  const bool has_ended = phase_ == Phase::Gathering || phase_ == Phase::Over;
  if (message.at("generation").as_int() != generation_ || has_ended) {
    return guest.session->send(heard_message());  // all know that their group has ended
  }
  end_group(Json::object({{"kind", "stopped"},
                          {"rank", int64_t{guest.rank}},
                          {"name", name_of(guest.rank)},
                          {"why", message.at("why")}}),
            guest.rank);
  unheard_ = present();
  stopped_ = guest.rank;
  on_heard(guest.rank);
}

// Also called when the rank is lost.
void Coordinator::on_heard(int rank) {
  unheard_.erase(rank);
  if (!stopped_ || !unheard_.empty()) return;
  const auto& guest = members_[static_cast<size_t>(*std::exchange(stopped_, std::nullopt))].guest;
  if (guest) guest->session->send(heard_message());
}

// Refers to the last group: a worker leaving an earlier one already knows that it has ended.
void Coordinator::on_leave(const Guest& guest, const Json& message) {
  const int64_t calls = message.at("calls").as_int();
  if (phase_ != Phase::Running || message.at("generation").as_int() != generation_) return;
  member_of(guest).left = true;
  if (std::ranges::all_of(members_, &Member::left)) {
    phase_ = Phase::Over;
    unnoted_ = present();
    return send_to_all(Json::object({{"kind", "bye"}}));
  }
  send_to_all(Json::object({{"kind", "left"},
                            {"name", name_of(guest.rank)},
                            {"generation", generation_},
                            {"calls", calls}}),
              guest.rank);
}

// Also called when the rank is lost and can't record anything any more.
void Coordinator::on_noted(int rank) {
  if (phase_ != Phase::Over || unnoted_.erase(rank) == 0 || !unnoted_.empty()) return;
  send_to_all(Json::object({{"kind", "over"}}));
}

// The group continues: the same step may have failed everywhere.
void Coordinator::on_failed(const Guest& guest, const Json& message) {
  Json told = Json::object({{"kind", "failed"},
                            {"name", name_of(guest.rank)},
                            {"generation", message.at("generation").as_int()},
                            {"calls", message.at("calls").as_int()},
                            {"failure", message.at("failure").as_int()},
                            {"code", message.at("code").as_int()},
                            {"why", message.at("why").as_string()}});
  if (phase_ != Phase::Running || told.at("generation").as_int() != generation_) return;
  send_to_all(told, guest.rank);
}

void Coordinator::on_end(const std::shared_ptr<Guest>& guest, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!guest->has_proved && !guest->is_refused) {
    options_.refusals->add(guest->session->peer(),
                           "its session has ended before it joined the job: " + why);
  }
  lose(*guest, why);
}

// No-op for a guest that never joined or is already lost.
void Coordinator::lose(Guest& guest, const std::string& why) {
  const int rank = std::exchange(guest.rank, -1);
  if (rank < 0) return;
  Member& member = members_[static_cast<size_t>(rank)];
  const bool left = member.left;
  const bool was_in_group = phase_ != Phase::Gathering && !left;
  member = Member();
  member.left = left;
  on_heard(rank);
  on_noted(rank);
  changed_.notify_all();
  if (was_in_group) end_group(lost_message(rank, name_of(rank), why), rank);
}

// Notifies all but one; the remaining workers must join again.
void Coordinator::end_group(const Json& message, int but) {
  phase_ = Phase::Gathering;
  for (Member& member : members_) {
    member.join = nullptr;
    member.ready = false;
    member.left = false;
  }
  send_to_all(message, but);
}

void Coordinator::tick(Time now) {
  std::vector<std::shared_ptr<Guest>> silent;
  {
    const std::lock_guard lock(mutex_);
    send_to_all(Json::object({{"kind", "heartbeat"}}));
    for (const auto& known : guests_) {
      const auto guest = known.lock();
      if (!guest) continue;
      const Time since = guest->rank < 0 ? guest->came : guest->heard;
      if (now - since <= options_.lost_after) continue;
      silent.push_back(guest);
      lose(*guest, fmt::format("it has given no sign of life for {:g} s",
                               std::chrono::duration<double>(options_.lost_after).count()));
    }
    if (phase_ == Phase::Gathering && now - told_who_is_missing_ > std::chrono::seconds(3)) {
      told_who_is_missing_ = now;
      Json missing = Json::array();
      for (size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].join.is_null()) missing.push_back(name_of(static_cast<int>(i)));
      }
      send_to_all(Json::object({{"kind", "waiting"}, {"for", std::move(missing)}}));
    }
  }
  for (const auto& guest : silent) guest->session->close("no sign of life came for too long");
}

void Coordinator::see_off(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::Over) return;
  changed_.wait_for(lock, at_most, [&] {
    return std::ranges::all_of(members_, [](const Member& member) { return !member.guest; });
  });
}

void Coordinator::refuse(Guest& guest, const std::string& kind, const std::string& why) {
  guest.is_refused = true;
  options_.refusals->add(guest.session->peer(), why);
  guest.session->send(Json::object({{"kind", kind}, {"why", why}}));
  guest.session->close(why);
}

void Coordinator::send_to_all(const Json& message, int but) {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].guest && static_cast<int>(i) != but) members_[i].guest->session->send(message);
  }
}

std::set<int> Coordinator::present() const {
  std::set<int> ranks;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].guest) ranks.insert(static_cast<int>(i));
  }
  return ranks;
}

Coordinator::Member& Coordinator::member_of(const Guest& guest) {
  return members_[static_cast<size_t>(guest.rank)];
}

std::string Coordinator::name_of(int rank) const {
  return worker_name(rank, addresses_[static_cast<size_t>(rank)]);
}

}  // namespace cornu::distribute
