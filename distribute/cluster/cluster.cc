// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/cluster.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "distribute/cluster/credentials.h"
#include "distribute/cluster/protocol.h"
#include "distribute/collectives/shared_memory.h"
#include "distribute/collectives/socket_transport.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
namespace {

// Rejects sessions on workers that don't coordinate. The other workers needn't know why; a lone
// worker doesn't need any.
Session::Listener refuse_sessions(const std::shared_ptr<Session>& session) {
  session->close("this task coordinates nothing: sessions are held with worker 0");
  return {.on_message = [](const Json&) {}, .on_end = [](const std::string&) {}};
}

}  // namespace

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)), token_(job_token()) {
  require_trust(options_.addresses, token_, options_.identity != nullptr, options_.insecure);
  const Address own =
      Address::parse(options_.addresses[static_cast<size_t>(options_.rank)], "Cluster");
  options_.facts.set("number of workers", int64_t{size()});
  const auto refusals = std::make_shared<Refusals>();
  if (options_.rank == 0) {
    coordinator_ =
        std::make_shared<Coordinator>(CoordinatorOptions{.addresses = options_.addresses,
                                                         .token = token_,
                                                         .lost_after = options_.lost_after,
                                                         .refusals = refusals});
  }
  server_ = std::make_unique<TaskServer>(
      own,
      [coordinator = coordinator_](const std::shared_ptr<Session>& session) {
        return coordinator ? coordinator->accept(session) : refuse_sessions(session);
      },
      refusals, options_.identity);
  membership_ = std::make_unique<Membership>(MembershipOptions{
      .rank = options_.rank,
      .addresses = options_.addresses,
      .token = token_,
      .facts = options_.facts,
      .lost_after = options_.lost_after,
      .over_tls = options_.identity != nullptr,
      .job_is_over = options_.job_is_over,
      .connect =
          [identity = options_.identity](const std::string& first, Session::Listener listener) {
            return connect_session(first, identity, std::move(listener));
          },
      .renew = options_.renew,
      .renew_after = options_.renew_after,
      .join_timeout = options_.join_timeout,
      .why_unresolved =
          [](const std::string& address) {
            return why_unresolved(Address::parse(address, "Cluster"));
          }});
  if (coordinator_) ticker_ = std::thread([this] { tick(); });
}

Cluster::~Cluster() {
  if (membership_ && std::uncaught_exceptions() > exceptions_) {
    membership_->stop("its program ends with an error.");
  }
  leave();
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopped_.notify_all();
  if (ticker_.joinable()) ticker_.join();
}

void Cluster::tick() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::milliseconds(500), [&] { return stops_; })) {
    lock.unlock();
    coordinator_->tick(std::chrono::steady_clock::now());
    lock.lock();
  }
}

std::exception_ptr Cluster::leave(const std::function<void()>& note_end) {
  if (!membership_) return nullptr;
  const std::exception_ptr why = membership_->leave(calls_ ? calls_->load() : 0, note_end);
  membership_.reset();
  if (coordinator_) coordinator_->see_off(options_.lost_after);
  return why;
}

void Cluster::stop(const std::string& why) { membership_->stop(why); }

void Cluster::tell_of_failure(const std::exception& error, const std::string& before) {
  const auto group = group_.lock();
  if (!group || group->has_ended()) return;
  const WorkerCollectives::Failure own = group->note_failure();
  membership_->tell_of_failure(error, before, own.after, own.number);
}

void Cluster::set_step(int64_t step) {
  *step_ = step;
  membership_->set_step(step);
}

std::shared_ptr<WorkerCollectives> Cluster::form(std::optional<int> lost) {
  const auto began = std::chrono::steady_clock::now();
  while (true) {
    if (lost) require_time(began, *lost);
    inbox_ = make_inbox();
    const GroupOffer offer =
        membership_->join(inbox_ ? inbox_->description() : Json::object(), lost, began);
    lost.reset();
    server_->expect(offer.generation, offer.key);
    const std::vector<std::shared_ptr<Inbox>> inboxes = open_inboxes(offer);
    const std::optional<bool> shares = membership_->start(offer.generation, !inboxes.empty());
    if (!shares) continue;  // a worker was lost meanwhile
    if (!*shares && !inboxes.empty()) {
      say_that_sockets_serve("a worker can't share memory with the others, or doesn't want to.");
    }
    const GroupMembers members{
        .rank = rank(), .addresses = offer.addresses, .timeout = options_.timeout, .step = step_};
    std::unique_ptr<Transport> transport =
        *shares ? make_shared_memory_transport(members, inboxes) : sockets(offer, members, lost);
    if (!transport) continue;
    auto group = std::make_shared<WorkerCollectives>(std::move(transport), options_.replicas,
                                                     options_.communication, options_.collectives);
    calls_ = group->calls();
    group_ = group;
    membership_->on_group_end([weak = group_](Membership::Ending ending) {
      const auto alive = weak.lock();
      if (!alive) return;
      if (ending.failure > 0) {
        alive->end_by_failure({.after = *ending.after, .number = ending.failure},
                              std::move(ending.why));
      } else if (ending.after) {
        alive->end_after(*ending.after, std::move(ending.why));
      } else {
        alive->abort(std::move(ending.why));
      }
    });
    return group;
  }
}

// All workers may be present, but one of them unreachable from another.
void Cluster::require_time(std::chrono::steady_clock::time_point began, int lost) const {
  const auto waited = std::chrono::steady_clock::now() - began;
  if (!options_.join_timeout || waited < *options_.join_timeout) return;
  const DeadlineExceeded error(fmt::format(
      "Cluster: {} has had no connection with {} for {:g} s. Look at the addresses of the "
      "cluster; CORNU_JOIN_TIMEOUT (or join_timeout_seconds of the strategy) says how long workers "
      "wait for each other.",
      worker_name(rank(), options_.addresses[static_cast<size_t>(rank())]),
      worker_name(lost, options_.addresses[static_cast<size_t>(lost)]),
      std::chrono::duration<double>(*options_.join_timeout).count()));
  membership_->withdraw(std::make_exception_ptr(error));
  throw error;
}

std::shared_ptr<Inbox> Cluster::make_inbox() {
  try {
    return Inbox::create(size(), peers());
  } catch (const ResourceExhausted& error) {
    if (options_.share_memory) say_that_sockets_serve(error.what());
    return nullptr;
  }
}

void Cluster::say_that_sockets_serve(const std::string& why) {
  if (std::exchange(has_said_sockets_, true)) return;
  logging::warn(fmt::format(
      "Cluster: {}: {} All workers exchange tensors over sockets instead, which takes longer.",
      worker_name(rank(), options_.addresses[static_cast<size_t>(rank())]), why));
}

// By rank, for the peers of this worker; empty if not all of them are reachable or shared memory
// isn't wanted.
std::vector<std::shared_ptr<Inbox>> Cluster::open_inboxes(const GroupOffer& offer) const {
  if (!options_.share_memory || !inbox_) return {};
  std::vector<std::shared_ptr<Inbox>> inboxes(offer.inboxes.size());
  inboxes[static_cast<size_t>(rank())] = inbox_;
  for (const int peer : peers()) {
    const auto i = static_cast<size_t>(peer);
    inboxes[i] = Inbox::open(offer.inboxes[i]);
    if (!inboxes[i] || !inboxes[i]->ring(rank())) return {};
  }
  return inboxes;
}

// The lower rank connects. Returns a closed descriptor when the peer is gone or doesn't connect in
// time.
FileDescriptor Cluster::link(int peer, const GroupOffer& offer, const Patience& patience) {
  FileDescriptor socket;
  if (peer < rank()) {
    socket = server_->take({offer.generation, peer, rank()}, patience);
  } else {
    socket =
        connect_to(Address::parse(offer.addresses[static_cast<size_t>(peer)], "Cluster"), patience);
    const std::string preface = link_preface({offer.generation, rank(), peer}, offer.key);
    const auto size = static_cast<ssize_t>(preface.size());
    if (socket.is_open() &&
        ::send(socket.get(), preface.data(), preface.size(), MSG_NOSIGNAL) != size) {
      return {};
    }
  }
  if (!socket.is_open() || !options_.identity) return socket;
  try {
    const TlsRole role = peer < rank() ? TlsRole::Accepts : TlsRole::Connects;
    tls_links_.push_back(
        std::make_unique<TlsLink>(std::move(socket), role, *options_.identity, patience));
    return tls_links_.back()->take_plain();
  } catch (const Unavailable& error) {
    logging::warn(fmt::format("Cluster: {}", error.what()));
    return {};
  }
}

// Returns null when a worker was lost meanwhile; `lost` is set if this worker noticed it. All
// workers connect in the order of ranks, so that no two wait for each other.
std::unique_ptr<Transport> Cluster::sockets(const GroupOffer& offer, const GroupMembers& members,
                                            std::optional<int>& lost) {
  const Patience patience{std::chrono::steady_clock::now() + options_.lost_after,
                          [&] { return membership_->is_in_group(offer.generation); }};
  tls_links_.clear();
  std::vector<FileDescriptor> sockets(options_.addresses.size());
  std::vector<int> in_order = peers();
  std::ranges::sort(in_order);
  for (const int peer : in_order) {
    FileDescriptor& socket = sockets[static_cast<size_t>(peer)];
    socket = link(peer, offer, patience);
    if (socket.is_open()) continue;
    if (!patience.lasts()) return nullptr;
    logging::warn(fmt::format("Cluster: worker {} has no connection with worker {} ({}).", rank(),
                              peer, offer.addresses[static_cast<size_t>(peer)]));
    lost = peer;
    return nullptr;
  }
  return make_socket_transport(members, std::move(sockets));
}

}  // namespace cornu::distribute
