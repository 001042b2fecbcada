// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/checked_path.h"
#include "framework/io/gzip.h"
#include "framework/saving/hdf5_chunks.h"
#include "framework/saving/hdf5_elements.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/hdf5_object.h"

namespace cornu {
namespace {

using hdf5::MessageType;
using hdf5::TypeClass;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  if (path.empty() || path == "/") return parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    check<InvalidArgument>(end > begin, "expected names between its '/'.");
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_single(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t dim) { return dim == 1; });
}

}  // namespace

bool is_hdf5_file(const std::string& path) {
  std::string begin(hdf5::kSignature.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), std::ssize(begin)) && begin == hdf5::kSignature;
}

struct Hdf5Reader::State {
  using Links = std::map<std::string, hdf5::Link>;

  std::string name;
  std::unique_ptr<hdf5::Bytes> bytes;
  uint64_t root = 0;
  // Objects already read, by address: nothing is read twice, however often paths meet.
  std::map<uint64_t, std::shared_ptr<const hdf5::Object>> objects;
  std::map<uint64_t, std::shared_ptr<const Links>> links;  // of groups
  hdf5::Budget budget{0};                                  // for links
  std::optional<hdf5::StringHeaps> strings;

  std::shared_ptr<const hdf5::Object> object_at(uint64_t address) {
    if (const auto found = objects.find(address); found != objects.end()) return found->second;
    auto result = std::make_shared<hdf5::Object>(hdf5::read_object(*bytes, address));
    for (const hdf5::Message& message : result->messages) budget.take(message.data.size());
    hdf5::add_dense_attributes(*bytes, *result, budget);
    objects.emplace(address, result);
    return result;
  }

  std::shared_ptr<const Links> links_of(uint64_t address, const hdf5::Object& group) {
    if (const auto found = links.find(address); found != links.end()) return found->second;
    auto result = std::make_shared<const Links>(hdf5::read_links(*bytes, group, budget));
    links.emplace(address, result);
    return result;
  }

  struct Found {
    uint64_t address = 0;
    std::shared_ptr<const hdf5::Object> object;
  };
  // Returns nullopt if a name in the path doesn't exist; `missing` says which, and what exists
  // instead.
  std::optional<Found> find(std::string_view path, std::string* missing = nullptr) {
    Found at{root, object_at(root)};
    for (const std::string& part : split(path)) {
      const auto group = at.object->is_group() ? links_of(at.address, *at.object)
                                               : std::make_shared<const Links>();
      const auto link = group->find(part);
      if (link == group->end()) {
        if (missing) {
          std::vector<std::string> known;
          for (const auto& [child, unused] : *group) known.push_back(child);
          *missing = fmt::format("there is no '{}'.{}", part, did_you_mean(part, known));
        }
        return std::nullopt;
      }
      check<Unimplemented>(link->second.hard,
                           "'{}' is a link to another place, which isn't followed.", part);
      at.address = link->second.address;
      at.object = object_at(at.address);
    }
    return at;
  }

  Found get(std::string_view path) {
    std::string missing;
    auto found = find(path, &missing);
    check<NotFound>(found.has_value(), "{}", missing);
    return std::move(*found);
  }

  std::shared_ptr<const hdf5::Object> dataset(std::string_view path) {
    auto result = get(path).object;
    const hdf5::Object& object = *result;
    check<InvalidArgument>(object.is_dataset(), "it is a group, not a dataset.");
    check<Unimplemented>(!object.find(MessageType::ExternalFiles),
                         "its elements are in other files, which are not opened.");
    hdf5::read_layout(object);  // virtual ones aren't supported either
    return result;
  }

  std::optional<std::string> text(const hdf5::Object& object, const std::string& wanted) {
    const auto found = hdf5::find_attribute(object, wanted);
    if (!found) return std::nullopt;
    const bool fixed = found->type.type_class == TypeClass::String;
    check<InvalidArgument>((fixed || found->type.is_text) && is_single(found->shape),
                           "its attribute '{}' was asked for as a string, but is a {} of shape {}.",
                           wanted, found->type.to_string(), found->shape);
    if (!fixed) return strings->read(found->data);
    hdf5::Cursor cursor(found->data, "an attribute");
    const std::string padded = cursor.text(found->type.size);
    return padded.substr(0, padded.find('\0'));
  }

  std::optional<std::vector<std::string>> texts(const hdf5::Object& object,
                                                const std::string& wanted) {
    const auto found = hdf5::find_attribute(object, wanted);
    if (!found) return std::nullopt;
    std::vector<std::string> list;
    const auto count = static_cast<size_t>(found->shape.num_elements());
    if (count == 0) return list;
    const bool fixed = found->type.type_class == TypeClass::String;
    check<InvalidArgument>((fixed || found->type.is_text) && found->shape.rank() == 1,
                           "its attribute '{}' was asked for as a list of strings, but is a {} of "
                           "shape {}.",
                           wanted, found->type.to_string(), found->shape);
    const size_t size = found->type.size;
    check<DataLoss>(found->data.size() / size >= count,
                    "its attribute '{}' of {} strings is cut off.", wanted, count);
    for (size_t i = 0; i < count; ++i) {
      const auto element = std::span(found->data).subspan(i * size, size);
      if (fixed) {
        const std::string padded(reinterpret_cast<const char*>(element.data()), size);
        list.push_back(padded.substr(0, padded.find('\0')));
      } else {
        list.push_back(strings->read(element));
      }
    }
    return list;
  }

  struct Stored {
    hdf5::Dataspace space;
    DType dtype;
    bool swapped;  // big-endian
    size_t bytes() const { return static_cast<size_t>(space.shape.num_bytes(size_of(dtype))); }
  };
  Stored describe(const hdf5::Object& object) {
    hdf5::Cursor space(object.at(MessageType::Dataspace, "its shape").data, "its shape");
    hdf5::Cursor type(object.at(MessageType::Datatype, "its datatype").data, "its datatype");
    const hdf5::Datatype stored = hdf5::read_datatype(type);
    const bool opaque = stored.type_class == TypeClass::Opaque;
    const DType dtype = hdf5::to_dtype(stored, opaque ? text(object, "dtype").value_or("") : "");
    return {hdf5::read_dataspace(space), dtype, stored.big_endian && stored.size > 1};
  }

  // Throws InvalidArgument unless the dataset has this shape.
  Stored expect(const hdf5::Object& object, const Shape& shape) {
    Stored stored = describe(object);
    check<InvalidArgument>(stored.space.shape == shape,
                           "expected shape {}, got {}. Was the file written by the same model?",
                           shape, stored.space.shape);
    return stored;
  }

  struct Total {
    uint64_t plain = 0, filtered = 0;
  };
  // Adds all readable datasets; each counts once.
  void add_bytes_below(const Found& found, std::set<uint64_t>& seen, int depth, Total& total) {
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth || !seen.insert(found.address).second) return;
    try {
      if (found.object->is_group()) {
        for (const auto& [child, link] : *links_of(found.address, *found.object)) {
          if (!link.hard) continue;
          add_bytes_below({link.address, object_at(link.address)}, seen, depth + 1, total);
        }
      } else if (found.object->is_dataset()) {
        const bool filtered = found.object->find(MessageType::FilterPipeline);
        const uint64_t most = bytes->size() * (filtered ? kMaxInflation : 1);
        uint64_t& sum = filtered ? total.filtered : total.plain;
        sum = std::min(most, sum + std::min<uint64_t>(most, describe(*found.object).bytes()));
      }
    } catch (const Error&) {  // what can't be read doesn't count
    }
  }

  // Reads the elements as stored, in this machine's byte order.
  Tensor read(const hdf5::Object& object, const Stored& stored) {
    const hdf5::Layout layout = hdf5::read_layout(object);
    const Shape& shape = stored.space.shape;
    const size_t needed = stored.bytes();
    verify_place(object, layout, needed);
    Tensor tensor = Tensor::empty(shape, stored.dtype);
    const std::span<std::byte> out(tensor.mutable_raw(), needed);
    switch (layout.kind) {
      case hdf5::Layout::Kind::Compact:
        std::copy(layout.compact.begin(), layout.compact.end(), out.begin());
        break;
      case hdf5::Layout::Kind::Contiguous:
        if (needed > 0) bytes->read(layout.address, out, "its elements");
        break;
      case hdf5::Layout::Kind::Chunked:
        hdf5::read_chunked(*bytes, object, layout, stored.space, out);
        break;
    }
    if (stored.swapped) hdf5::swap_bytes(tensor);
    if (stored.dtype == DType::Bool) hdf5::verify_bools(tensor);
    return tensor;
  }

  // Performs the checks possible before allocating `needed` bytes for elements.
  void verify_place(const hdf5::Object& object, const hdf5::Layout& layout, size_t needed) const {
    if (layout.kind == hdf5::Layout::Kind::Chunked)
      return hdf5::verify_chunks(*bytes, layout, needed);
    check<DataLoss>(!object.find(MessageType::FilterPipeline), "it has filters, but no chunks.");
    const bool compact = layout.kind == hdf5::Layout::Kind::Compact;
    check<DataLoss>(layout.size == needed || (needed == 0 && !compact),
                    "expected {} bytes of elements, found {}.", needed, layout.size);
    check<DataLoss>(
        needed == 0 || compact ||
            (layout.address <= bytes->size() && needed <= bytes->size() - layout.address),
        "its elements were never written, or the file is cut off.");
  }

  // Runs `body`; errors name file and path.
  template <class F>
  auto at(const std::string& path, F&& body) {
    try {
      return body();
    } catch (Error& error) {
      error.add_place(path.empty() ? fmt::format("'{}'", name)
                                   : fmt::format("'{}': '{}'", name, path));
      throw;
    }
  }
};

Hdf5Reader::Hdf5Reader(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->budget = hdf5::Budget(2 * state_->bytes->size());  // separately for links and attributes
  state_->strings.emplace(*state_->bytes);
  state_->at("", [&] { state_->root = hdf5::read_root_address(*state_->bytes); });
}
Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;

Hdf5Reader Hdf5Reader::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  state->bytes = hdf5::Bytes::of_file(checked_path(path));
  return Hdf5Reader(std::move(state));
}

Hdf5Reader Hdf5Reader::open(const FileRange& range, const std::string& name) {
  auto state = std::make_unique<State>();
  state->name = name;
  state->bytes = hdf5::Bytes::of_range(range);
  return Hdf5Reader(std::move(state));
}

Hdf5Reader Hdf5Reader::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  auto state = std::make_unique<State>();
  state->name = name;
  state->bytes = hdf5::Bytes::of_memory(std::move(bytes));
  return Hdf5Reader(std::move(state));
}

bool Hdf5Reader::is_group(const std::string& path) const {
  return state_->at(path, [&] {
    const auto found = state_->find(path);
    return found && found->object->is_group();
  });
}

bool Hdf5Reader::is_dataset(const std::string& path) const {
  return state_->at(path, [&] {
    const auto found = state_->find(path);
    return found && found->object->is_dataset();
  });
}

std::vector<std::string> Hdf5Reader::children(const std::string& path) const {
  return state_->at(path, [&] {
    const auto group = state_->get(path);
    check<InvalidArgument>(group.object->is_group(), "it is a dataset, not a group.");
    std::vector<std::string> names;
    for (const auto& [name, link] : *state_->links_of(group.address, *group.object)) {
      names.push_back(name);
    }
    return names;
  });
}

Hdf5Reader::Dataset Hdf5Reader::describe(const std::string& path) const {
  return state_->at(path, [&] {
    const State::Stored stored = state_->describe(*state_->dataset(path));
    return Dataset{stored.space.shape, stored.dtype};
  });
}

Tensor Hdf5Reader::read(const std::string& path, const Shape& shape, DType dtype) const {
  return state_->at(path, [&] {
    const auto object = state_->dataset(path);
    const State::Stored stored = state_->expect(*object, shape);
    return hdf5::convert(state_->read(*object, stored), dtype);
  });
}

void Hdf5Reader::verify(const std::string& path, const Shape& shape, DType dtype) const {
  return state_->at(path, [&] {
    const auto object = state_->dataset(path);
    const State::Stored stored = state_->expect(*object, shape);
    const hdf5::Layout layout = hdf5::read_layout(*object);
    const bool plain = layout.kind != hdf5::Layout::Kind::Chunked && stored.dtype != DType::Bool &&
                       hdf5::always_converts(stored.dtype, dtype);
    if (plain) return state_->verify_place(*object, layout, stored.bytes());
    hdf5::convert(state_->read(*object, stored), dtype);
  });
}

uint64_t Hdf5Reader::bytes_of_datasets() const {
  return state_->at("", [&] {
    std::set<uint64_t> seen;
    State::Total total;
    state_->add_bytes_below(state_->get(""), seen, 0, total);
    return total.plain + total.filtered;
  });
}

std::optional<std::string> Hdf5Reader::string_attribute(const std::string& path,
                                                        const std::string& name) const {
  return state_->at(path, [&] { return state_->text(*state_->get(path).object, name); });
}

std::optional<std::vector<std::string>> Hdf5Reader::strings_attribute(
    const std::string& path, const std::string& name) const {
  return state_->at(path, [&] { return state_->texts(*state_->get(path).object, name); });
}

std::optional<int64_t> Hdf5Reader::int_attribute(const std::string& path,
                                                 const std::string& name) const {
  return state_->at(path, [&]() -> std::optional<int64_t> {
    auto found = hdf5::find_attribute(*state_->get(path).object, name);
    if (!found) return std::nullopt;
    const hdf5::Datatype& type = found->type;
    check<InvalidArgument>(
        type.type_class == TypeClass::Integer && type.size <= 8 && is_single(found->shape),
        "its attribute '{}' was asked for as an integer, but is a {} of shape {}.", name,
        type.to_string(), found->shape);
    if (type.big_endian) std::reverse(found->data.begin(), found->data.end());
    hdf5::Cursor cursor(found->data, "an attribute");
    const uint64_t bits = cursor.number(type.size);
    const int unused = 64 - 8 * static_cast<int>(type.size);
    if (type.is_signed) return static_cast<int64_t>(bits << unused) >> unused;
    check<InvalidArgument>(std::in_range<int64_t>(bits),
                           "its attribute '{}' is {}, which isn't int64.", name, bits);
    return static_cast<int64_t>(bits);
  });
}

}  // namespace cornu
