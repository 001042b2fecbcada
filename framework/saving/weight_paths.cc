// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weight_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "framework/core/strings.h"
#include "framework/model/call_frame.h"
#include "framework/model/functional.h"
#include "framework/model/layer_registry.h"
#include "framework/model/saved_parts.h"

namespace cornu {
namespace {

class Walk {
 public:
  explicit Walk(std::set<const Layer*> skipped) : seen_(std::move(skipped)) {}

  void visit(const Layer& layer, const std::string& path) {
    if (!seen_.insert(&layer).second) return;
    SavedLayer saved{path, &layer, layer.own_weights_in_order(),
                     groups_beyond(layer, path.empty() ? "" : path + "/")};
    if (const auto parts = saved_parts_of(layer)) {
      saved.weights = parts->saved_weights(std::move(saved.weights));
    }
    found_.push_back(std::move(saved));
    visit_children(layer, path.empty() ? "" : path + "/");
  }

  std::vector<SavedLayer> take() { return std::move(found_); }

 private:
  // Python lists attributes alphabetically; Keras puts private ones last. The elements of a
  // container ("blocks/dense_2") keep their order.
  static std::string sort_key(const std::string& key) {
    const std::string attribute = key.substr(0, key.find('/'));
    return attribute.starts_with('_') ? "~" + attribute : attribute;
  }

  // The numbers that would follow those of sub-layers discovered by calls.
  static std::vector<std::string> groups_beyond(const Layer& layer, const std::string& prefix) {
    const auto& children = layer.tracked();
    const size_t count = internal::CallFrame::taken_in(layer);
    std::vector<std::string> result;
    std::set<std::string> stems;
    for (size_t i = children.size() - count; i < children.size(); ++i) {
      const std::string stem = default_name(children[i].second->class_name());
      if (!stems.insert(stem).second) continue;
      const auto same = std::count_if(children.begin(), children.end(), [&](const auto& child) {
        return default_name(child.second->class_name()) == stem;
      });
      for (const char* list : {"", "layers/"}) {
        result.push_back(fmt::format("{}{}{}_{}", prefix, list, stem, same));
      }
    }
    return result;
  }

  void visit_children(const Layer& layer, const std::string& prefix) {
    const auto list = layer.saved_list();
    std::vector<std::pair<std::string, std::shared_ptr<Layer>>> children = layer.tracked();
    if (list) children.emplace_back("layers", nullptr);
    std::stable_sort(children.begin(), children.end(), [](const auto& a, const auto& b) {
      return sort_key(a.first) < sort_key(b.first);
    });
    for (const auto& [attribute, child] : children) {
      if (child) {
        visit(*child, prefix + attribute);
      } else {
        visit_list(*list, prefix + attribute + "/");
      }
    }
  }

  void visit_list(const std::vector<std::shared_ptr<Layer>>& layers, const std::string& prefix) {
    std::map<std::string, int> used;
    for (const auto& layer : layers) {
      if (is_operation(*layer)) continue;  // not a layer in Keras
      const std::string stem = default_name(layer->class_name());
      const int number = used[stem]++;
      visit(*layer, prefix + (number == 0 ? stem : stem + "_" + std::to_string(number)));
    }
  }

  std::set<const Layer*> seen_;
  std::vector<SavedLayer> found_;
};

}  // namespace

std::string group_in(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

std::string parent_group(const std::string& group) {
  const size_t end = group.rfind('/');
  return end == std::string::npos ? "" : group.substr(0, end);
}

std::vector<SavedLayer> weight_paths(const Layer& model, std::set<const Layer*> skipped) {
  Walk walk(std::move(skipped));
  walk.visit(model, "");
  return walk.take();
}

}  // namespace cornu
