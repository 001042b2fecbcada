// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "data/serialization/links.h"
#include "data/transforms/said.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, RejectionResampleOptions& options) {
  fields("initial_dist", options.initial_dist);
  fields("seed", options.seed);
}

namespace {

using Distribution = std::vector<double>;

// Keeps an element with a probability that makes the distribution of classes match the target.
class ResampleStream : public Stream<Element> {
 public:
  ResampleStream(StreamPtr<Element> keyed, const Distribution& target,
                 const std::optional<Distribution>& initial, uint64_t seed, Pass pass,
                 const ElementSpec& in, const ElementSpec& out)
      : keyed_(std::move(keyed)),
        target_(target),
        initial_(initial),
        seed_(seed),
        pass_(pass),
        in_(in),
        out_(out),
        seen_(target.size(), 0) {}

  bool next(Element& element) override {
    while (keyed_.next(element)) {
      const Tensor said = take_said(element, in_.structure);
      const int64_t key = said.item<int64_t>();
      check<InvalidArgument>(0 <= key && key < std::ssize(target_),
                             "rejection_resample: expected a class in [0, {}), got {} for element "
                             "{}.",
                             target_.size(), key, keyed_.taken() - 1);
      const auto at = static_cast<size_t>(key);
      ++seen_[at];
      if (!keeps(at)) continue;
      std::vector<Tensor> tensors{said};
      tensors.insert(tensors.end(), element.tensors().begin(), element.tensors().end());
      element = Element(std::move(tensors), out_.structure);
      return true;
    }
    return false;
  }

  Json save() const override {
    return Json::object({{"input", keyed_.position()}, {"seen", seen_}});
  }
  void restore(const Json& state) override {
    const Json& seen = streams::saved_part(state, "seen");
    bool whole = seen.is_array() && seen.size() == seen_.size();
    for (size_t i = 0; whole && i < seen_.size(); ++i) whole = seen[i].is_int();
    check<DataLoss>(whole, "a position's state {} is damaged.", state.excerpt());
    seen_ = seen.as_ints();
    keyed_.restore(streams::saved_part(state, "input"));
  }

 private:
  bool keeps(size_t key) const {
    // Without an initial distribution, estimates it from the elements so far, counting one more of
    // each class.
    const auto part = [&](size_t i) {
      return initial_ ? (*initial_)[i] : static_cast<double>(seen_[i] + 1);
    };
    double most = 0;
    for (size_t i = 0; i < target_.size(); ++i) {
      if (target_[i] > 0 && part(i) > 0) most = std::max(most, target_[i] / part(i));
    }
    if (part(key) <= 0 || most <= 0) return target_[key] > 0;
    const auto words = philox(seed_, static_cast<uint64_t>(keyed_.taken() - 1), pass_.id);
    return to_unit_double(words[0], words[1]) * most < target_[key] / part(key);
  }

  Input<Element> keyed_;
  const Distribution& target_;  // owned by the node, like all below
  const std::optional<Distribution>& initial_;
  uint64_t seed_;
  Pass pass_;
  const ElementSpec& in_;
  const ElementSpec& out_;
  std::vector<int64_t> seen_;  // number per class
};

class Resampled : public Node {
 public:
  Resampled(NodePtr keyed, const ElementSpec& in, Distribution target,
            const RejectionResampleOptions& options)
      : Node({std::move(keyed)}),
        in_(in),
        out_(tuple_of({spec_of(Tensor::scalar(int64_t{0})), in})),
        target_(std::move(target)),
        options_(options),
        seed_(seed_or_next(options.seed)) {}

  const ElementSpec& spec() const override { return out_; }
  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    return items == kInfiniteCardinality ? items : std::nullopt;
  }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format(
        "rejection_resample({}{}{})", fmt::join(target_, " "),
        options_.initial_dist ? fmt::format(" of {}", fmt::join(*options_.initial_dist, " ")) : "",
        options_.seed ? fmt::format(", seed {}", *options_.seed) : "");
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return options_.seed ? nullptr : seed_.get();
  }
  bool varies() const override { return true; }
  void write(LinkWriter& link) const override {
    link.kind("rejection_resample")("element", in_)("target_dist", target_).options(options_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<ResampleStream>(input().stream(pass), target_, options_.initial_dist,
                                            seed_.in(pass), pass, in_, out_);
  }

 private:
  ElementSpec in_;
  ElementSpec out_;
  Distribution target_;
  RejectionResampleOptions options_;
  SharedSeed seed_;
};

void check_distribution(const Distribution& distribution, const char* what) {
  double sum = 0;
  for (const double part : distribution) {
    check<InvalidArgument>(part >= 0,
                           "rejection_resample: expected probabilities of at least 0 in {}, got "
                           "{}.",
                           what, part);
    sum += part;
  }
  check<InvalidArgument>(std::abs(sum - 1) < 1e-3,
                         "rejection_resample: expected probabilities in {} whose sum is 1, got {}.",
                         what, sum);
}

void check_distributions(const Distribution& target, const RejectionResampleOptions& options) {
  check_distribution(target, "target_dist");
  if (options.initial_dist) {
    check_distribution(*options.initial_dist, "initial_dist");
    check<InvalidArgument>(options.initial_dist->size() == target.size(),
                           "rejection_resample: expected {} probabilities in initial_dist, as in "
                           "target_dist, got {}.",
                           target.size(), options.initial_dist->size());
  }
}

}  // namespace

NodePtr make_rejection_resample(NodePtr input, MapFunction class_func, std::vector<double> target,
                                const RejectionResampleOptions& options) {
  check_distributions(target, options);
  const ElementSpec spec = input->spec();
  NodePtr keyed =
      make_keyed(std::move(input), std::move(class_func), "rejection_resample", "class_func");
  return std::make_shared<Resampled>(std::move(keyed), spec, std::move(target), options);
}

NodePtr read_rejection_resample(LinkReader& link) {
  const auto element = link.get<ElementSpec>("element");
  require_said(*link.input(), element, DType::Int64);
  auto target = link.get<Distribution>("target_dist");
  const auto options = link.options<RejectionResampleOptions>();
  check_distributions(target, options);
  return std::make_shared<Resampled>(link.input(), element, std::move(target), options);
}

}  // namespace cornu::data
