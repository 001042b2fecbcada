// SPDX-License-Identifier: Apache-2.0
// Converts chains to JSON and back.
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "data/serialization.h"
#include "data/serialization/link.h"
#include "framework/core/random.h"
#include "framework/io/hash.h"

namespace cornu::data {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kLongestChain = 1024;  // links in a row, since recursion is limited by the stack
constexpr int64_t kMaxPaths = 1 << 14;   // links when the chain is expanded to a tree, as for
                                         // descriptions and seeds
constexpr size_t kMaxSpecEntries = 1 << 20;  // tensors and axes in the specs of all links

// The size of the chain that ends with a link.
struct Extent {
  int64_t length = 1;
  int64_t paths = 1;
};

Extent extent_above(const std::vector<Extent>& inputs) {
  Extent all;
  for (const Extent& input : inputs) {
    all.length = std::max(all.length, input.length + 1);
    all.paths = std::min(all.paths + input.paths, kMaxPaths + 1);
  }
  return all;
}

template <class Kind>
void check_extent(const Extent& extent) {
  check<Kind>(extent.length <= kLongestChain,
              "a serialized dataset has at most {} links behind one another, got more.",
              kLongestChain);
  check<Kind>(extent.paths <= kMaxPaths,
              "a serialized dataset has at most {} links, each counted as often as it is used, got "
              "more.",
              kMaxPaths);
}

class PipelineWriter {
 public:
  // `blobs`: see LinkWriter. `all`: whether to include drawn seeds and hints. `left_out`: receives
  // the names of links that can't be serialized; if null, those are errors.
  PipelineWriter(Blobs* blobs, bool all, std::set<std::string>* left_out = nullptr)
      : blobs_(blobs), all_(all), left_out_(left_out) {}

  Json json(const NodePtr& end) {
    const int64_t number = number_of(end);
    return Json::object({{"version", kVersion}, {"links", std::move(links_)}, {"end", number}});
  }
  std::string text(const NodePtr& end) { return json(end).dump(); }

 private:
  struct Known {
    int64_t number;
    Extent extent;
  };

  int64_t number_of(const NodePtr& node) {
    if (const auto known = known_.find(node.get()); known != known_.end()) {
      return known->second.number;
    }
    check_extent<FailedPrecondition>({++depth_, 0});
    Json inputs = Json::array();
    std::vector<Extent> extents;
    for (const NodePtr& input : node->inputs()) {
      inputs.push_back(number_of(input));
      extents.push_back(known_.at(input.get()).extent);
    }
    --depth_;
    const Extent extent = extent_above(extents);
    check_extent<FailedPrecondition>(extent);
    const LinkWriter link = written(*node);
    Json json = Json::object(
        {{"kind", link.kind()}, {"inputs", std::move(inputs)}, {"config", link.config()}});
    if (const auto* seed = all_ ? node->drawn_seed() : nullptr) {
      json.set("drawn_seed", static_cast<int64_t>(seed->load()));
    }
    links_.push_back(std::move(json));
    const auto number = static_cast<int64_t>(links_.size()) - 1;
    known_[node.get()] = {number, extent};
    return number;
  }

  LinkWriter written(const Node& node) {
    try {
      LinkWriter link(blobs_, all_);
      node.write(link);
      return link;
    } catch (const FailedPrecondition&) {
      if (!left_out_) throw;
    }
    const std::string text = node.describe();
    left_out_->insert(text.substr(0, text.find('(')));
    LinkWriter link(blobs_, all_);
    link.kind("unknown")("describe", text);
    return link;
  }

  Blobs* blobs_;
  bool all_;
  std::set<std::string>* left_out_;
  Json links_ = Json::array();
  std::map<const Node*, Known> known_;
  int64_t depth_ = 0;
};

const Json& part(const Json& json, const char* key, bool (Json::*is)() const) {
  const Json* found = json.is_object() ? json.find(key) : nullptr;
  check<DataLoss>(found != nullptr && (found->*is)(), "expected '{}' in {}.", key, json.excerpt());
  return *found;
}

class PipelineReader {
 public:
  explicit PipelineReader(const SerializedDataset& serialized) : blobs_(serialized.blobs) {
    bytes_ = serialized.pipeline.size();
    for (const auto& [key, blob] : serialized.blobs) bytes_ += blob.size();
  }

  NodePtr read(const Json& json) {
    const int64_t version = part(json, "version", &Json::is_int).as_int();
    check<InvalidArgument>(version == kVersion,
                           "expected version {}, got {}. It was written by another version of this "
                           "library.",
                           kVersion, version);
    const Json& links = part(json, "links", &Json::is_array);
    const Json& end = part(json, "end", &Json::is_int);
    for (size_t i = 0; i < links.size(); ++i) {
      try {
        add(links[i]);
      } catch (Error& error) {
        const Json* kind = links[i].is_object() ? links[i].find("kind") : nullptr;
        error.add_place(fmt::format(
            "link {}{}", i,
            kind && kind->is_string() ? " (" + printable(kind->as_string()) + ")" : ""));
        throw;
      }
    }
    return nodes_[index(end)];
  }

 private:
  size_t index(const Json& number) const {
    check<DataLoss>(number.is_int() && number.as_int() >= 0 && number.as_int() < std::ssize(nodes_),
                    "expected the number of a link in [0, {}), got {}.", nodes_.size(),
                    number.excerpt());
    return static_cast<size_t>(number.as_int());
  }

  void add(const Json& json) {
    const std::string& name = part(json, "kind", &Json::is_string).as_string();
    const Json& config = part(json, "config", &Json::is_object);
    const LinkKind& kind = link_registry().at(name);
    std::vector<NodePtr> inputs;
    std::vector<Extent> extents;
    for (const Json& number : part(json, "inputs", &Json::is_array).as_array()) {
      const size_t i = index(number);
      inputs.push_back(nodes_[i]);
      extents.push_back(extents_[i]);
      count_spec(nodes_[i]->spec());
    }
    check<InvalidArgument>(inputs.size() >= kind.least_inputs && inputs.size() <= kind.most_inputs,
                           "expected {}{} inputs, got {}.", kind.least_inputs,
                           kind.most_inputs == kind.least_inputs ? "" : " or more", inputs.size());
    const Extent extent = extent_above(extents);
    check_extent<InvalidArgument>(extent);
    LinkReader link(config, std::move(inputs), blobs_, bytes_);
    nodes_.push_back(kind.read(link));
    extents_.push_back(extent);
    restore_seed(*nodes_.back(), json);
  }

  void restore_seed(const Node& node, const Json& json) const {
    const Json* seed = json.find("drawn_seed");
    auto* own = node.drawn_seed();
    check<InvalidArgument>((seed != nullptr) == (own != nullptr), "expected {}, got {}.",
                           own ? "the seed that it drew" : "no drawn_seed",
                           seed ? seed->excerpt() : "none");
    if (!seed) return;
    check<InvalidArgument>(seed->is_int(), "expected a drawn_seed, got {}.", seed->excerpt());
    own->store(static_cast<uint64_t>(seed->as_int()));
  }

  void count_spec(const ElementSpec& spec) {
    for (const TensorType& type : spec.types) {
      spec_entries_ += 1 + static_cast<size_t>(type.shape.rank());
    }
    check<InvalidArgument>(spec_entries_ <= kMaxSpecEntries + bytes_,
                           "expected elements of fewer tensors and axes.");
  }

  BlobReader blobs_;
  size_t bytes_;
  std::vector<NodePtr> nodes_;
  std::vector<Extent> extents_;
  size_t spec_entries_ = 0;
};

}  // namespace

SerializedDataset serialize(const Dataset& dataset) {
  SerializedDataset serialized;
  serialized.pipeline = PipelineWriter(&serialized.blobs, true).text(dataset.node());
  return serialized;
}

Dataset deserialize(const SerializedDataset& serialized) {
  const SeedSequenceScope seeds(0);  // doesn't use up the program's seeds
  try {
    return Dataset(PipelineReader(serialized).read(Json::parse(serialized.pipeline)));
  } catch (Error& error) {
    error.add_place("deserialize");
    throw;
  }
}

std::string fingerprint(const Dataset& dataset) {
  Blobs blobs;  // their keys are in the text
  const std::string text = PipelineWriter(&blobs, false).text(dataset.node());
  return hash_of(std::as_bytes(std::span(text)), HashAlgorithm::Sha256);
}

PartialFingerprint partial_fingerprint(const NodePtr& node) {
  Blobs blobs;
  std::set<std::string> left_out;
  const std::string text = PipelineWriter(&blobs, false, &left_out).text(node);
  return {hash_of(std::as_bytes(std::span(text)), HashAlgorithm::Sha256),
          fmt::format("{}", fmt::join(left_out, ", "))};
}

namespace {

// Removes what may differ between processes that compute the same: directories and thread counts.
Json without_places(const Json& json) {
  if (json.is_string()) {
    const std::string& text = json.as_string();
    return text.substr(text.rfind('/') + 1);  // npos + 1 is 0
  }
  if (json.is_array()) {
    Json::Array elements;
    for (const Json& element : json.as_array()) elements.push_back(without_places(element));
    return elements;
  }
  if (!json.is_object()) return json;
  static const std::set<std::string> kOwn = {"autotune", "cpu_budget", "ram_budget", "statistics"};
  Json::Object members;
  for (const auto& [name, value] : json.as_object()) {
    if (!kOwn.contains(name)) members.emplace_back(name, without_places(value));
  }
  return Json::of_members(std::move(members));
}

}  // namespace

Json comparable_pipeline(const NodePtr& node) {
  std::set<std::string> left_out;
  return without_places(PipelineWriter(nullptr, false, &left_out).json(node).at("links"));
}

}  // namespace cornu::data
