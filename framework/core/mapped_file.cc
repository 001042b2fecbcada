// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "cornu/core/error.h"
#include "cornu/core/file_descriptor.h"

namespace cornu {
MappedFile::MappedFile(const std::filesystem::path& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check<NotFound>(file.is_open(), "{}: the file can't be opened: {}.", path.string(),
                  std::strerror(errno));
  struct stat status;
  check<NotFound>(fstat(file.get(), &status) == 0, "{}: the file can't be read: {}.", path.string(),
                  std::strerror(errno));
  check<InvalidArgument>(S_ISREG(status.st_mode), "{}: expected a regular file.", path.string());
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  check<ResourceExhausted>(data != MAP_FAILED, "{}: {} bytes can't be mapped: {}.", path.string(),
                           size_, std::strerror(errno));
  data_ = static_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
}

}  // namespace cornu
