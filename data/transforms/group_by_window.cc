// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "data/transforms/inner_datasets.h"
#include "data/transforms/said.h"
#include "data/transforms/transforms.h"
#include "framework/core/user_code.h"

namespace cornu::data {
namespace {

// Groups elements by key. A group is returned as soon as it is full; at the end, the incomplete
// groups are returned, ordered by key. For a sample, the group has only the first element.
class GroupStream : public Stream<Window> {
 public:
  GroupStream(StreamPtr<Element> keyed, std::shared_ptr<const Structure> structure,
              const WindowSize& size, bool sample)
      : input_(std::move(keyed), true),
        structure_(std::move(structure)),
        size_(size),
        sample_(sample) {}

  bool next(Window& group) override {
    input_.release(oldest());
    Element element;
    while (input_.next(element)) {
      const auto [key, full] = put(std::move(element), input_.taken() - 1);
      if (!full && !sample_) continue;
      give(groups_.find(key), group);
      return true;
    }
    if (groups_.empty()) return false;
    give(groups_.begin(), group);
    return true;
  }

  Json save() const override {
    return Json::object({{"input", input_.position(oldest())}, {"held", held_numbers()}});
  }
  void restore(const Json& state) override {
    const std::vector<int64_t> held = streams::saved_counts(state, "held");
    size_t next = 0;
    input_.restore(streams::saved_part(state, "input"), held,
                   [&](Element element) { put(std::move(element), held[next++]); });
  }

 private:
  std::vector<int64_t> held_numbers() const {
    std::vector<int64_t> numbers;
    for (const auto& [key, group] : groups_) {
      numbers.insert(numbers.end(), group.numbers.begin(), group.numbers.end());
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  // Returns the key, and whether its group is full.
  std::pair<int64_t, bool> put(Element element, int64_t number) {
    const int64_t key = take_said(element, structure_).item<int64_t>();
    // Must come first: it may throw, and then there must be no group without elements.
    if (!sizes_.contains(key)) sizes_[key] = checked_size(key);
    Window& group = groups_[key];
    group.key = key;
    group.elements.push_back(std::move(element));
    group.numbers.push_back(number);
    return {key, std::ssize(group.elements) >= sizes_[key]};
  }

  int64_t checked_size(int64_t key) const {
    const int64_t size = call_user(
        [&] { return fmt::format("group_by_window, window_size_func of the key {}", key); },
        [&] { return size_(key); });
    check<InvalidArgument>(
        size >= 1, "group_by_window: expected a window_size of at least 1, got {} for the key {}.",
        size, key);
    return size;
  }

  void give(std::map<int64_t, Window>::iterator at, Window& group) {
    group = std::move(at->second);
    groups_.erase(at);
  }

  int64_t oldest() const {
    int64_t oldest = input_.taken();
    for (const auto& [key, group] : groups_) oldest = std::min(oldest, group.numbers.front());
    return oldest;
  }

  Input<Element> input_;
  std::shared_ptr<const Structure> structure_;
  const WindowSize& size_;
  bool sample_;
  std::map<int64_t, Window> groups_;
  std::map<int64_t, int64_t> sizes_;
};

class Grouped : public Node {
 public:
  Grouped(NodePtr keyed, const ElementSpec& element, MakeNodeOfWindow reduce, WindowSize size,
          const std::string& text, const std::optional<ElementSpec>& signature, WriteLink write)
      : Node({std::move(keyed)}),
        element_(element),
        size_(std::move(size)),
        text_(text),
        write_(std::move(write)),
        datasets_(
            std::move(reduce), signature, [this] { return groups(Pass::for_sample()); },
            "group_by_window") {}

  const ElementSpec& spec() const override { return datasets_.spec(); }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("group_by_window({}, to {})", text_, spec().to_string());
  }
  std::atomic<uint64_t>* drawn_seed() const override { return datasets_.drawn_seed(); }
  const Node* first_inner() const override { return datasets_.first(); }
  void write(LinkWriter& link) const override {
    check<FailedPrecondition>(write_ != nullptr,
                              "{}: it can't be serialized: its function is C++ code that gives "
                              "datasets, which another process hasn't. Iterate it there.",
                              describe());
    write_(link);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FlatStream<Window>>(groups(pass), datasets_, pass);
  }

 private:
  StreamPtr<Window> groups(Pass pass) const {
    return std::make_unique<GroupStream>(input().stream(pass), element_.structure, size_,
                                         pass.sample);
  }

  ElementSpec element_;
  WindowSize size_;
  std::string text_;
  WriteLink write_;
  InnerDatasets<Window> datasets_;
};

}  // namespace

NodePtr make_group_by_window(NodePtr input, MapFunction key, ReduceWindow reduce, WindowSize size,
                             const std::string& text, const std::optional<ElementSpec>& signature) {
  const ElementSpec element = input->spec();
  NodePtr keyed = make_keyed(std::move(input), std::move(key), "group_by_window", "key_func");
  return make_grouped(std::move(keyed), element, std::move(reduce), std::move(size), text,
                      signature, nullptr);
}

NodePtr make_grouped(NodePtr keyed, const ElementSpec& element, ReduceWindow reduce,
                     WindowSize size, const std::string& text,
                     const std::optional<ElementSpec>& signature, WriteLink write) {
  const auto make = [reduce = std::move(reduce), element](const Window& group) {
    return reduce(group.key, make_window_elements(group, element));
  };
  return std::make_shared<Grouped>(std::move(keyed), element, make, std::move(size), text,
                                   signature, std::move(write));
}

}  // namespace cornu::data
