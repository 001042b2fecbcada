// SPDX-License-Identifier: Apache-2.0
#include "framework/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "framework/core/error.h"
#include "framework/io/checked_path.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/standard_files.h"

namespace cornu {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;     // as in Linux
constexpr size_t kMaxName = 200;  // maximum length of the target's name within the temporary one
constexpr size_t kHexDigits = 8;  // in the name of a temporary file
constexpr const char* kSuffix = ".cornu-tmp";

std::string reason(int error) { return std::system_category().message(error); }

// Resolves all symbolic links.
fs::path follow_links(const std::string& path) {
  check<InvalidArgument>(!path.empty(), "The path of the file to write is empty.");
  check<InvalidArgument>(path.back() != '/',
                         "'{}' can't be written: it names a directory. Add a file's name.", path);
  check<InvalidArgument>(path.find('\0') == std::string::npos,
                         "The path of the file to write has a zero byte in it.");
  fs::path target = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMaxLinks) raise_file_error(path, "be written", ELOOP);
    const fs::path next = fs::read_symlink(target, error);
    if (error) raise_file_error(path, "be written", error.value());
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target;
}

struct Target {
  std::string path;                // as passed by the caller
  fs::path file;                   // symbolic links resolved
  fs::path directory;              // of `file`, never empty
  std::optional<struct stat> old;  // the existing file
};

Target look_at(const std::string& path) {
  Target target{checked_path(path), follow_links(path), {}, {}};
  target.directory = target.file.parent_path();
  if (target.directory.empty()) target.directory = ".";

  struct stat status {};
  if (stat(target.directory.c_str(), &status) != 0) {
    check<NotFound>(errno != ENOENT,
                    "'{}' can't be written: there is no directory '{}'. Create it first.", path,
                    target.directory.string());
    raise_file_error(path, "be written", errno);
  }
  check<NotFound>(S_ISDIR(status.st_mode),
                  "'{}' can't be written: '{}' isn't a directory. Choose another place.", path,
                  target.directory.string());
  if (stat(target.file.c_str(), &status) == 0) {
    check<FailedPrecondition>(S_ISREG(status.st_mode),
                              "'{}' can't be written: there is {} of this name. Choose another "
                              "name.",
                              path, S_ISDIR(status.st_mode) ? "a directory" : "a special file");
    if (faccessat(AT_FDCWD, target.file.c_str(), W_OK, AT_EACCESS) != 0) {
      raise_file_error(path, "be written", errno);
    }
    target.old = status;
  } else if (errno != ENOENT) {
    raise_file_error(path, "be written", errno);
  }
  return target;
}

// Locks the whole file, without blocking. The lock ends with the descriptor, even if the process
// dies.
bool lock(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

std::string temporary_prefix(const Target& target) {
  return "." + target.file.filename().string().substr(0, kMaxName) + ".";
}

// ".<name>.<hex digits>.cornu-tmp"
bool is_temporary(const std::string& name) {
  const size_t ending = kHexDigits + std::strlen(kSuffix);
  if (name.size() < ending + 3 || name[0] != '.' || !name.ends_with(kSuffix)) return false;
  const size_t digits = name.size() - ending;
  return name[digits - 1] == '.' &&
         name.find_first_not_of("0123456789abcdef", digits) == digits + kHexDigits;
}

// A new empty file next to the target, locked during its lifetime, and removed unless it was
// released.
class TemporaryFile {
 public:
  explicit TemporaryFile(const Target& target) : file_(create(target, path_)) {
    lock(file_.get());  // if the file system has no locks, leftovers are never removed
  }
  ~TemporaryFile() {
    if (!released_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  mode_t mode() const {
    struct stat status {};
    return fstat(file_.get(), &status) == 0 ? status.st_mode & 07777 : 0644;
  }
  // Another process took it for a leftover before it was locked.
  bool is_lost() const {
    struct stat status {};
    return fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
  }
  void release() { released_ = true; }

 private:
  static int create(const Target& target, std::string& path) {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path = (target.directory /
              fmt::format("{}{:08x}{}", temporary_prefix(target), uint32_t{random()}, kSuffix))
                 .string();
      const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file >= 0) return file;
      if (errno != EEXIST) break;
    }
    const int error = errno;
    check<FailedPrecondition>(
        error != ENOENT,
        "'{}' can't be written: no file can be created in '{}'. Choose another directory.",
        target.path, target.directory.string());
    raise_file_error(target.path, "be written", error);
  }

  std::string path_;
  FileDescriptor file_;
  bool released_ = false;
};

// Restores the owner and group of the replaced file, as far as the process is allowed to.
void keep_owner(const std::string& path, const struct stat& old) {
  constexpr uid_t kAsIs = static_cast<uid_t>(-1);
  const bool kept = chown(path.c_str(), old.st_uid, old.st_gid) == 0 ||
                    chown(path.c_str(), kAsIs, old.st_gid) == 0;
  (void)kept;  // otherwise the process's own are used
}

// `path`: the name known to the caller.
void sync_file(const std::string& path, const std::string& written) {
  const FileDescriptor file(open(written.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || fsync(file.get()) != 0) raise_file_error(path, "be written", errno);
}

void sync_directory(const std::string& path, const FileDescriptor& directory) {
  // A directory may be writable but not readable; some file systems can't sync directories.
  if (!directory.is_open() || fsync(directory.get()) == 0) return;
  if (errno == EINVAL || errno == ENOTSUP) return;
  raise<DataLoss>(
      "'{}' was written and is in place, but its directory can't be synced: {}. If the machine "
      "crashes now, the old file may be back.",
      path, reason(errno));
}

int open_readable(const std::string& path, struct stat& status) {
  const int file = open(checked_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) raise_file_error(path, "be opened", errno);
  const bool known = fstat(file, &status) == 0;
  if (known && S_ISREG(status.st_mode)) return file;
  const int error = errno;
  close(file);
  if (!known) raise_file_error(path, "be opened", error);
  raise<FailedPrecondition>("'{}' can't be read: expected a file, it is {}.", path,
                            S_ISDIR(status.st_mode) ? "a directory" : "a special file");
}

}  // namespace

// A live writer holds the lock of its file.
void remove_leftovers(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!is_temporary(entry.path().filename().string())) continue;
    const FileDescriptor file(
        open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.is_open() && lock(file.get())) unlink(entry.path().c_str());
  }
}

void raise_file_error(const std::string& path, const char* doing, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      raise<NotFound>("'{}' can't {}: {}. Check the path.", path, doing, reason(error));
    case ENOSPC:
    case EDQUOT:
      raise<ResourceExhausted>("'{}' can't {}: {}. Free some space, or choose another place.", path,
                               doing, reason(error));
    case EMFILE:
    case ENFILE:
      raise<ResourceExhausted>("'{}' can't {}: {}. Close some, or allow more (ulimit -n).", path,
                               doing, reason(error));
    case EFBIG:
      raise<ResourceExhausted>(
          "'{}' can't {}: {}. The process's limit (ulimit -f) or the file system allows no more.",
          path, doing, reason(error));
    case EIO:
      raise<DataLoss>("'{}' can't {}: {}. The disk may be failing.", path, doing, reason(error));
    case ENAMETOOLONG:
    case ELOOP:
      raise<InvalidArgument>("'{}' can't {}: {}.", path, doing, reason(error));
    default:
      raise<FailedPrecondition>(
          "'{}' can't {}: {}. Check the permissions, or choose another place.", path, doing,
          reason(error));
  }
}

struct AtomicFile::State {
  Target target;
  std::optional<TemporaryFile> temporary;
};

AtomicFile::AtomicFile(const std::string& path) : state_(new State{look_at(path), {}}) {
  occupy_standard_files();
  remove_leftovers(state_->target.directory.string());
  do {
    state_->temporary.emplace(state_->target);
  } while (state_->temporary->is_lost());
}

AtomicFile::~AtomicFile() = default;

const std::string& AtomicFile::temporary_path() const { return state_->temporary->path(); }

void AtomicFile::append(std::span<const std::span<const std::byte>> pieces) {
  const std::string& path = state_->target.path;
  const FileDescriptor file(open(temporary_path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.is_open()) raise_file_error(path, "be opened", errno);
  for (const auto& piece : pieces) {
    if (!write_all(file.get(), piece)) raise_file_error(path, "be written", errno);
  }
}

void AtomicFile::commit() {
  const Target& target = state_->target;
  TemporaryFile& temporary = *state_->temporary;
  const mode_t mode = target.old ? target.old->st_mode & 0777 : temporary.mode();
  if (target.old) keep_owner(temporary.path(), *target.old);
  if (mode != temporary.mode() && chmod(temporary.path().c_str(), mode) != 0) {
    raise_file_error(target.path, "be written", errno);
  }
  sync_file(target.path, temporary.path());
  if (std::rename(temporary.path().c_str(), target.file.c_str()) != 0) {
    raise_file_error(target.path, "be written", errno);
  }
  temporary.release();
  sync_directory(target.path, FileDescriptor(open(target.directory.c_str(),
                                                  O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string&)>& write) {
  AtomicFile file(path);
  write(file.temporary_path());
  file.commit();
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, std::span(&bytes, 1));
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  AtomicFile file(path);
  file.append(pieces);
  file.commit();
}

void sync_files(const std::string& folder, std::span<const std::string> paths) {
  constexpr size_t kFew = 8;
  const FileDescriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) raise_file_error(folder, "be written", errno);
  if (paths.size() > kFew) {
    if (syncfs(directory.get()) != 0) raise_file_error(folder, "be written", errno);
    return;
  }
  for (const std::string& path : paths) sync_file(path, path);
  sync_directory(folder, directory);
}

std::vector<std::byte> read_file(const std::string& path, size_t limit) {
  struct stat status {};
  const FileDescriptor file(open_readable(path, status));
  const auto size = static_cast<uint64_t>(status.st_size);
  check<ResourceExhausted>(size <= limit, "'{}' has {} bytes; at most {} were expected.", path,
                           size, limit);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno != EINTR) raise_file_error(path, "be read", errno);
    check<DataLoss>(got != 0, "'{}' was shortened while it was being read.", path);
    if (got > 0) done += static_cast<size_t>(got);
  }
  return bytes;
}

size_t file_size(const std::string& path) {
  struct stat status {};
  const FileDescriptor file(open_readable(path, status));
  return static_cast<size_t>(status.st_size);
}

}  // namespace cornu
