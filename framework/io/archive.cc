// SPDX-License-Identifier: Apache-2.0
#include "framework/io/archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/gzip.h"

namespace cornu {
namespace {

constexpr uint16_t kFirstDosDay = 1 << 5 | 1;  // 1980-01-01
constexpr size_t kPiece = size_t{1} << 20;

// libzip's error, cleaned up after.
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
struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Source = std::unique_ptr<zip_source_t, FreeSource>;

void add_member(zip_t* archive, const ArchiveMember& member, const std::string& path) {
  const auto require = [&](bool ok) {
    check<FailedPrecondition>(ok, "'{}': the member '{}' can't be added: {}.", path, member.name,
                              zip_strerror(archive));
  };
  Source source(zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0));
  require(source != nullptr);
  const zip_int64_t added =
      zip_file_add(archive, member.name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  require(added >= 0);
  (void)source.release();  // the archive's now
  const auto index = static_cast<zip_uint64_t>(added);
  const zip_int32_t method = member.compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
  require(zip_set_file_compression(archive, index, method, 0) == 0);
  require(zip_file_set_dostime(archive, index, 0, kFirstDosDay, 0) == 0);
}

// Where libzip writes an archive to: an empty file that atomic_file made. libzip's own way of
// writing a path makes one more temporary file, which a kill would leave behind.
class FileSink {
 public:
  explicit FileSink(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    zip_error_init(&error_);
    if (!file_.is_open()) raise_file_error(path, "be opened", errno);
  }
  ~FileSink() { zip_error_fini(&error_); }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  // Of the system, when something failed; 0 otherwise. libzip loses some of them.
  int system_error() const { return system_error_; }

  static zip_int64_t command(void* self, void* data, zip_uint64_t size, zip_source_cmd_t which) {
    return static_cast<FileSink*>(self)->handle(data, size, which);
  }

 private:
  zip_int64_t handle(void* data, zip_uint64_t size, zip_source_cmd_t which) {
    switch (which) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
            ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
            ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
      case ZIP_SOURCE_STAT: {
        auto* status = static_cast<zip_stat_t*>(data);
        zip_stat_init(status);
        status->size = 0;
        status->valid = ZIP_STAT_SIZE;
        return sizeof(*status);
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, size);
      case ZIP_SOURCE_READ:
        return known(::read(file_.get(), data, size), ZIP_ER_READ);
      case ZIP_SOURCE_WRITE:
        return known(write(data, size), ZIP_ER_WRITE);
      case ZIP_SOURCE_SEEK:
      case ZIP_SOURCE_SEEK_WRITE: {
        const auto* to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, size, &error_);
        if (!to) return -1;
        return known(lseek(file_.get(), to->offset, to->whence), ZIP_ER_SEEK) < 0 ? -1 : 0;
      }
      case ZIP_SOURCE_TELL:
      case ZIP_SOURCE_TELL_WRITE:
        return known(lseek(file_.get(), 0, SEEK_CUR), ZIP_ER_TELL);
      default:
        return 0;  // opening, closing and committing are the atomic file's
    }
  }

  zip_int64_t write(const void* data, size_t size) const {
    const bool written = write_all(file_.get(), {static_cast<const std::byte*>(data), size});
    return written ? static_cast<zip_int64_t>(size) : -1;
  }

  zip_int64_t known(zip_int64_t result, int code) {
    if (result >= 0) return result;
    system_error_ = errno;
    zip_error_set(&error_, code, errno);
    return result;
  }

  FileDescriptor file_;
  zip_error_t error_;
  int system_error_ = 0;
};

// The whole of an archive without members, which libzip doesn't write.
constexpr std::string_view kEmptyArchive("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

void pack(const std::string& path, const std::string& temporary,
          std::span<const ArchiveMember> members) {
  FileSink sink(temporary);
  ZipError error;
  Source source(zip_source_function_create(FileSink::command, &sink, error.get()));
  check<ResourceExhausted>(source != nullptr, "'{}' can't be written: {}.", path, error.text());
  Archive archive(zip_open_from_source(source.get(), ZIP_TRUNCATE, error.get()));
  if (!archive && sink.system_error() != 0) {
    raise_file_error(path, "be written", sink.system_error());
  }
  check<FailedPrecondition>(archive != nullptr, "'{}' can't be written: {}.", path, error.text());
  (void)source.release();  // the archive's now
  for (const ArchiveMember& member : members) add_member(archive.get(), member, path);
  if (zip_close(archive.get()) == 0) {
    (void)archive.release();
    return;
  }
  const std::string text = zip_strerror(archive.get());
  if (sink.system_error() != 0) raise_file_error(path, "be written", sink.system_error());
  raise<FailedPrecondition>("'{}' can't be written: {}.", path, text);
}

}  // namespace

void write_archive(const std::string& path, std::span<const ArchiveMember> members) {
  std::set<std::string> names;
  for (const ArchiveMember& member : members) {
    check<InvalidArgument>(!member.name.empty(), "'{}': a member needs a name.", path);
    check<InvalidArgument>(names.insert(member.name).second,
                           "'{}': expected one member named '{}', got two.", path, member.name);
  }
  if (members.empty()) return write_file_atomically(path, kEmptyArchive);
  write_file_atomically(path,
                        [&](const std::string& temporary) { pack(path, temporary, members); });
}

struct ArchiveReader::State {
  std::string path;
  size_t size = 0;
  Archive archive;
  std::vector<std::string> names;
};

ArchiveReader::ArchiveReader(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->size = file_size(path);
  int code = 0;
  state_->archive.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!state_->archive) {
    ZipError error;
    zip_error_set(error.get(), code, errno);
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
  std::vector<std::string> sorted = state_->names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  check<DataLoss>(twice == sorted.end(), "'{}': expected one member named '{}', found two.", path,
                  twice == sorted.end() ? "" : *twice);
}

ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

const std::vector<std::string>& ArchiveReader::names() const { return state_->names; }

bool ArchiveReader::contains(std::string_view name) const {
  return std::find(state_->names.begin(), state_->names.end(), name) != state_->names.end();
}

// One that has been looked up, and whose size has been found to be possible.
class ArchiveReader::Member {
 public:
  Member(const State& state, std::string_view name, size_t limit)
      : where_(fmt::format("'{}': member '{}'", state.path, name)) {
    zip_t* archive = state.archive.get();
    const auto found = std::find(state.names.begin(), state.names.end(), name);
    check<NotFound>(found != state.names.end(), "{} isn't there.{}", where_,
                    did_you_mean(name, state.names));
    const auto index = static_cast<zip_uint64_t>(found - state.names.begin());

    zip_stat_t status;
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    check<DataLoss>(
        zip_stat_index(archive, index, 0, &status) == 0 && (status.valid & kNeeded) == kNeeded,
        "{} has no complete entry in the archive's directory.", where_);
    check<Unimplemented>(status.encryption_method == ZIP_EM_NONE,
                         "{} is encrypted. Pack it again without a password.", where_);
    const bool stored = status.comp_method == ZIP_CM_STORE;
    check<Unimplemented>(stored || status.comp_method == ZIP_CM_DEFLATE,
                         "{} is compressed by method {}. Pack it again, stored or deflated.",
                         where_, status.comp_method);
    check<ResourceExhausted>(status.size <= limit, "{} has {} bytes; at most {} were expected.",
                             where_, status.size, limit);
    check<DataLoss>(status.comp_size <= state.size &&
                        (stored ? status.size == status.comp_size
                                : status.size / kMostInflation <= status.comp_size),
                    "{} is damaged: it can't have {} bytes and take {} in an archive of {}.",
                    where_, status.size, status.comp_size, state.size);
    size_ = status.size;
    file_.reset(zip_fopen_index(archive, index, 0));
    check<DataLoss>(file_ != nullptr, "{} can't be opened: {}.", where_, zip_strerror(archive));
  }

  size_t size() const { return size_; }

  // All of it, into a place of size() bytes.
  void read(std::byte* to) {
    size_t done = 0;
    // The read at the end, of nothing, is what verifies the checksum.
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

std::string ArchiveReader::read_text(std::string_view name, size_t limit) const {
  const std::vector<std::byte> bytes = read(name, limit);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace cornu
