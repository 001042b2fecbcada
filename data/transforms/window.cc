// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "data/serialization/links.h"
#include "data/transforms/windows_node.h"

namespace cornu::data {
namespace {

// Window i has elements i * shift, i * shift + stride, …, up to `size` of them, of those that could
// be made.
class WindowStream : public Stream<Window> {
 public:
  WindowStream(StreamPtr<Element> input, const Windowing& how)
      : input_(std::move(input), true), how_(how) {}

  bool next(Window& window) override {
    fill();
    const int64_t here = std::ssize(held_);
    if (here == 0 || (how_.drop_remainder && here < how_.span())) return false;
    window = {};
    for (int64_t i = 0; i < std::min(here, how_.span()); i += how_.stride) {
      const Held& held = held_[static_cast<size_t>(i)];
      window.elements.push_back(held.element);
      window.numbers.push_back(held.number);
    }
    leave(how_.shift);
    return true;
  }

  int64_t skip(int64_t count) override {
    Window last;
    if (count <= 0) return 0;
    const int64_t held = std::ssize(held_);
    const int64_t before = input_.taken() + gap_;
    leave(streams::saturating_product(count - 1, how_.shift));
    if (next(last)) return count;
    // All there are from the next window on.
    const int64_t items = held + std::max<int64_t>(0, input_.taken() - before);
    const int64_t most = how_.drop_remainder ? items - how_.span() + 1 : items;
    return most <= 0 ? 0 : streams::parts_of(most, how_.shift);
  }

  Json save() const override {
    if (input_.is_counted()) return {};
    Json numbers = Json::array();
    for (const Held& held : held_) numbers.push_back(held.number);
    return Json::object({{"input", input_.position(oldest())},
                         {"held", numbers},
                         {"gap", std::min(gap_, streams::kMostItems)}});
  }
  void restore(const Json& state) override {
    gap_ = streams::saved_count(state, "gap");
    const std::vector<int64_t> numbers = streams::saved_counts(state, "held");
    check<DataLoss>(std::ssize(numbers) <= how_.span(), "a position's state {} is damaged.",
                    state.excerpt());
    input_.restore(streams::saved_part(state, "input"), numbers, [&](Element element) {
      held_.push_back({std::move(element), numbers[held_.size()]});
    });
  }

 private:
  struct Held {
    Element element;
    int64_t number;  // in the input
  };

  // The items of the next window and those behind, as many as a window spans.
  void fill() {
    gap_ -= input_.skip(gap_);
    if (gap_ > 0) return;  // they end before
    Element element;
    while (std::ssize(held_) < how_.span() && input_.next(element)) {
      held_.push_back({std::move(element), input_.taken() - 1});
    }
  }

  void leave(int64_t items) {
    const int64_t gone = std::min(items, std::ssize(held_));
    held_.erase(held_.begin(), held_.begin() + gone);
    if (__builtin_add_overflow(gap_, items - gone, &gap_)) gap_ = INT64_MAX;
    input_.release(oldest());
  }

  int64_t oldest() const { return held_.empty() ? input_.taken() : held_.front().number; }

  Input<Element> input_;
  Windowing how_;
  std::deque<Held> held_;  // of the next window
  int64_t gap_ = 0;        // items to be left out before more are held
};

}  // namespace

int64_t Windowing::span() const {
  const int64_t gaps = streams::saturating_product(size - 1, stride);
  return gaps == INT64_MAX ? gaps : gaps + 1;
}

WindowSource::WindowSource(NodePtr input, int64_t size, const WindowOptions& options)
    : input_(std::move(input)),
      how_{size, options.shift.value_or(size), options.stride, options.drop_remainder} {
  check<InvalidArgument>(size >= 1, "window: expected a size of at least 1, got {}.", size);
  check<InvalidArgument>(how_.shift >= 1, "window: expected a shift of at least 1, got {}.",
                         how_.shift);
  check<InvalidArgument>(how_.stride >= 1, "window: expected a stride of at least 1, got {}.",
                         how_.stride);
}

StreamPtr<Window> WindowSource::open(Pass pass) const {
  return std::make_unique<WindowStream>(input_->stream(pass), how_);
}

std::optional<int64_t> WindowSource::cardinality() const {
  const auto items = input_->cardinality();
  if (!items || *items == kInfiniteCardinality) return items;
  const int64_t starts = how_.drop_remainder ? *items - how_.span() + 1 : *items;
  return starts <= 0 ? 0 : streams::parts_of(starts, how_.shift);
}

std::string WindowSource::describe() const {
  return fmt::format("window({}, {}, {}{})", how_.size, how_.shift, how_.stride,
                     how_.drop_remainder ? ", drop" : "");
}

namespace {

// What a function makes of each window.
class OfWindows : public Node {
 public:
  OfWindows(std::shared_ptr<const WindowSource> windows, MakeNodeOfWindow f,
            const FlatMapOptions& options, bool one_each)
      : Node({windows->input()}),
        windows_(std::move(windows)),
        one_each_(one_each),
        datasets_(
            std::move(f), options.output_signature,
            [this] { return windows_->open(Pass::for_sample()); }, "window") {}

  const ElementSpec& spec() const override { return datasets_.spec(); }
  std::optional<int64_t> cardinality() const override {
    return one_each_ ? windows_->cardinality() : std::nullopt;
  }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("{} | {}(to {})", windows_->describe(), one_each_ ? "map" : "flat_map",
                       spec().to_string());
  }
  std::atomic<uint64_t>* drawn_seed() const override { return datasets_.drawn_seed(); }
  const Node* first_inner() const override { return datasets_.first(); }
  void write(LinkWriter&) const override {
    raise<FailedPrecondition>(
        "{}: it can't be serialized: its function is C++ code that gives datasets, which another "
        "process "
        "hasn't. Iterate it there, or make its elements by map.",
        describe());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FlatStream<Window>>(windows_->open(pass), datasets_, pass);
  }

 protected:
  void inputs_changed() override {
    windows_ = std::make_shared<const WindowSource>(windows_->over(inputs().front()));
  }

 private:
  std::shared_ptr<const WindowSource> windows_;
  bool one_each_;
  InnerDatasets<Window> datasets_;
};

}  // namespace

NodePtr make_of_windows(std::shared_ptr<const WindowSource> windows, MakeNodeOfWindow f,
                        const FlatMapOptions& options, bool one_each) {
  return std::make_shared<OfWindows>(std::move(windows), std::move(f), options, one_each);
}

}  // namespace cornu::data
