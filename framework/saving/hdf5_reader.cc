// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <concepts>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/hdf5_object.h"

namespace cornu {
namespace {

using hdf5::Attribute;
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

// "an integer", "a float" or "a bool": what may be converted into each other.
const char* kind_of(DType dtype) {
  return is_floating(dtype) ? "a float" : is_integer(dtype) ? "an integer" : "a bool";
}

void verify_bools(const Tensor& tensor) {
  const std::byte* bytes = tensor.raw();
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    check<DataLoss>(bytes[i] <= std::byte{1}, "element {} is no bool: {}.", i,
                    static_cast<int>(bytes[i]));
  }
}

template <class From, class To>
void convert_elements(const Tensor& from, Tensor& to) {
  const auto source = from.data<From>();
  const auto target = to.mutable_data<To>();
  for (size_t i = 0; i < source.size(); ++i) {
    if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
      check<InvalidArgument>(std::in_range<To>(source[i]), "element {} is {}, which isn't {}.", i,
                             source[i], to.dtype());
      target[i] = static_cast<To>(source[i]);
    } else if constexpr (std::is_floating_point_v<To>) {
      target[i] = static_cast<To>(source[i]);
    } else {
      target[i] = To(static_cast<float>(source[i]));
    }
  }
}

Tensor convert(const Tensor& stored, DType dtype) {
  if (stored.dtype() == dtype) return stored;
  Tensor result = Tensor::empty(stored.shape(), dtype);
  dispatch_dtype(stored.dtype(), [&](auto from) {
    dispatch_dtype(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      if constexpr (!std::is_same_v<From, bool> && !std::is_same_v<To, bool> &&
                    std::is_integral_v<From> == std::is_integral_v<To>) {
        convert_elements<From, To>(stored, result);
      }
    });
  });
  return result;
}

}  // namespace

struct Hdf5Reader::State {
  using Links = std::map<std::string, hdf5::Link>;

  std::string name;
  std::unique_ptr<hdf5::Bytes> bytes;
  uint64_t root = 0;
  // What was read, by address: nothing is read twice, however often paths meet.
  std::map<uint64_t, std::shared_ptr<const hdf5::Object>> objects;
  std::map<uint64_t, std::shared_ptr<const Links>> links;  // of groups
  hdf5::Budget budget{0};                                  // for these

  std::shared_ptr<const hdf5::Object> object_at(uint64_t address) {
    if (const auto found = objects.find(address); found != objects.end()) return found->second;
    auto result = std::make_shared<const hdf5::Object>(hdf5::read_object(*bytes, address));
    for (const hdf5::Message& message : result->messages) budget.take(message.data.size());
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
  // None when a name on the way isn't there; `missing` says which, and what is there instead.
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
    check<Unimplemented>(!object.find(MessageType::FilterPipeline),
                         "it is compressed; only plain datasets can be read. h5repack -l CONTI "
                         "-f NONE rewrites the file so.");
    return result;
  }

  std::optional<Attribute> attribute(const hdf5::Object& object, const std::string& wanted) {
    for (const hdf5::Message& message : object.messages) {
      if (message.type != MessageType::Attribute) continue;
      if (auto found = hdf5::read_attribute(message, wanted)) return found;
    }
    if (const hdf5::Message* info = object.find(MessageType::AttributeInfo)) {
      hdf5::Cursor cursor(info->data, "an object's attributes");
      cursor.version(0, 0);
      if (cursor.u8() & 1) cursor.skip(2);
      check<Unimplemented>(cursor.u64() == hdf5::kUndefined,
                           "it has so many attributes that they can't be read.");
    }
    return std::nullopt;
  }

  std::optional<std::string> text(const hdf5::Object& object, const std::string& wanted) {
    const auto found = attribute(object, wanted);
    if (!found) return std::nullopt;
    const bool fixed = found->type.type_class == TypeClass::String;
    check<InvalidArgument>((fixed || found->type.is_text) && is_single(found->shape),
                           "its attribute '{}' was asked for as a string, but is a {} of shape {}.",
                           wanted, found->type.to_string(), found->shape);
    if (!fixed) return hdf5::read_heap_string(*bytes, found->data);
    hdf5::Cursor cursor(found->data, "an attribute");
    const std::string padded = cursor.text(found->type.size);
    return padded.substr(0, padded.find('\0'));
  }

  std::optional<std::vector<std::string>> texts(const hdf5::Object& object,
                                                const std::string& wanted) {
    const auto found = attribute(object, wanted);
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
        list.push_back(hdf5::read_heap_string(*bytes, element));
      }
    }
    return list;
  }

  Hdf5Reader::Dataset describe(const hdf5::Object& object) {
    hdf5::Cursor space(object.at(MessageType::Dataspace, "its shape").data, "its shape");
    hdf5::Cursor type(object.at(MessageType::Datatype, "its datatype").data, "its datatype");
    const hdf5::Datatype stored = hdf5::read_datatype(type);
    const bool opaque = stored.type_class == TypeClass::Opaque;
    return {hdf5::read_dataspace(space),
            hdf5::to_dtype(stored, opaque ? text(object, "dtype").value_or("") : "")};
  }

  // The elements as they are stored.
  Tensor read(const hdf5::Object& object, const Hdf5Reader::Dataset& stored) {
    const hdf5::Layout layout = hdf5::read_layout(object);
    const size_t needed = static_cast<size_t>(stored.shape.num_elements()) * size_of(stored.dtype);
    check<DataLoss>(layout.size == needed || (needed == 0 && !layout.is_compact),
                    "expected {} bytes of elements, found {}.", needed, layout.size);
    check<DataLoss>(
        needed == 0 || layout.is_compact ||
            (layout.address <= bytes->size() && needed <= bytes->size() - layout.address),
        "its elements were never written, or the file is cut off.");
    Tensor tensor = Tensor::empty(stored.shape, stored.dtype);
    const std::span<std::byte> out(tensor.mutable_raw(), needed);
    if (layout.is_compact) {
      std::copy(layout.compact.begin(), layout.compact.end(), out.begin());
    } else if (needed > 0) {
      bytes->read(layout.address, out, "its elements");
    }
    if (stored.dtype == DType::Bool) verify_bools(tensor);
    return tensor;
  }

  // Runs `body`, naming file and path in the errors that pass.
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
  state_->budget = hdf5::Budget(2 * state_->bytes->size());  // links count as names, and as entries
  state_->at("", [&] { state_->root = hdf5::read_root_address(*state_->bytes); });
}
Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;

Hdf5Reader Hdf5Reader::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  state->bytes = hdf5::Bytes::of_file(path);
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
  return state_->at(path, [&] { return state_->describe(*state_->dataset(path)); });
}

Tensor Hdf5Reader::read(const std::string& path, const Shape& shape, DType dtype) const {
  return state_->at(path, [&] {
    const auto object = state_->dataset(path);
    const Dataset stored = state_->describe(*object);
    check<InvalidArgument>(stored.shape == shape,
                           "expected shape {}, got {}. Was the file written by the same model?",
                           shape, stored.shape);
    check<InvalidArgument>(std::string_view(kind_of(stored.dtype)) == kind_of(dtype),
                           "expected {} ({}), got {}. Was the file written by the same model?",
                           kind_of(dtype), dtype, stored.dtype);
    return convert(state_->read(*object, stored), dtype);
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
    const auto found = state_->attribute(*state_->get(path).object, name);
    if (!found) return std::nullopt;
    const hdf5::Datatype& type = found->type;
    check<InvalidArgument>(
        type.type_class == TypeClass::Integer && !type.big_endian && is_single(found->shape),
        "its attribute '{}' was asked for as an integer, but is a {} of shape {}.", name,
        type.to_string(), found->shape);
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
