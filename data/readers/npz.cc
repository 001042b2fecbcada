// SPDX-License-Identifier: Apache-2.0
#include "data/readers/npz.h"

#include <algorithm>

#include "data/readers/npy.h"
#include "data/readers/npy_format.h"
#include "data/readers/pickle.h"
#include "framework/core/strings.h"
#include "framework/io/archive.h"

namespace cornu::data {
namespace {

constexpr std::string_view kEnding = ".npy";

// The archive member for one tensor.
struct NpyMember {
  std::string name;
  std::string header;
  Tensor value;
  std::vector<std::span<const std::byte>> pieces;  // of the .npy file
};

void write_npz(const std::filesystem::path& path, const Tensors& tensors, bool compress) {
  std::vector<NpyMember> files(tensors.size());
  std::vector<ArchiveMember> members;
  for (size_t i = 0; i < files.size(); ++i) {
    NpyMember& file = files[i];
    const std::string name = tensors.has_names() ? tensors.names()[i] : fmt::format("arr_{}", i);
    check<InvalidArgument>(!name.empty(), "'{}': tensor {} needs a name.", path.string(), i);
    file.name = name + std::string(kEnding);
    file.value = tensors[i].host();
    file.header = npy_header(file.value.dtype(), file.value.shape());
    file.pieces = {std::as_bytes(std::span(file.header)), {file.value.raw(), file.value.bytes()}};
    members.push_back(
        {.name = file.name, .bytes = {}, .compress = compress, .pieces = file.pieces});
  }
  write_archive(path.string(), members);
}

std::vector<std::vector<int64_t>> rows_of(const Tensor& table) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(table.dim(0)));
  const auto width = static_cast<size_t>(table.dim(1));
  dispatch_dtype(table.dtype(), [&](auto zero) {
    const auto values = table.data<decltype(zero)>();
    for (size_t row = 0; row < rows.size(); ++row) {
      for (const auto value : values.subspan(row * width, width)) {
        rows[row].push_back(static_cast<int64_t>(value));
      }
    }
  });
  return rows;
}

}  // namespace

NpzReader::NpzReader(const std::filesystem::path& path)
    : path_(path.string()), archive_(std::make_shared<ArchiveReader>(path_)) {
  for (const std::string& name : archive_->names()) {
    if (name.ends_with(kEnding)) names_.push_back(name.substr(0, name.size() - kEnding.size()));
  }
}

std::string NpzReader::place_of(std::string_view name) const {
  return fmt::format("'{}': array '{}'", path_, name);
}

std::shared_ptr<Buffer> NpzReader::member(std::string_view name) const {
  const std::string file = std::string(name) + std::string(kEnding);
  if (!archive_->contains(file)) {
    raise<NotFound>("{} isn't there.{}", place_of(name), did_you_mean(name, names_));
  }
  return archive_->read_buffer(file);
}

Tensor NpzReader::read(std::string_view name) const {
  const auto file = member(name);
  return parse_npy({file->data(), file->bytes()}, place_of(name), file);
}

std::vector<std::vector<int64_t>> NpzReader::read_ragged(std::string_view name) const {
  const auto file = member(name);
  const std::span<const std::byte> bytes(file->data(), file->bytes());
  const std::string place = place_of(name);
  const NpyHeader header = parse_npy_header(bytes, place);
  if (header.type.is_object()) {
    return parse_pickle(bytes.subspan(header.bytes), place, file).to_ragged();
  }
  const Tensor table = parse_npy(bytes, place, file);
  check<InvalidArgument>(table.rank() == 2 && is_integer(table.dtype()),
                         "{}: expected lists of integers, got an array of {} of shape {}.", place,
                         table.dtype(), table.shape());
  // Empty rows take no bytes in the file, but do in memory.
  check<DataLoss>(static_cast<size_t>(table.dim(0)) <= bytes.size(),
                  "{}: {} lists can't be in a file of {} bytes.", place, table.dim(0),
                  bytes.size());
  return rows_of(table);
}

Tensors load_npz(const std::filesystem::path& path) {
  const NpzReader reader(path);
  std::vector<Tensors::Named> tensors;
  for (const std::string& name : reader.names()) tensors.emplace_back(name, reader.read(name));
  return Tensors::named(std::move(tensors));
}

void savez(const std::filesystem::path& path, const Tensors& tensors) {
  write_npz(path, tensors, false);
}

void savez_compressed(const std::filesystem::path& path, const Tensors& tensors) {
  write_npz(path, tensors, true);
}

}  // namespace cornu::data
