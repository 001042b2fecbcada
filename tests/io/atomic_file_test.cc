// SPDX-License-Identifier: Apache-2.0
#include "framework/io/atomic_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <stdexcept>

#include "framework/io/event_file.h"
#include "framework/io/file_lock.h"
#include "framework/io/file_reader.h"
#include "tests/support/scratch.h"

// The system's function, except that directories can't be synced while a test says so.
static bool directories_fail = false;
// The same of modes, as on file systems of other operating systems.
static bool modes_fail = false;
extern "C" int chmod(const char* path, mode_t mode) noexcept {
  if (!modes_fail) return static_cast<int>(syscall(SYS_fchmodat, AT_FDCWD, path, mode));
  errno = EPERM;
  return -1;
}
extern "C" int fsync(int file) {
  struct stat status {};
  if (directories_fail && fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace cornu {
namespace {

using test::contains;
using test::contents;
using test::message_of;
using test::put;
using test::Scratch;

std::vector<std::string> one(const std::string& name) { return {name}; }

mode_t mode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

// Runs `body` in a separate process and returns the signal that ended it.
template <class F>
int signal_of(F&& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("a file is written and replaced") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_file_atomically(path, std::string_view("first"));
  CHECK(contents(path) == "first");
  write_file_atomically(path, [&](const std::string& temporary) {
    CHECK(std::filesystem::path(temporary).parent_path() == scratch.path());
    CHECK(contents(temporary).empty());
    CHECK(contents(path) == "first");
    put(temporary, "second");
    CHECK(contents(path) == "first");
  });
  CHECK(contents(path) == "second");
  const std::vector<std::byte> bytes = {std::byte{0}, std::byte{255}};
  write_file_atomically(path, bytes);
  CHECK(read_file(path, 2) == bytes);
  CHECK(scratch.names() == one("model.keras"));
}

TEST_CASE("modes aren't changed where they are right") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  modes_fail = true;
  write_file_atomically(path, std::string_view("first"));
  write_file_atomically(path, std::string_view("second"));
  modes_fail = false;
  CHECK(contents(path) == "second");
}

// Closes a standard file for its lifetime.
class ClosedFile {
 public:
  explicit ClosedFile(int file) : file_(file), kept_(fcntl(file, F_DUPFD_CLOEXEC, 10)) {
    close(file);
  }
  ~ClosedFile() {
    dup2(kept_, file_);
    close(kept_);
  }
  ClosedFile(const ClosedFile&) = delete;
  ClosedFile& operator=(const ClosedFile&) = delete;

 private:
  int file_;
  int kept_;
};

TEST_CASE("a file doesn't become one that the program prints to") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  std::array<ssize_t, 3> printed{};
  {
    const ClosedFile in(STDIN_FILENO), out(STDOUT_FILENO), errors(STDERR_FILENO);
    AtomicFile file(path);
    const int opened = open(file.temporary_path().c_str(), O_WRONLY | O_CLOEXEC);
    char byte = 0;
    printed = {read(STDIN_FILENO, &byte, 1), write(STDOUT_FILENO, "x", 1),
               write(STDERR_FILENO, "x", 1)};
    static_cast<void>(!write(opened, "right", 5));
    close(opened);
    file.commit();
  }
  CHECK(printed == std::array<ssize_t, 3>{-1, -1, -1});  // as it would have
  CHECK(contents(path) == "right");
}

TEST_CASE("limits of the process are named as such") {
  CHECK(message_of<ResourceExhausted>([] { raise_file_error("a", "be opened", EMFILE); }) ==
        "'a' can't be opened: Too many open files. Close some, or allow more (ulimit -n).");
  CHECK(message_of<ResourceExhausted>([] { raise_file_error("a", "be written", EFBIG); }) ==
        "'a' can't be written: File too large. The process's limit (ulimit -f) or the file system "
        "allows no more.");
}

TEST_CASE("an error leaves the old file, and no other") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  const auto fail = [](const std::string& temporary) {
    put(temporary, "half");
    throw std::runtime_error("stop");
  };
  CHECK_THROWS_AS(write_file_atomically(path, fail), std::runtime_error);
  CHECK(scratch.names().empty());
  put(path, "old");
  CHECK_THROWS_AS(write_file_atomically(path, fail), std::runtime_error);
  CHECK(contents(path) == "old");
  CHECK(scratch.names() == one("model.keras"));
}

TEST_CASE("a killed process leaves the old file, and the next write removes what it left") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  put(path, "old");
  put(scratch.path(".model.keras.0123abcd.cornu-tmp2"), "somebody else's");
  put(scratch.path(".model.keras.0123abcx.cornu-tmp"), "somebody else's");
  const int signal = signal_of([&] {
    write_file_atomically(path, [](const std::string& temporary) {
      put(temporary, "half");
      kill(getpid(), SIGKILL);
    });
  });
  CHECK(signal == SIGKILL);
  CHECK(contents(path) == "old");
  CHECK(scratch.names().size() == 4);
  write_file_atomically(path, std::string_view("new"));
  CHECK(contents(path) == "new");
  CHECK(scratch.names() == std::vector<std::string>{".model.keras.0123abcd.cornu-tmp2",
                                                    ".model.keras.0123abcx.cornu-tmp",
                                                    "model.keras"});
}

TEST_CASE("what killed processes left under other names is removed too") {
  const Scratch scratch;
  for (int epoch = 0; epoch < 3; ++epoch) {
    CHECK(signal_of([&] {
            write_file_atomically(scratch.path(fmt::format("run-{}.keras", epoch)),
                                  [](const std::string&) { kill(getpid(), SIGKILL); });
          }) == SIGKILL);
  }
  CHECK(scratch.names().size() == 1);  // each one removes its predecessor's file
  write_file_atomically(scratch.path("run-3.keras"), std::string_view("new"));
  CHECK(scratch.names() == one("run-3.keras"));
}

TEST_CASE("a directory that can't be synced: the error says that the file is in place") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  put(path, "old");
  directories_fail = true;
  const std::string message =
      message_of<DataLoss>([&] { write_file_atomically(path, std::string_view("new")); });
  directories_fail = false;
  CHECK(message == "'" + path +
                       "' was written and is in place, but its directory can't be synced: "
                       "Input/output error. If the machine crashes now, the old file may be back.");
  CHECK(contents(path) == "new");
}

TEST_CASE("a file that is read-only isn't replaced") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  put(path, "old");
  chmod(scratch.path().c_str(), 0777);
  chmod(path.c_str(), 0444);
  const int signal = signal_of([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) abort();  // root may write to all files
    const std::string message = message_of<FailedPrecondition>(
        [&] { write_file_atomically(path, std::string_view("new")); });
    if (!contains(message, "can't be written: Permission denied")) abort();
  });
  CHECK(signal == 0);
  CHECK(contents(path) == "old");
  CHECK(mode_of(path) == 0444);
}

TEST_CASE("a replaced file keeps its owner and group, and no other bits than permissions") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  put(path, "old");
  // Without root rights, files can't be given away: it uses its own user and group then.
  const uid_t owner = geteuid() == 0 ? 12345 : geteuid();
  const gid_t group = geteuid() == 0 ? 23456 : getegid();
  REQUIRE(chown(path.c_str(), owner, group) == 0);
  chmod(path.c_str(), 04660);
  write_file_atomically(path, std::string_view("new"));
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK(status.st_uid == owner);
  CHECK(status.st_gid == group);
  CHECK(mode_of(path) == 0660);
}

TEST_CASE("a write that goes on isn't taken for a leftover") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_file_atomically(path, [&](const std::string& temporary) {
    put(temporary, "outer");
    CHECK(signal_of([&] { write_file_atomically(path, std::string_view("inner")); }) == 0);
    write_file_atomically(path, std::string_view("inner"));
    CHECK(contents(path) == "inner");
    CHECK(contents(temporary) == "outer");
  });
  CHECK(contents(path) == "outer");
  CHECK(scratch.names() == one("model.keras"));
}

TEST_CASE("a writer may replace the temporary file") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_file_atomically(path, [&](const std::string& temporary) {
    put(scratch.path("other"), "replaced");
    std::filesystem::rename(scratch.path("other"), temporary);
  });
  CHECK(contents(path) == "replaced");
}

TEST_CASE("permissions: an old file's stay, a new one's are the process's") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  const mode_t mask = umask(027);
  write_file_atomically(path, std::string_view("1"));
  CHECK(mode_of(path) == 0640);
  umask(mask);
  chmod(path.c_str(), 0600);
  write_file_atomically(path, std::string_view("2"));
  CHECK(mode_of(path) == 0600);
}

TEST_CASE("relative paths and symbolic links") {
  namespace fs = std::filesystem;
  const Scratch scratch;
  const fs::path before = fs::current_path();
  fs::create_directory(scratch.path("real"));
  fs::create_symlink("real", scratch.path("linked"));
  fs::create_symlink("real/target", scratch.path("link"));
  fs::create_symlink("link", scratch.path("link2"));

  fs::current_path(scratch.path());
  write_file_atomically("plain", std::string_view("1"));
  write_file_atomically("./linked/../linked/file", std::string_view("2"));
  write_file_atomically("link2", std::string_view("3"));  // its target doesn't exist yet
  CHECK(contents("link2") == "3");
  write_file_atomically("link2", std::string_view("4"));
  fs::current_path(before);

  CHECK(contents(scratch.path("plain")) == "1");
  CHECK(contents(scratch.path("real/file")) == "2");
  CHECK(contents(scratch.path("real/target")) == "4");
  CHECK(fs::is_symlink(scratch.path("link")));
  CHECK(fs::is_symlink(scratch.path("link2")));

  fs::create_symlink("loop", scratch.path("loop"));
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { write_file_atomically(scratch.path("loop"), std::string_view("x")); }),
                 "symbolic links"));
}

TEST_CASE("names as long as the file system takes") {
  const Scratch scratch;
  const std::string name(255, 'n');
  write_file_atomically(scratch.path(name), std::string_view("x"));
  CHECK(scratch.names() == one(name));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   write_file_atomically(scratch.path(name + "n"), std::string_view("x"));
                 }),
                 "too long"));
}

TEST_CASE("what can't be written is said") {
  const Scratch scratch;
  const auto write_to = [](const std::string& path) {
    return [path] { write_file_atomically(path, std::string_view("x")); };
  };
  const std::string missing = scratch.path("missing/model.keras");
  CHECK(message_of<NotFound>(write_to(missing)) ==
        fmt::format("'{}' can't be written: there is no directory '{}'. Create it first.", missing,
                    scratch.path("missing")));
  put(scratch.path("file"), "");
  CHECK(contains(message_of<NotFound>(write_to(scratch.path("file/model.keras"))),
                 "file' isn't a directory. Choose another place."));
  CHECK(contains(message_of<NotFound>(write_to(scratch.path("file/x/model.keras"))),
                 "Not a directory"));
  CHECK(contains(message_of<FailedPrecondition>(write_to("/proc/model.keras")),
                 "no file can be created in '/proc'"));
  CHECK(contains(message_of<FailedPrecondition>(write_to("/dev/null")), "a special file"));
  std::filesystem::create_directory(scratch.path("folder"));
  CHECK(contains(message_of<FailedPrecondition>(write_to(scratch.path("folder"))),
                 "there is a directory of this name"));
  CHECK(contains(message_of<InvalidArgument>(write_to(scratch.path("folder/"))),
                 "it names a directory. Add a file's name."));
  CHECK(contains(message_of<InvalidArgument>(write_to("")), "path of the file to write is empty"));
  CHECK(contains(message_of<InvalidArgument>(write_to(std::string("a\0b", 3))), "zero byte"));
}

TEST_CASE("a full disk is said, and the old file stays") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  put(path, "old");
  // A limit on file sizes simulates a full disk; it ends with the process.
  const int signal = signal_of([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = message_of<FailedPrecondition>(
        [&] { write_file_atomically(path, std::string_view(std::string(5000, 'x'))); });
    if (!contains(message, "can't be written: File too large")) abort();
  });
  CHECK(signal == 0);
  CHECK(contents(path) == "old");
  CHECK(scratch.names() == one("model.keras"));
}

TEST_CASE("read_file reads what fits, and says what it can't") {
  const Scratch scratch;
  const std::string path = scratch.path("file");
  put(path, "12345");
  CHECK(read_file(path, 5).size() == 5);
  CHECK(file_size(path) == 5);
  CHECK(message_of<ResourceExhausted>([&] { read_file(path, 4); }) ==
        fmt::format("'{}' has 5 bytes; at most 4 were expected.", path));
  CHECK(contains(message_of<NotFound>([&] { read_file(scratch.path("none"), 1); }),
                 "No such file or directory. Check the path."));
  CHECK(contains(message_of<NotFound>([&] { read_file(scratch.path("file/"), 1); }),
                 "Not a directory"));
  CHECK(contains(message_of<FailedPrecondition>([&] { read_file(scratch.path(), 1); }),
                 "expected a file, it is a directory"));
  REQUIRE(mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of<FailedPrecondition>([&] { read_file(scratch.path("pipe"), 1); }),
                 "a special file"));
  put(path, "");
  CHECK(read_file(path, 0).empty());
}

TEST_CASE("a path with a zero byte is no file's") {
  const Scratch scratch;
  const std::string path = scratch.path("a");
  write_file_atomically(path, "kept");
  const std::string longer = path + std::string("\0b", 2);
  const auto refused = [&](const std::function<void()>& f) {
    return message_of<InvalidArgument>(f).find(
               "expected a path without zero bytes, which would end it. Choose another name.") !=
           std::string::npos;
  };
  CHECK(refused([&] { write_file_atomically(longer, "lost"); }));
  CHECK(refused([&] { read_file(longer, 100); }));
  CHECK(refused([&] { FileReader{longer}; }));
  CHECK(refused([&] { FileLock{longer}; }));
  CHECK(refused([&] { EventFile{longer}; }));
  CHECK(FileReader(path).size() == 4);
}

}  // namespace
}  // namespace cornu
