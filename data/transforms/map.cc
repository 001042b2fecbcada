// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "data/iteration.h"
#include "data/serialization/links.h"
#include "data/transforms/mapper.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/core/user_code.h"

namespace cornu::data {
namespace {

struct How {
  int64_t calls = 1;
  std::optional<bool> deterministic = {};  // false: elements may come in any order
  std::string who;

  bool keeps_order_in(const Pass& pass) const { return keeps_order(calls, deterministic, pass); }
  Order order_in(const Pass& pass) const { return data::order_in(calls, deterministic, pass); }
};

// Passes elements through in place of a map's stream that is fused into another, so that positions
// have the same structure.
class PassedOn : public Stream<Element> {
 public:
  explicit PassedOn(StreamPtr<Element> input) : input_(std::move(input)) {}
  bool next(Element& element) override { return input_.next(element); }
  void leave_out(int64_t count, int64_t& left_out) override { input_.leave_out(count, left_out); }
  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  Input<Element> input_;
};

class Mapped;

// A map, fused with the maps directly below it that can be computed in the same call.
struct FusedMaps {
  std::vector<const Mapped*> maps;  // last one first
  std::shared_ptr<const Mapper> mapper;
  const Mapped* draws = nullptr;  // the one that draws random numbers, or else the last
  int64_t calls = 1;
};

// Created on first use; not shared with copies, which have other inputs.
class FusedOnce {
 public:
  FusedOnce() = default;
  FusedOnce(const FusedOnce&) {}
  FusedOnce& operator=(const FusedOnce&) = delete;

  template <class Make>
  const FusedMaps& get(const Make& make) {
    std::call_once(once_, [&] { maps_ = make(); });
    return maps_;
  }

 private:
  std::once_flag once_;
  FusedMaps maps_;
};

class Mapped : public Node {
 public:
  Mapped(NodePtr input, std::shared_ptr<const Mapper> mapper, const How& how)
      : Node({std::move(input)}),
        how_(how),
        mapper_(std::move(mapper)),
        seed_(mapper_->draws() ? next_seed() : 0) {}

  const How& how() const { return how_; }
  const std::shared_ptr<const Mapper>& mapper() const { return mapper_; }

  const ElementSpec& spec() const override { return mapper_->out(); }
  std::optional<int64_t> batch_size() const override {
    return mapper_->keeps_rows() ? input().batch_size() : std::nullopt;
  }
  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  // Omits the number of calls, which may change without affecting the elements.
  std::string describe() const override {
    return fmt::format("map(to {}{})", mapper_->out().to_string(),
                       how_.deterministic.value_or(true) ? "" : ", in any order");
  }
  void write(LinkWriter& link) const override {
    link.kind("map")("who", how_.who).hint("num_parallel_calls", how_.calls);
    if (how_.deterministic) link("deterministic", *how_.deterministic);
    mapper_->write(link);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const bool alone = pass.stage || !how_.keeps_order_in(pass);  // each is measured separately
    const FusedMaps& fused = fused_.get([this] { return fused_maps(); });
    if (alone || fused.maps.size() == 1) {
      return elements_of(input().stream(pass_below(how_.order_in(pass), pass)), pass);
    }
    auto elements = fused.maps.back()->input().stream(pass);
    for (size_t i = 1; i < fused.maps.size(); ++i) {
      elements = std::make_unique<PassedOn>(std::move(elements));
    }
    return elements_of(std::move(elements), pass, fused);
  }
  StreamPtr<Element> elements_of(StreamPtr<Element> input, Pass pass) const {
    return elements_of(std::move(input), pass, {{this}, mapper_, this, how_.calls});
  }
  std::optional<Element> sample() const override {
    const auto element = input().sample();
    return element ? std::optional((*mapper_)(*element, 0)) : std::nullopt;
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return mapper_->draws() ? seed_.get() : nullptr;
  }

 private:
  StreamPtr<Element> elements_of(StreamPtr<Element> input, Pass pass, const FusedMaps& maps) const {
    const auto f = [mapper = maps.mapper, seed = maps.draws->seed_.in(pass), pass](
                       const Element& element, int64_t number) {
      // The key depends on (seed, pass, element number), but not on the thread.
      const auto words = philox(seed, static_cast<uint64_t>(number), pass.id);
      return (*mapper)(element, uint64_t{words[1]} << 32 | words[0]);
    };
    const auto placed = [this, f = with_place(f, how_.who.c_str())](const Element& element,
                                                                    int64_t number) {
      return call_user([&] { return fmt::format("{}, element {}", how_.who, number); },
                       [&] { return f(element, number); });
    };
    return make_parallel_map(std::move(input), placed, maps.calls, pass, how_.order_in(pass));
  }

  // The maps from here on down that can be computed in one call, in their order.
  FusedMaps fused_maps() const {
    FusedMaps fused = {{this}, mapper_, this, how_.calls};
    std::vector<std::shared_ptr<const Mapper>> mappers = {mapper_};
    for (const Mapped* map = this; map->how_.deterministic != false;) {
      map = dynamic_cast<const Mapped*>(&map->input());
      if (!map || map->how_.deterministic == false || map->how_.who != how_.who) break;
      mappers.insert(mappers.begin(), map->mapper_);
      auto mapper = make_fused_mapper(mappers);
      if (!mapper) break;
      fused.mapper = std::move(mapper);
      fused.maps.push_back(map);
      if (map->mapper_->has_draws()) fused.draws = map;
      const bool tuned = fused.calls == kAutotune || map->how_.calls == kAutotune;
      fused.calls = tuned ? kAutotune : std::max(fused.calls, map->how_.calls);
    }
    return fused;
  }

  How how_;
  std::shared_ptr<const Mapper> mapper_;
  SharedSeed seed_;
  mutable FusedOnce fused_;
};

}  // namespace

NodePtr make_map(NodePtr input, MapFunction f, const MapOptions& options, const char* who) {
  const int64_t calls = resolve_parallel_calls(options.num_parallel_calls, "map");
  try {
    auto mapper = call_user([&] { return std::string(who); },
                            [&] {
                              return make_mapper(std::move(f), *input, who,
                                                 options.output_signature, options.traced);
                            });
    return std::make_shared<Mapped>(std::move(input), std::move(mapper),
                                    How{calls, options.deterministic, who});
  } catch (Error& error) {
    error.add_place(who);
    throw;
  }
}

StreamPtr<Element> mapped_elements(const Node& mapped, StreamPtr<Element> input, Pass pass) {
  return dynamic_cast<const Mapped&>(mapped).elements_of(std::move(input), pass);
}

NodePtr shuffle_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& shuffle) {
  const auto* mapped = dynamic_cast<const Mapped*>(input.get());
  if (!mapped || !mapped->mapper()->is_pure()) return nullptr;
  const NodePtr& mapped_input = mapped->inputs().front();
  NodePtr shuffled =
      mapped_input->table() ? shuffle(mapped_input) : shuffle_below_map(mapped_input, shuffle);
  if (!shuffled) return nullptr;
  return std::make_shared<Mapped>(std::move(shuffled), mapped->mapper(), mapped->how());
}

NodePtr batch_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& batch) {
  const auto* mapped = dynamic_cast<const Mapped*>(input.get());
  if (!mapped || !mapped->mapper()->is_pure()) return nullptr;
  NodePtr batches = batch(mapped->inputs().front());
  auto mapper = mapped->mapper()->of_batches(batches->spec());
  if (!mapper) return nullptr;
  return std::make_shared<Mapped>(std::move(batches), std::move(mapper), mapped->how());
}

bool is_map(const Node& node) { return dynamic_cast<const Mapped*>(&node) != nullptr; }

int64_t read_calls(LinkReader& link) {
  constexpr int64_t kMaxCalls = 4096;
  const auto calls = link.get<int64_t>("num_parallel_calls");
  check<InvalidArgument>(calls <= kMaxCalls, "expected num_parallel_calls of at most {}, got {}.",
                         kMaxCalls, calls);
  return resolve_parallel_calls(calls, "map");
}

NodePtr read_map(LinkReader& link) {
  const auto who = link.get<std::string>("who");
  How how = {.calls = read_calls(link), .who = who};
  if (link.has("deterministic")) how.deterministic = link.get<bool>("deterministic");
  auto mapper = read_mapper(link, link.input()->spec(), who);
  return std::make_shared<Mapped>(link.input(), std::move(mapper), how);
}

}  // namespace cornu::data
