// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weights_source.h"

#include <algorithm>
#include <set>

#include "framework/core/json.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"

namespace cornu {
namespace {

constexpr size_t kMaxIndex = size_t{64} << 20;

std::string folder_of(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == std::string::npos ? "" : path.substr(0, end + 1);
}

// Returns a shard's name in a .weights.json. Only files in the same directory are opened.
const std::string& shard_name(const Json& json, const std::string& path) {
  check<InvalidArgument>(json.is_string(), "{}: expected names of files in weight_map, got {}.",
                         path, printable(json.dump()));
  const std::string& name = json.as_string();
  check<InvalidArgument>(
      name.ends_with(".weights.h5") &&
          name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos,
      "{}: its weight_map names '{}', which isn't a '….weights.h5' in the same directory.", path,
      printable(name));
  return name;
}

// "/layers/dense/vars" -> "layers/dense/vars".
std::string group_name(const std::string& key) {
  return key.starts_with('/') ? key.substr(1) : key;
}

}  // namespace

WeightsSource::WeightsSource(std::string name, Hdf5Reader reader, uint64_t stored)
    : name_(std::move(name)) {
  bytes_ = std::max(stored, reader.bytes_of_datasets());
  files_.push_back(std::move(reader));
}

WeightsSource WeightsSource::open(const std::string& path) {
  if (path.ends_with(".json")) return of_shards(path);
  return {path, Hdf5Reader::open(path), file_size(path)};
}

WeightsSource WeightsSource::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  const uint64_t stored = bytes.size();
  return {name, Hdf5Reader::from_bytes(std::move(bytes), name), stored};
}

WeightsSource WeightsSource::of_archive(const ArchiveReader& archive, const std::string& path,
                                        const std::string& member, size_t limit) {
  const std::string name = path + ": " + member;
  if (const auto range = archive.stored_range(member)) {
    return {name, Hdf5Reader::open(*range, name), range->size};
  }
  return from_bytes(archive.read(member, limit), name);
}

WeightsSource WeightsSource::of_shards(const std::string& path) {
  const std::vector<std::byte> text = read_file(path, kMaxIndex);
  Json index;
  try {
    index = Json::parse({reinterpret_cast<const char*>(text.data()), text.size()});
  } catch (Error& error) {
    error.add_place(path);
    throw;
  }
  const Json* map = index.is_object() ? index.find("weight_map") : nullptr;
  check<InvalidArgument>(map && map->is_object(),
                         "{}: expected an object with a weight_map, which says what shard has what "
                         "weights.",
                         path);
  WeightsSource source;
  source.name_ = path;
  std::map<std::string, size_t> numbers;  // of shards
  for (const auto& [key, value] : map->as_object()) {
    std::vector<size_t>& shards = source.shards_[group_name(key)];
    for (const Json& json : value.is_array() ? value.as_array() : Json::Array{value}) {
      const std::string& name = shard_name(json, path);
      const auto [number, added] = numbers.emplace(name, source.files_.size());
      if (added) {
        const std::string shard = folder_of(path) + name;
        source.files_.push_back(Hdf5Reader::open(shard));
        source.bytes_ +=
            std::max<uint64_t>(file_size(shard), source.files_.back().bytes_of_datasets());
      }
      shards.push_back(number->second);
    }
  }
  return source;
}

std::vector<const Hdf5Reader*> WeightsSource::files_of(const std::string& group) const {
  std::vector<const Hdf5Reader*> result;
  if (shards_.empty()) {
    for (const Hdf5Reader& file : files_) result.push_back(&file);
  } else if (const auto found = shards_.find(group); found != shards_.end()) {
    for (const size_t number : found->second) result.push_back(&files_[number]);
  }
  std::erase_if(result, [&](const Hdf5Reader* file) { return !file->is_group(group); });
  return result;
}

bool WeightsSource::has(const std::string& group) const { return !files_of(group).empty(); }

size_t WeightsSource::count(const std::string& group) const {
  std::set<std::string> items;
  for (const Hdf5Reader* file : files_of(group)) {
    for (std::string& name : file->children(group)) items.insert(std::move(name));
  }
  return items.size();
}

const Hdf5Reader* WeightsSource::file_of(const std::string& group, const std::string& item) const {
  for (const Hdf5Reader* file : files_of(group)) {
    if (file->is_dataset(group + "/" + item)) return file;
  }
  return nullptr;
}

std::vector<std::string> WeightsSource::children(const std::string& group) const {
  std::set<std::string> names;
  for (const Hdf5Reader& file : files_) {
    if (!group.empty() && !file.is_group(group)) continue;
    for (std::string& name : file.children(group)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

void ReadPlan::add(const Variable& variable, const Hdf5Reader& file, std::string path) {
  const auto [place, added] = places_.emplace(variable.id(), entries_.size());
  Entry entry{variable, &file, std::move(path)};
  if (added) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[place->second] = std::move(entry);
  }
}

void ReadPlan::run() const {
  for (const Entry& entry : entries_) {
    entry.file->verify(entry.path, entry.variable.shape(), entry.variable.dtype());
  }
  try {
    for (const Entry& entry : entries_) {
      const Variable& variable = entry.variable;
      variable.store(entry.file->read(entry.path, variable.shape(), variable.dtype()));
    }
  } catch (const Error& error) {
    for (const Entry& entry : entries_) entry.variable.poison(error.what());
    throw;
  }
}

bool has_made_steps(const Hdf5Reader& file, const std::string& iterations) {
  const Hdf5Reader::Dataset dataset = file.describe(iterations);
  const bool is_number = is_integer(dataset.dtype) || is_floating(dataset.dtype);
  return dataset.shape == Shape() && is_number &&
         file.read(iterations, {}, DType::Float64).item<double>() != 0;
}

}  // namespace cornu
