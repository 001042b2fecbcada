// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checked_path.h"

namespace cornu {

FileReader::FileReader(const std::filesystem::path& path)
    : path_(path),
      file_(open(checked_path(path.native()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  check<NotFound>(file_.is_open() || !absent, "{}: the file can't be opened: {}.", path.string(),
                  std::strerror(errno));
  if (!file_.is_open()) raise_file_error(path.string(), "be opened", errno);
  struct stat status;
  check<NotFound>(fstat(file_.get(), &status) == 0, "{}: the file can't be read: {}.",
                  path.string(), std::strerror(errno));
  check<InvalidArgument>(S_ISREG(status.st_mode), "{}: expected a regular file.", path.string());
  size_ = static_cast<size_t>(status.st_size);
}

void FileReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const size_t got = read_some(out);
    check<DataLoss>(got > 0, "{}: the file was shortened while it was being read.", path_.string());
    out = out.subspan(got);
  }
}

size_t FileReader::read_some(std::span<std::byte> out) {
  for (;;) {
    const ssize_t got = ::read(file_.get(), out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    check<DataLoss>(got >= 0, "{}: the file can't be read: {}.", path_.string(),
                    std::strerror(errno));
    return static_cast<size_t>(got);
  }
}

void FileReader::seek(uint64_t offset) {
  check<DataLoss>(lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) >= 0,
                  "{}: the file can't be read at byte {}: {}.", path_.string(), offset,
                  std::strerror(errno));
}

std::shared_ptr<Buffer> read_whole_file(const std::filesystem::path& path) {
  FileReader file(path);
  auto buffer = allocate_host(file.size());
  file.read(std::span(buffer->data(), file.size()));
  return buffer;
}

}  // namespace cornu
