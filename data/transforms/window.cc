// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "data/serialization/links.h"
#include "data/transforms/windows_node.h"

namespace cornu::data {
namespace {

// Window i has elements i * shift, i * shift + stride, …, up to `size` of them. If one of them
// fails, its error is thrown in place of the window. As in tf.data, failures of elements that
// aren't in a window are ignored, unless no element follows: the failure may then be what ended the
// input, and is reported unless the consumer skips failures.
class WindowStream : public Stream<Window> {
 public:
  WindowStream(StreamPtr<Element> input, const Windowing& how, Failures failures)
      : input_(std::move(input), true), how_(how), failures_(failures) {}

  bool next(Window& window) override {
    if (!has_window()) return end();
    const int64_t size = std::min(std::ssize(held_), how_.span());
    window = {};
    std::exception_ptr error;
    for (int64_t i = 0; i < size && !error; i += how_.stride) {
      const Held& held = held_[static_cast<size_t>(i)];
      error = held.error;
      window.elements.push_back(held.element);
      window.numbers.push_back(held.number);
    }
    leave(how_.shift);
    if (!error) return true;
    if (error == unheard_) unheard_ = nullptr;
    std::rethrow_exception(error);
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    if (count <= 0) return;
    const int64_t begin = begin_of_next();
    leave(streams::saturating_product(count - 1, how_.shift));
    if (has_window()) {
      left_out += count - 1;
      Window last;
      next(last);
      ++left_out;
    } else {
      left_out += windows_of(input_.taken() - begin);
      end();
    }
  }

  Json save() const override {
    if (input_.is_counted()) return {};
    Json state = Json::object({{"input", input_.position(oldest())},
                               {"held", numbers_held(false)},
                               {"gap", std::min(gap_, streams::kMaxItems)}});
    if (!input_.has_failed()) return state;
    state.set("failed", numbers_held(true));
    state.set("unheard", unheard_ != nullptr);
    return state;
  }
  void restore(const Json& state) override {
    gap_ = streams::saved_count(state, "gap");
    const std::vector<int64_t> numbers = streams::saved_counts(state, "held");
    require_span(std::ssize(numbers), state);
    input_.restore(streams::saved_part(state, "input"), numbers, [&](Element element) {
      held_.push_back({std::move(element), numbers[held_.size()]});
    });
    if (!input_.has_failed()) return;
    for (const int64_t number : streams::saved_counts(state, "failed")) {
      held_.push_back({{}, number, earlier_failure()});
    }
    require_span(std::ssize(held_), state);
    std::sort(held_.begin(), held_.end(),
              [](const Held& a, const Held& b) { return a.number < b.number; });
    if (streams::saved_part(state, "unheard") != Json(true)) return;
    const bool is_held = !held_.empty() && held_.back().error;
    unheard_ = is_held ? held_.back().error : earlier_failure();
  }

 private:
  struct Held {
    Element element = {};
    int64_t number = 0;             // in the input
    std::exception_ptr error = {};  // thrown instead of the element
  };

  static std::exception_ptr earlier_failure() {
    return std::make_exception_ptr(
        FailedPrecondition("window: an element failed before the position was saved."));
  }

  void require_span(int64_t held, const Json& state) const {
    check<DataLoss>(held <= how_.span(), "a position's state {} is damaged.", state.excerpt());
  }

  // The numbers of the held items that have, or haven't, failed.
  Json numbers_held(bool failed) const {
    Json numbers = Json::array();
    for (const Held& held : held_) {
      if ((held.error != nullptr) == failed) numbers.push_back(held.number);
    }
    return numbers;
  }

  // Takes items until the span of the next window is held; returns whether there is a window.
  bool has_window() {
    close_gap();
    for (bool more = gap_ == 0; more && std::ssize(held_) < how_.span();) {
      Held held;
      try {
        more = input_.next(held.element);
        if (more) unheard_ = nullptr;
      } catch (...) {
        unheard_ = held.error = std::current_exception();
      }
      held.number = input_.taken() - 1;
      if (more) held_.push_back(std::move(held));
    }
    return !held_.empty() && !(how_.drop_remainder && std::ssize(held_) < how_.span());
  }

  // Skips the items of the gap, as far as there are any.
  void close_gap() {
    for (int64_t in_a_row = 1; gap_ > 0; ++in_a_row) {
      const Passed passed = input_.pass(gap_);
      if (passed.count > 0) {
        in_a_row = 1;
        unheard_ = nullptr;
      }
      gap_ -= passed.count;
      if (!passed.error) return;
      --gap_;
      unheard_ = passed.error;
      if (in_a_row == streams::kMaxFailures) {
        std::rethrow_exception(std::exchange(unheard_, nullptr));
      }
    }
  }

  // Called when there are no more windows.
  bool end() {
    leave(std::ssize(held_));
    if (unheard_ && failures_ == Failures::EndPass) {
      std::rethrow_exception(std::exchange(unheard_, nullptr));
    }
    return false;
  }

  void leave(int64_t items) {
    const int64_t gone = std::min(items, std::ssize(held_));
    held_.erase(held_.begin(), held_.begin() + gone);
    gap_ = saturating_sum(gap_, items - gone);
    input_.release(oldest());
  }

  // The number of the item with which the next window begins.
  int64_t begin_of_next() const {
    return held_.empty() ? saturating_sum(input_.taken(), gap_) : held_.front().number;
  }
  // The number of windows in the last `items` items.
  int64_t windows_of(int64_t items) const {
    const int64_t begins = how_.drop_remainder ? items - how_.span() + 1 : items;
    return begins <= 0 ? 0 : streams::parts_of(begins, how_.shift);
  }

  // The number of the first item that would have to be computed again.
  int64_t oldest() const {
    const auto held =
        std::find_if(held_.begin(), held_.end(), [](const Held& one) { return !one.error; });
    return held == held_.end() ? input_.taken() : held->number;
  }

  Input<Element> input_;
  Windowing how_;
  Failures failures_;
  std::deque<Held> held_;       // for the next window
  int64_t gap_ = 0;             // number of items to skip before more are held
  std::exception_ptr unheard_;  // error of the last item so far, if it failed and wasn't reported
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
  return std::make_unique<WindowStream>(input_->stream(pass), how_, pass.failures);
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

// The datasets that a function makes of each window.
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
        "process hasn't. Iterate it there, or make its elements by map.",
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
