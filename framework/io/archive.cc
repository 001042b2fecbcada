// SPDX-License-Identifier: Apache-2.0
#include "framework/io/archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checked_path.h"
#include "framework/io/crc.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/fuzzing.h"
#include "framework/io/gzip.h"
#include "framework/io/zip_writer.h"

namespace cornu {
namespace {

constexpr size_t kPiece = size_t{1} << 18;  // fits into the CPU cache

// Owns a libzip error.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

// A libzip source that reads from a file and records the offset of the last read.
class FileSource {
 public:
  explicit FileSource(const std::string& path)
      : size_(file_size(path)), file_(open(checked_path(path).c_str(), O_RDONLY | O_CLOEXEC)) {
    zip_error_init(&error_);
    if (!file_.is_open()) raise_file_error(path, "be opened", errno);
  }
  ~FileSource() { zip_error_fini(&error_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t size() const { return size_; }
  int file() const { return file_.get(); }
  uint64_t last_read() const { return last_read_; }

  static zip_int64_t command(void* self, void* data, zip_uint64_t size, zip_source_cmd_t which) {
    return static_cast<FileSource*>(self)->handle(data, size, which);
  }

 private:
  zip_int64_t handle(void* data, zip_uint64_t size, zip_source_cmd_t which) {
    switch (which) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_OPEN, ZIP_SOURCE_READ,
                                              ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
                                              ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              -1);
      case ZIP_SOURCE_STAT: {
        auto* status = static_cast<zip_stat_t*>(data);
        zip_stat_init(status);
        status->size = size_;
        status->valid = ZIP_STAT_SIZE;
        return sizeof(*status);
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, size);
      case ZIP_SOURCE_OPEN:
        at_ = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return read(data, size);
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t to = zip_source_seek_compute_offset(at_, size_, data, size, &error_);
        if (to < 0) return -1;
        at_ = static_cast<uint64_t>(to);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(at_);
      default:
        return 0;  // the file is closed by this object
    }
  }

  zip_int64_t read(void* data, zip_uint64_t size) {
    last_read_ = at_;
    const ssize_t got = pread(file_.get(), data, size, static_cast<off_t>(at_));
    if (got < 0) zip_error_set(&error_, ZIP_ER_READ, errno);
    if (got > 0) at_ += static_cast<uint64_t>(got);
    return got;
  }

  size_t size_;
  FileDescriptor file_;
  zip_error_t error_;
  uint64_t at_ = 0;
  uint64_t last_read_ = 0;
};

}  // namespace

void write_archive(const std::string& path, std::span<const ArchiveMember> members) {
  std::set<std::string> names;
  for (const ArchiveMember& member : members) {
    check<InvalidArgument>(!member.name.empty(), "'{}': a member needs a name.", path);
    check<InvalidArgument>(names.insert(member.name).second,
                           "'{}': expected one member named '{}', got two.", path, member.name);
  }
  write_file_atomically(path, [&](const std::string& temporary) {
    ZipWriter writer(path, temporary);
    for (const ArchiveMember& member : members) {
      if (member.pieces.empty()) {
        writer.add(member.name, {&member.bytes, 1}, member.compress);
      } else {
        writer.add(member.name, member.pieces, member.compress);
      }
    }
    writer.finish();
  });
}

bool leads_outside(std::string_view name) {
  constexpr std::string_view separators = "/\\";
  const bool has_drive = name.size() > 1 && name[1] == ':' && ascii::is_alpha(name[0]);
  if (has_drive || name.find_first_of(separators) == 0) return true;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of(separators, begin), name.size());
    if (name.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

void require_inside(const std::string& archive, std::span<const std::string> names) {
  for (const std::string& name : names) {
    check<InvalidArgument>(
        !leads_outside(name),
        "'{}': its member '{}' would be outside of the directory that the archive is unpacked to. "
        "Such a file is made to overwrite others: don't trust it.",
        archive, printable(name));
  }
}

struct ArchiveReader::State {
  explicit State(const std::string& name) : path(name), source(name) {}
  std::string path;
  FileSource source;  // must outlive the archive
  Archive archive;
  std::vector<std::string> names;
  std::unordered_map<std::string_view, zip_uint64_t> numbers;  // of `names`
};

ArchiveReader::ArchiveReader(const std::string& path) : state_(std::make_unique<State>(path)) {
  // libzip treats an empty file as an empty archive.
  check<DataLoss>(state_->source.size() > 0,
                  "'{}' can't be read as a zip archive: it is empty. Is it complete?", path);
  ZipError error;
  zip_source_t* source =
      zip_source_function_create(FileSource::command, &state_->source, error.get());
  check<ResourceExhausted>(source != nullptr, "'{}' can't be read: {}.", path, error.text());
  state_->archive.reset(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!state_->archive) {
    zip_source_free(source);
    raise<DataLoss>("'{}' can't be read as a zip archive: {}. Is it complete?", path, error.text());
  }
  const zip_int64_t count = zip_get_num_entries(state_->archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name =
        zip_get_name(state_->archive.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    check<DataLoss>(name != nullptr, "'{}': the name of member {} can't be read: {}.", path, i,
                    zip_strerror(state_->archive.get()));
    state_->names.push_back(name);
  }
  for (const std::string& name : state_->names) {
    check<DataLoss>(state_->numbers.emplace(name, state_->numbers.size()).second,
                    "'{}': expected one member named '{}', found two.", path, name);
  }
}

ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

const std::vector<std::string>& ArchiveReader::names() const { return state_->names; }

bool ArchiveReader::contains(std::string_view name) const { return state_->numbers.contains(name); }

// A member that was looked up, and whose size is plausible.
class ArchiveReader::Member {
 public:
  Member(const State& state, std::string_view name, size_t limit)
      : where_(fmt::format("'{}': member '{}'", state.path, name)) {
    zip_t* archive = state.archive.get();
    const auto found = state.numbers.find(name);
    if (found == state.numbers.end()) {
      raise<NotFound>("{} isn't there.{}", where_, did_you_mean(name, state.names));
    }
    const zip_uint64_t index = found->second;

    zip_stat_t status;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD |
                                     ZIP_STAT_ENCRYPTION_METHOD | ZIP_STAT_CRC;
    check<DataLoss>(
        zip_stat_index(archive, index, 0, &status) == 0 && (status.valid & kNeeded) == kNeeded,
        "{} has no complete entry in the archive's directory.", where_);
    check<Unimplemented>(status.encryption_method == ZIP_EM_NONE,
                         "{} is encrypted. Pack it again without a password.", where_);
    const bool stored = status.comp_method == ZIP_CM_STORE;
    is_stored_ = stored;
    crc_ = status.crc;
    check<Unimplemented>(stored || status.comp_method == ZIP_CM_DEFLATE,
                         "{} is compressed by method {}. Pack it again, stored or deflated.",
                         where_, status.comp_method);
    check<ResourceExhausted>(status.size <= limit, "{} has {} bytes; at most {} were expected.",
                             where_, status.size, limit);
    check<DataLoss>(status.comp_size <= state.source.size() &&
                        (stored ? status.size == status.comp_size
                                : status.size / kMaxInflation <= status.comp_size),
                    "{} is damaged: it can't have {} bytes and take {} in an archive of {}.",
                    where_, status.size, status.comp_size, state.source.size());
    size_ = status.size;
    file_.reset(zip_fopen_index(archive, index, 0));
    check<DataLoss>(file_ != nullptr, "{} can't be opened: {}.", where_, zip_strerror(archive));
  }

  size_t size() const { return size_; }
  bool is_stored() const { return is_stored_; }

  // The offset of a stored member in the file: where libzip reads its first byte.
  uint64_t place(const FileSource& source) {
    std::byte first;
    check<DataLoss>(zip_fread(file_.get(), &first, 1) == 1, "{} is damaged: {}.", where_,
                    zip_file_strerror(file_.get()));
    return source.last_read();
  }
  void verify(uint32_t crc) const {
    check<DataLoss>(!kChecksumsMatter || crc == crc_, "{} is damaged: its checksum is wrong.",
                    where_);
  }

  // Reads the whole member into `to`, which must have room for size() bytes.
  void read(std::byte* to) {
    size_t done = 0;
    // The empty read at the end is what verifies the checksum.
    for (zip_int64_t got = 1; got > 0; done += static_cast<size_t>(got)) {
      std::byte beyond;
      const bool at_end = done == size_;
      got = at_end ? zip_fread(file_.get(), &beyond, 1)
                   : zip_fread(file_.get(), to + done, std::min(kPiece, size_ - done));
      check<DataLoss>(got >= 0, "{} is damaged: {}.", where_, zip_file_strerror(file_.get()));
      check<DataLoss>(!at_end || got == 0, "{} is damaged: expected {} bytes, found more.", where_,
                      size_);
    }
    check<DataLoss>(done == size_, "{} is damaged: expected {} bytes, found {}.", where_, size_,
                    done);
  }

 private:
  std::string where_;
  size_t size_ = 0;
  bool is_stored_ = false;
  uint32_t crc_ = 0;
  std::unique_ptr<zip_file_t, CloseMember> file_;
};

std::vector<std::byte> ArchiveReader::read(std::string_view name, size_t limit) const {
  Member member(*state_, name, limit);
  std::vector<std::byte> bytes(member.size());
  member.read(bytes.data());
  return bytes;
}

std::shared_ptr<Buffer> ArchiveReader::read_buffer(std::string_view name, size_t limit) const {
  Member member(*state_, name, limit);
  auto buffer = allocate_host(member.size());
  member.read(buffer->data());
  return buffer;
}

std::optional<FileRange> ArchiveReader::stored_range(std::string_view name) const {
  Member member(*state_, name, SIZE_MAX);
  if (!member.is_stored() || member.size() == 0) return std::nullopt;
  const FileRange range{state_->path, member.place(state_->source), member.size()};
  std::vector<std::byte> piece(std::min(kPiece, range.size));
  uint32_t crc = 0;
  for (size_t done = 0; done < range.size;) {
    const auto part = std::span(piece).first(std::min(piece.size(), range.size - done));
    const ssize_t got = pread(state_->source.file(), part.data(), part.size(),
                              static_cast<off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    check<DataLoss>(got > 0, "'{}' was shortened, or can't be read on, at byte {}.", state_->path,
                    range.offset + done);
    crc = crc32(part.first(static_cast<size_t>(got)), crc);
    done += static_cast<size_t>(got);
  }
  member.verify(crc);
  return range;
}

std::string ArchiveReader::read_text(std::string_view name, size_t limit) const {
  const std::vector<std::byte> bytes = read(name, limit);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace cornu
