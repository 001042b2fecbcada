// SPDX-License-Identifier: Apache-2.0
// The tensors of an ONNX file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::onnx::reading {

// Reads TensorProtos. No tensor takes more memory than the bytes that the files have for it.
class FileTensors {
 public:
  // `memory` keeps the bytes of the file alive.
  FileTensors(std::string path, std::shared_ptr<const void> memory)
      : path_(std::move(path)), memory_(std::move(memory)) {}

  // Returns a tensor and its name. Throws wire::Damage, and the errors of read_onnx_file.
  std::pair<std::string, Tensor> read(std::string_view message);
  // Total size of the external files.
  uint64_t external_bytes() const { return external_bytes_; }

 private:
  struct Parts;
  Parts parts_of(std::string_view message) const;
  Tensor raw(const Parts& parts);
  Tensor external(const Parts& parts);
  std::string external_path(const Parts& parts) const;

  std::string path_;
  std::shared_ptr<const void> memory_;
  // Data already read from external files, and the sizes of these files by name.
  std::map<std::tuple<std::string, uint64_t, uint64_t>, std::shared_ptr<Buffer>> external_;
  std::map<std::string, uint64_t> sizes_;
  uint64_t external_bytes_ = 0;
  uint64_t external_read_ = 0;
};

}  // namespace cornu::onnx::reading
