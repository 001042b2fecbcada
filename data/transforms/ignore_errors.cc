// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"

namespace cornu::data {
namespace {

class IgnoringStream : public Stream<Element> {
 public:
  IgnoringStream(StreamPtr<Element> input, bool log_each)
      : input_(std::move(input)), log_each_(log_each) {}

  ~IgnoringStream() override {  // the pass may have been abandoned early
    try {
      report();
    } catch (...) {  // only a log line is lost
    }
  }

  bool next(Element& element) override {
    for (int64_t in_a_row = 0;; ++in_a_row) {
      try {
        if (input_.next(element)) return true;
        report();
        return false;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& error) {
        if (in_a_row == streams::kMaxFailures) throw;
        note(error.what());
      }
    }
  }

  Json save() const override {
    Json state = input_.position();
    if (dropped_ > 0) state.set("dropped", dropped_);
    return state;
  }
  void restore(const Json& state) override {
    input_.restore(state);
    if (state.contains("dropped")) dropped_ = streams::saved_count(state, "dropped");
  }

 private:
  void note(const std::string& text) {
    if (dropped_++ == 0) first_ = text;
    if (log_each_) {
      logging::warn(
          fmt::format("ignore_errors: element {} is left out: {}", input_.taken() - 1, text));
    }
  }

  void report() {
    if (dropped_ == 0 || reported_) return;
    reported_ = true;
    const std::string why = first_.empty() ? "" : " The first error: " + first_;
    logging::warn(
        fmt::format("ignore_errors: {} elements of this pass were left out.{}", dropped_, why));
  }

  Input<Element> input_;
  bool log_each_;
  int64_t dropped_ = 0;
  std::string first_;
  bool reported_ = false;
};

class Ignoring : public Node {
 public:
  Ignoring(NodePtr input, bool log_each) : Node({std::move(input)}), log_each_(log_each) {}

  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    return items == 0 ? items : std::nullopt;
  }
  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "ignore_errors"; }
  void write(LinkWriter& link) const override {
    link.kind("ignore_errors")("log_warning", log_each_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    pass.failures = Failures::ArePassed;
    return std::make_unique<IgnoringStream>(input().stream(pass), log_each_);
  }

 private:
  bool log_each_;
};

}  // namespace

NodePtr make_ignore_errors(NodePtr input, const IgnoreErrorsOptions& options) {
  return std::make_shared<Ignoring>(std::move(input), options.log_warning);
}

NodePtr read_ignore_errors(LinkReader& link) {
  return make_ignore_errors(link.input(), {.log_warning = link.get<bool>("log_warning")});
}

}  // namespace cornu::data
