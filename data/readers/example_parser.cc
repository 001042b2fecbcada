// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <unordered_map>

#include "data/example.h"
#include "data/readers/exact_scalar.h"
#include "data/readers/example_columns.h"
#include "data/serialization/host_functions.h"

namespace cornu::data {
namespace {

// An entry of a map<string, Message>.
struct NamedMessage {
  std::string_view name;
  std::string_view message;
};

NamedMessage map_entry(std::string_view entry) {
  NamedMessage result;
  wire::Reader reader(entry);
  while (!reader.done()) {
    wire::Type type;
    const uint32_t field = reader.field(type);
    if (type == wire::Type::Bytes && field <= 2) {
      (field == 1 ? result.name : result.message) = reader.bytes();
    } else {
      reader.skip(type);
    }
  }
  return result;
}

// Calls `use` for each field `number` of a message that is itself a message or a string.
template <class F>
void for_each_member(std::string_view message, uint32_t number, F use) {
  wire::Reader reader(message);
  while (!reader.done()) {
    wire::Type type;
    const uint32_t field = reader.field(type);
    if (field == number && type == wire::Type::Bytes) {
      use(reader.bytes());
    } else {
      reader.skip(type);
    }
  }
}

// Runs `read` on the message of example `number`, and reports damage.
template <class F>
void reading(const char* who, std::string_view message, int64_t number, const std::string_view& key,
             F read) {
  try {
    read();
  } catch (const wire::Damage& damage) {
    raise<DataLoss>("{}: example {} is damaged{} at byte {} of {}: {}.", who, number,
                    key.empty() ? "" : fmt::format(", key '{}',", key),
                    damage.where - message.data(), message.size(), damage.what);
  }
}

// Looks up features by name. Examples mostly have their features in the same order, so if the name
// is the same as at this position in the last example, no search is needed.
class FeatureNames {
 public:
  explicit FeatureNames(const Features& features) {
    for (size_t i = 0; i < features.size(); ++i) numbers_.emplace(features[i].first, i);
  }

  static constexpr size_t kNone = SIZE_MAX;
  size_t find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? kNone : found->second;
  }

  class Finder {
   public:
    explicit Finder(const FeatureNames& names) : names_(names) {}
    void begin_example() { place_ = 0; }
    size_t find(std::string_view name) {
      if (place_ == kKept) return names_.find(name);
      if (place_ == last_.size()) last_.emplace_back(name, names_.find(name));
      auto& last = last_[place_++];
      if (last.first != name) last = {name, names_.find(name)};
      return last.second;
    }

   private:
    static constexpr size_t kKept = 4096;
    const FeatureNames& names_;
    std::vector<std::pair<std::string_view, size_t>> last_;
    size_t place_ = 0;
  };

 private:
  std::unordered_map<std::string_view, size_t> numbers_;
};

const Features& checked(const Features& features, const char* who) {
  check<InvalidArgument>(!features.empty(), "{}: expected features, got none.", who);
  std::set<std::string_view> names;
  for (const auto& [name, feature] : features) {
    check<InvalidArgument>(names.insert(name).second, "{}: the feature '{}' comes twice.", who,
                           name);
  }
  return features;
}

std::shared_ptr<const Structure> dictionary_of(const Features& features) {
  std::vector<std::pair<std::string, Structure>> members;
  for (const auto& [name, feature] : features) members.emplace_back(name, Structure());
  return std::make_shared<const Structure>(Structure::dict(std::move(members)));
}

void require_rank(const Tensor& serialized, int64_t rank, const char* who) {
  check<InvalidArgument>(serialized.dtype() == DType::String && serialized.rank() == rank,
                         "{}: expected serialized examples, string {}, got {} {}.", who,
                         rank == 0 ? "()" : "(examples,)", to_string(serialized.dtype()),
                         serialized.shape().to_string());
}

// The FeatureLists of a SequenceExample by name.
using Lists = std::unordered_map<std::string_view, std::string_view>;

Lists lists_of(std::string_view message) {
  Lists lists;
  for_each_member(message, 2, [&](std::string_view map) {
    for_each_member(map, 1, [&](std::string_view entry) {
      const NamedMessage named = map_entry(entry);
      lists[named.name] = named.message;
    });
  });
  return lists;
}

using Steps = std::vector<FeatureValues>;

// The steps of example `number`, which may not have this list.
Steps steps_of(const FeatureKind& kind, const Lists& lists, int64_t number) {
  Steps steps;
  const auto list = lists.find(kind.key);
  if (list == lists.end()) {
    check<InvalidArgument>(!kind.required,
                           "{}: example {}: the feature list '{}' is missing. Give it "
                           "allow_missing, where it may be.",
                           kind.who, number, kind.key);
    return steps;
  }
  for_each_member(list->second, 1,
                  [&](std::string_view step) { steps.push_back(values_of_feature(step)); });
  for (const FeatureValues& step : steps) {
    check<InvalidArgument>(step.set || kind.count == FeatureKind::Count::Any,
                           "{}: example {}: the feature '{}' ({} {}) is missing in a step.",
                           kind.who, number, kind.key, kind.dtype, kind.shape);
  }
  return steps;
}

// The kind of a single step, or of a missing one after an example's last.
FeatureKind kind_of_step(const FeatureKind& list) {
  FeatureKind kind = list;
  kind.required = false;
  if (list.count != FeatureKind::Count::Rows) return kind;
  kind.count = FeatureKind::Count::Fixed;
  if (!kind.default_value.defined()) kind.default_value = zero_of(kind.dtype);
  kind.default_value = spread(kind.default_value, kind.shape);
  return kind;
}

// The feature lists of examples: rows for the steps, and the number of steps of each example.
struct ParsedLists {
  Element rows;
  Element lengths;
};

// `batched`: whether the result has an axis of examples.
ParsedLists parse_lists(std::span<const std::string> messages, const Features& features,
                        const char* who, bool batched) {
  const auto count = std::ssize(messages);
  const auto for_each_example = [&](const std::string& key, const auto& parse) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      reading(who, messages[at], i, key, [&] { parse(at, i); });
    }
  };
  std::vector<Lists> lists(messages.size());
  for_each_example("", [&](size_t at, int64_t) { lists[at] = lists_of(messages[at]); });
  std::vector<Tensor> rows;
  std::vector<Tensor> lengths;
  for (const auto& [name, feature] : checked(features, who)) {
    check<InvalidArgument>(!std::holds_alternative<FixedLenFeature>(feature),
                           "{}: the feature list '{}' was expected to be a "
                           "FixedLenSequenceFeature or a VarLenFeature, got a FixedLenFeature.",
                           who, name);
    const FeatureKind kind = feature_kind(who, name, feature);
    std::vector<Steps> steps(messages.size());
    std::vector<int64_t> sizes(messages.size());
    for_each_example(name, [&](size_t at, int64_t number) {
      steps[at] = steps_of(kind, lists[at], number);
      sizes[at] = std::ssize(steps[at]);
    });
    const int64_t most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    const FeatureKind of_step = kind_of_step(kind);
    const auto column = make_column(of_step, batched ? Shape{count, most} : Shape{most});
    for_each_example(name, [&](size_t at, int64_t number) {
      steps[at].resize(static_cast<size_t>(most));
      for (const FeatureValues& step : steps[at]) column->add(step, number);
    });
    rows.push_back(column->finish());
    lengths.push_back(Tensor::from(sizes));
  }
  return {Element(std::move(rows), dictionary_of(features)),
          Element(std::move(lengths), dictionary_of(features))};
}

}  // namespace

struct ExampleParser::State {
  State(const Features& given, const char* name)
      : who(name),
        features(checked(given, name)),
        names(features),
        structure(dictionary_of(features)) {
    for (const auto& [key, feature] : features) kinds.push_back(feature_kind(who, key, feature));
  }

  // The features of the examples in `messages`; `outer` has the axes of examples.
  Element parse(std::span<const std::string> messages, const Shape& outer) const {
    std::vector<std::unique_ptr<ExampleColumn>> columns;
    for (const FeatureKind& kind : kinds) columns.push_back(make_column(kind, outer));
    std::vector<FeatureValues> found(kinds.size());
    FeatureNames::Finder finder(names);
    for (size_t i = 0; i < messages.size(); ++i) {
      const std::string_view message = messages[i];
      std::string_view key;
      std::fill(found.begin(), found.end(), FeatureValues());
      finder.begin_example();
      reading(who, message, static_cast<int64_t>(i), key, [&] {
        for_each_member(message, 1, [&](std::string_view map) {
          for_each_member(map, 1, [&](std::string_view entry) {
            const NamedMessage named = map_entry(entry);
            const size_t number = finder.find(named.name);
            if (number == FeatureNames::kNone) return;
            key = kinds[number].key;
            found[number] = values_of_feature(named.message);
            key = {};
          });
        });
        for (size_t k = 0; k < columns.size(); ++k) {
          key = kinds[k].key;
          columns[k]->add(found[k], static_cast<int64_t>(i));
        }
      });
    }
    std::vector<Tensor> tensors;
    for (const auto& column : columns) tensors.push_back(column->finish());
    return Element(std::move(tensors), structure);
  }

  const char* who;
  Features features;
  FeatureNames names;  // views into `features`
  std::shared_ptr<const Structure> structure;
  std::vector<FeatureKind> kinds;
};

ExampleParser::ExampleParser(const Features& features)
    : state_(std::make_shared<const State>(features, "ExampleParser")) {}

Element ExampleParser::operator()(const Tensor& serialized) const {
  check<InvalidArgument>(serialized.dtype() == DType::String,
                         "{}: expected serialized examples, strings, got {} {}.", state_->who,
                         serialized.dtype(), serialized.shape());
  return state_->parse(serialized.data<std::string>(), serialized.shape());
}

namespace {

constexpr int64_t kMaxDefaults = 1 << 22;  // maximum number of values of a feature read from
                                           // another process

// The names of the variant's alternatives.
const std::vector<std::string> kFeatureKinds = {"fixed_len", "var_len", "fixed_len_sequence"};

// The features, with one list per property.
struct FeatureLists {
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  std::vector<bool> allow_missing;
  std::vector<Tensor> defaults;

  void add(const std::string& name, const Feature& feature) {
    names.push_back(name);
    kinds.push_back(kFeatureKinds[feature.index()]);
    std::visit([this](const auto& of) { add(of); }, feature);
  }
  Features features() const {
    const size_t count = names.size();
    check<InvalidArgument>(kinds.size() == count && shapes.size() == count &&
                               dtypes.size() == count && allow_missing.size() == count &&
                               defaults.size() == count,
                           "expected as many kinds, shapes and so on as names of features.");
    Features result;
    for (size_t i = 0; i < count; ++i) result.emplace_back(names[i], feature(i));
    return result;
  }

 private:
  void add(const FixedLenFeature& of) { add(of.shape, of.dtype, false, of.default_value); }
  void add(const VarLenFeature& of) { add({}, of.dtype, false, {}); }
  void add(const FixedLenSequenceFeature& of) {
    add(of.shape, of.dtype, of.allow_missing, of.default_value);
  }
  void add(const Shape& shape, DType dtype, bool missing, const Tensor& default_value) {
    shapes.push_back(shape);
    dtypes.push_back(dtype);
    allow_missing.push_back(missing);
    const bool weak = default_value.defined() && default_value.is_weak();  // isn't serialized
    defaults.push_back(weak ? exact_scalar(default_value.weak_value(), dtype, "the default_value")
                            : default_value);
  }
  Feature feature(size_t i) const {
    if (kinds[i] == kFeatureKinds[0]) return FixedLenFeature{shapes[i], dtypes[i], defaults[i]};
    if (kinds[i] == kFeatureKinds[1]) return VarLenFeature{dtypes[i]};
    check<InvalidArgument>(kinds[i] == kFeatureKinds[2], "expected a kind of feature, got '{}'.",
                           kinds[i]);
    return FixedLenSequenceFeature{shapes[i], dtypes[i], allow_missing[i], defaults[i]};
  }
};

template <class Fields>
void visit_fields(Fields& fields, FeatureLists& lists) {
  fields("names", lists.names);
  fields("kinds", lists.kinds);
  fields("shapes", lists.shapes);
  fields("dtypes", lists.dtypes);
  fields("allow_missing", lists.allow_missing);
  fields("defaults", lists.defaults);
}

}  // namespace

void ExampleParser::write(LinkWriter& link) const {
  FeatureLists lists;
  for (const auto& [name, feature] : state_->features) lists.add(name, feature);
  link("host_function", "example_parser").options(lists);
}

MapFunction read_example_parser(LinkReader& link) {
  const auto lists = link.options<FeatureLists>();
  // A default is broadcast to its feature's shape.
  const int64_t most = kMaxDefaults + static_cast<int64_t>(link.bytes());
  for (const Shape& shape : lists.shapes) {
    check<InvalidArgument>(!shape.is_static() || shape.num_elements() <= most,
                           "expected features of at most {} values, got the shape {}.", most,
                           shape);
  }
  return map_function(ExampleParser(lists.features()));
}

bool ExampleParser::works_on_batches() const {
  return std::all_of(state_->kinds.begin(), state_->kinds.end(), [](const FeatureKind& kind) {
    return kind.count == FeatureKind::Count::Fixed;
  });
}

Element parse_example(const Tensor& serialized, const Features& features) {
  require_rank(serialized, 1, "parse_example");
  return ExampleParser::State(features, "parse_example")
      .parse(serialized.data<std::string>(), serialized.shape());
}

Element parse_single_example(const Tensor& serialized, const Features& features) {
  require_rank(serialized, 0, "parse_single_example");
  return ExampleParser::State(features, "parse_single_example")
      .parse(serialized.data<std::string>(), {});
}

Element parse_single_sequence_example(const Tensor& serialized, const Features& context_features,
                                      const Features& sequence_features) {
  constexpr const char* kWho = "parse_single_sequence_example";
  require_rank(serialized, 0, kWho);
  // A context is in the same field as an example's features.
  const auto context = [&] {
    return ExampleParser::State(context_features, kWho).parse(serialized.data<std::string>(), {});
  };
  if (sequence_features.empty()) return context();
  const Element lists =
      parse_lists(serialized.data<std::string>(), sequence_features, kWho, false).rows;
  return context_features.empty() ? lists : Element::tuple({context(), lists});
}

Element parse_sequence_example(const Tensor& serialized, const Features& context_features,
                               const Features& sequence_features) {
  constexpr const char* kWho = "parse_sequence_example";
  require_rank(serialized, 1, kWho);
  const auto messages = serialized.data<std::string>();
  const auto context = [&] {
    return ExampleParser::State(context_features, kWho).parse(messages, serialized.shape());
  };
  if (sequence_features.empty()) return context();
  const ParsedLists lists = parse_lists(messages, sequence_features, kWho, true);
  return context_features.empty() ? Element::tuple({lists.rows, lists.lengths})
                                  : Element::tuple({context(), lists.rows, lists.lengths});
}

}  // namespace cornu::data
