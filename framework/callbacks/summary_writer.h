// SPDX-License-Identifier: Apache-2.0
// Records of a program's own for TensorBoard (tf.summary).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// tf.summary.create_file_writer, and tf.summary's functions: a new file of events in `log_dir`,
// which is made if it isn't there. `step` is where TensorBoard's curves have the record.
//
//   SummaryWriter writer("logs/mine");
//   writer.scalar("loss", loss.item<double>(), step);
//
// Records are collected and written every ten of them, by flush() and at the end, where a failure
// is a warning. Safe to use from several threads. FailedPrecondition where the folder can't be
// made; errors of write and flush as EventFile's: ResourceExhausted when the disk is full.
class SummaryWriter {
 public:
  explicit SummaryWriter(const std::string& log_dir);
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) noexcept;

  void scalar(const std::string& name, double value, int64_t step);
  // Of a tensor's values, whatever its shape, in 30 buckets.
  void histogram(const std::string& name, const Tensor& values, int64_t step);
  // Pictures (count, height, width, 1, 3 or 4): uint8, or floats from 0 to 1. InvalidArgument for
  // other shapes. The first `max_outputs` are written.
  void image(const std::string& name, const Tensor& pictures, int64_t step,
             int64_t max_outputs = 3);
  // Markdown: one text, or several.
  void text(const std::string& name, const std::string& text, int64_t step);
  void text(const std::string& name, const std::vector<std::string>& texts, int64_t step);
  void flush();

 private:
  struct State;
  void write(const std::string& value, int64_t step);
  std::unique_ptr<State> state_;
};

}  // namespace cornu
