// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/mapper.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "data/transforms/user_code.h"
#include "framework/core/random.h"

namespace cornu::data {
namespace {

struct How {
  int64_t calls = 1;
  bool deterministic = true;  // false: elements may come in any order
  std::string who;
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
  bool is_bounded() const override { return mapper_->keeps_rows() && input().is_bounded(); }
  // Not the number of calls: it may change without changing what comes.
  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("map(to {}{})", mapper_->out().to_string(),
                       how_.deterministic ? "" : ", in any order");
  }
  void write(LinkWriter& link) const override {
    link.kind("map")("who", how_.who).hint("num_parallel_calls", how_.calls);
    if (!how_.deterministic) link("deterministic", false);
    mapper_->write(link);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return elements_of(input().stream(pass), pass);
  }
  StreamPtr<Element> elements_of(StreamPtr<Element> input, Pass pass) const {
    const auto f = [this, seed = seed_.in(pass), pass](const Element& element, int64_t number) {
      // The key is (seed, pass, number of the element), whichever thread computes it.
      const auto words = philox(seed, static_cast<uint64_t>(number), pass.id);
      return (*mapper_)(element, uint64_t{words[1]} << 32 | words[0]);
    };
    const auto placed = [this, f = with_place(f, how_.who.c_str())](const Element& element,
                                                                    int64_t number) {
      return call_user([&] { return fmt::format("{}, element {}", how_.who, number); },
                       [&] { return f(element, number); });
    };
    const bool any_order = !how_.deterministic && pass.any_order;
    return make_parallel_map(std::move(input), placed, how_.calls, pass,
                             any_order ? Order::Any : Order::Kept);
  }
  std::optional<Element> sample() const override {
    const auto element = input().sample();
    return element ? std::optional((*mapper_)(*element, 0)) : std::nullopt;
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return mapper_->draws() ? seed_.get() : nullptr;
  }

 private:
  How how_;
  std::shared_ptr<const Mapper> mapper_;
  SharedSeed seed_;
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
  constexpr int64_t kMostCalls = 4096;
  const auto calls = link.get<int64_t>("num_parallel_calls");
  check<InvalidArgument>(calls <= kMostCalls, "expected num_parallel_calls of at most {}, got {}.",
                         kMostCalls, calls);
  return resolve_parallel_calls(calls, "map");
}

NodePtr read_map(LinkReader& link) {
  const auto who = link.get<std::string>("who");
  const How how = {read_calls(link), !link.has("deterministic") || link.get<bool>("deterministic"),
                   who};
  auto mapper = read_mapper(link, link.input()->spec(), who);
  return std::make_shared<Mapped>(link.input(), std::move(mapper), how);
}

}  // namespace cornu::data
