// SPDX-License-Identifier: Apache-2.0
#include "data/readers/npy.h"

#include <fcntl.h>
#include <cerrno>

#include "data/readers/npy_format.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/file_reader.h"

namespace cornu::data {

Tensor parse_npy(std::span<const std::byte> file, const std::string& name,
                 std::shared_ptr<const void> owner) {
  const NpyHeader header = parse_npy_header(file, name);
  check<InvalidArgument>(
      !header.type.is_object(),
      "{}: an array of Python objects (a pickle) can't be a tensor. Save numbers "
      "of one type, as in array.astype(\"float32\"); lists of integers of "
      "different lengths are read by NpzReader::read_ragged.",
      name);
  check<Unimplemented>(header.type.dtype().has_value(),
                       "{}: elements of NumPy's type '{}' can't be in a tensor. Convert them "
                       "first, as in array.astype(\"float32\").",
                       name, header.type.to_string());
  const auto needed = array_bytes(header.type, header.shape);
  check<DataLoss>(needed.has_value(), "{}: an impossible shape: {}.", name, header.shape);
  const auto data = file.subspan(header.bytes);
  check<DataLoss>(data.size() >= *needed,
                  "{}: truncated at byte {}: an array of shape {} needs {} bytes. Download or "
                  "create the file again.",
                  name, file.size(), header.shape, header.bytes + *needed);
  check<DataLoss>(data.size() == *needed,
                  "{}: at byte {}, expected the end of the file after an array of shape {}.", name,
                  header.bytes + *needed, header.shape);
  return array_from_bytes(header.type, header.shape, header.fortran_order, data, std::move(owner));
}

Tensor load_npy(const std::filesystem::path& path) {
  const auto file = read_whole_file(path);
  return parse_npy({file->data(), file->bytes()}, path.string(), file);
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const Tensor value = tensor.host();
  const std::string header = npy_header(value.dtype(), value.shape());
  write_file_atomically(path.string(), [&](const std::string& temporary) {
    const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CLOEXEC));
    const bool written = file.is_open() &&
                         write_all(file.get(), std::as_bytes(std::span(header))) &&
                         write_all(file.get(), {value.raw(), value.bytes()});
    if (!written) raise_file_error(path.string(), "be written", errno);
  });
}

}  // namespace cornu::data
