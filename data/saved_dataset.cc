// SPDX-License-Identifier: Apache-2.0
#include "data/saved_dataset.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "data/dataset.h"
#include "data/readers/element_file.h"
#include "data/serialization/links.h"
#include "data/sources/file_records.h"
#include "data/sources/sources.h"
#include "data/transforms/transforms.h"
#include "data/transforms/user_code.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_lock.h"

namespace cornu::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "dataset.json";
constexpr const char* kLock = "save.lock";
constexpr const char* kFormat = "cornu dataset 1";
constexpr size_t kMostIndexBytes = size_t{1} << 24;
constexpr int64_t kMostFiles = 1 << 16;

// What a folder holds, as its index says. Files lie in a subfolder of this save's own, so that the
// index is what replaces one save by another.
struct SavedIndex {
  std::string folder;
  std::string id;  // of the save, which its files know, too
  std::string compression;
  ElementSpec spec;
  std::vector<int64_t> counts;  // of elements, by file

  Json to_json() const {
    Blobs none;
    LinkWriter index(&none);
    index("format", kFormat)("folder", folder)("id", id)("compression", compression)("element_spec",
                                                                                     spec);
    index("counts", counts);
    return index.config();
  }
  static SavedIndex read(const fs::path& path);
};

SavedIndex SavedIndex::read(const fs::path& path) {
  const std::string file = (path / kIndex).string();
  const auto bytes = read_file(file, kMostIndexBytes);
  try {
    const Json json = Json::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const Blobs none;
    BlobReader blobs(none);
    LinkReader index(json, {}, blobs, bytes.size());
    const auto format = index.get<std::string>("format");
    check<DataLoss>(format == kFormat, "expected the format '{}', got '{}'.", kFormat, format);
    SavedIndex saved = {.folder = index.get<std::string>("folder"),
                        .id = index.get<std::string>("id"),
                        .compression = index.get<std::string>("compression"),
                        .spec = index.get<ElementSpec>("element_spec"),
                        .counts = index.get<std::vector<int64_t>>("counts")};
    check<DataLoss>(saved.folder.find('/') == std::string::npos && saved.folder != "..",
                    "expected a subfolder, got '{}'.", saved.folder);
    int64_t all = 0;
    for (const int64_t count : saved.counts) {
      check<DataLoss>(count >= 0 && !__builtin_add_overflow(all, count, &all),
                      "expected counts of elements, got {}.", json.excerpt());
    }
    return saved;
  } catch (const Error& error) {
    raise<DataLoss>("{}: this is no index of a saved dataset: {}", file, error.what());
  }
}

std::string file_name(int64_t number) { return fmt::format("{:05}.elements", number); }

// A name that no folder in `path` has.
std::string new_folder(const fs::path& path) {
  for (int64_t number = 0;; ++number) {
    std::string name = fmt::format("save-{:04}", number);
    std::error_code error;
    if (fs::create_directory(path / name, error)) return name;
    if (error) raise_file_error((path / name).string(), "be made", error.value());
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) raise_file_error(path.string(), "be made", error.value());
}

// What a file of a save says of itself, so that another one in its place is noticed.
std::string label_of(const std::string& id, const fs::path& file) {
  return fmt::format("save {}, {}", id, file.filename().string());
}

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// The number of the file that element `number` goes to.
int64_t file_of(const Element& element, int64_t number, const ShardFunction& shard_func) {
  if (!shard_func) return 0;
  const auto place = [number] { return fmt::format("save: shard_func, element {}", number); };
  try {
    const int64_t file = call_user(place, [&] { return shard_func(element); });
    check<InvalidArgument>(file >= 0 && file < kMostFiles, "expected a number of 0 to {}, got {}.",
                           kMostFiles - 1, file);
    return file;
  } catch (Error& error) {
    error.add_place(place());
    throw;
  }
}

// Writes the elements of a pass; how many went to which file.
std::vector<int64_t> write_files(const Dataset& dataset, const fs::path& folder,
                                 const std::string& id, const SaveOptions& options) {
  const Compression compression = compression_of(options.compression, "save");
  std::map<int64_t, ElementFileWriter> writers;
  const auto writer = [&](int64_t file) -> ElementFileWriter& {
    const auto known = writers.find(file);
    if (known != writers.end()) return known->second;
    const fs::path path = folder / file_name(file);
    return writers
        .emplace(file, ElementFileWriter(path.string(), compression, dataset.element_spec(),
                                         label_of(id, path), {}, Appears::Growing))
        .first->second;
  };
  if (!options.shard_func) writer(0);
  int64_t number = 0;
  for (const Element& element : dataset) {
    writer(file_of(element, number++, options.shard_func)).write(element);
  }
  std::vector<int64_t> counts;
  std::vector<std::string> paths;
  for (auto& [file, open] : writers) {
    counts.resize(static_cast<size_t>(file) + 1, 0);
    counts.back() = open.count();
    open.close();
    paths.push_back((folder / file_name(file)).string());
  }
  sync_files(folder.string(), paths);  // before the index says that they are there
  return counts;
}

class SavedStream : public Stream<Element> {
 public:
  SavedStream(const std::string& path, Compression compression, const ElementSpec& spec,
              const std::string& id)
      : reader_(path, compression) {
    check<DataLoss>(reader_.pipeline() == label_of(id, path),
                    "{}: expected the file of {}, got that of {}.", path, label_of(id, path),
                    reader_.pipeline());
    check<DataLoss>(reader_.spec() == spec, "{}: expected elements of the kind {}, got {}.", path,
                    spec, reader_.spec());
  }
  bool next(Element& element) override { return reader_.next(element); }
  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && reader_.skip()) ++skipped;
    return skipped;
  }

 private:
  ElementFileReader reader_;
};

NodePtr make_saved_elements(NodePtr names, const ElementSpec& spec, const std::string& type,
                            const std::string& id) {
  const Compression compression = compression_of(type, "load");
  const auto open = [compression, spec, id](const std::string& name) {
    return std::make_unique<SavedStream>(name, compression, spec, id);
  };
  const auto write = [spec, type, id](LinkWriter& link) {
    link.kind("saved_elements")("element_spec", spec)("compression", type)("id", id);
  };
  return make_file_records(std::move(names), {"load", "saved_elements", spec, open, write}, {});
}

Dataset files_of(const fs::path& path, const SavedIndex& index, const std::vector<int64_t>& files) {
  std::vector<std::string> names;
  int64_t elements = 0;
  for (const int64_t file : files) {
    names.push_back((path / index.folder / file_name(file)).string());
    elements += index.counts[static_cast<size_t>(file)];
  }
  NodePtr records = make_saved_elements(make_tensor_slices(Tensor::from(names)), index.spec,
                                        index.compression, index.id);
  return Dataset(make_assert_cardinality(std::move(records), elements));
}

}  // namespace

NodePtr read_saved_elements(LinkReader& link) {
  const auto spec = link.get<ElementSpec>("element_spec");
  const auto compression = link.get<std::string>("compression");
  return make_saved_elements(link.input(), spec, compression, link.get<std::string>("id"));
}

void Dataset::save(const std::string& path, const SaveOptions& options) const {
  check<InvalidArgument>(cardinality() != kInfiniteCardinality,
                         "save: the dataset never ends. Call take() first.");
  check<InvalidArgument>(!path.empty(), "save: expected a folder, got ''.");
  make_folder(path);
  const FileLock lock(fs::path(path) / kLock);  // one save at a time
  SavedIndex index = {.folder = new_folder(path),
                      .id = new_id(),
                      .compression = options.compression,
                      .spec = element_spec(),
                      .counts = {}};
  std::error_code ignored;
  try {
    index.counts = write_files(*this, fs::path(path) / index.folder, index.id, options);
    write_file_atomically((fs::path(path) / kIndex).string(), index.to_json().dump(2));
  } catch (...) {
    fs::remove_all(fs::path(path) / index.folder, ignored);
    throw;
  }
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    // Of earlier saves, and of those that were killed: others wait for the lock.
    const std::string name = entry.path().filename().string();
    if (name.starts_with("save-") && name != index.folder) fs::remove_all(entry.path(), ignored);
  }
}

Dataset Dataset::load(const std::string& path, const LoadOptions& options) {
  const SavedIndex index = SavedIndex::read(path);
  check<InvalidArgument>(!options.element_spec || as_signature(*options.element_spec) == index.spec,
                         "load: {} has elements of the kind {}, expected {}.", path, index.spec,
                         as_signature(options.element_spec.value_or(index.spec)));
  std::vector<int64_t> files;
  for (int64_t file = 0; file < std::ssize(index.counts); ++file) {
    if (index.counts[static_cast<size_t>(file)] > 0 || index.counts.size() == 1) {
      files.push_back(file);
    }
  }
  if (!options.reader_func) return files_of(path, index, files);
  std::vector<Dataset> datasets;
  for (const int64_t file : files) datasets.push_back(files_of(path, index, {file}));
  return options.reader_func(datasets);
}

}  // namespace cornu::data
