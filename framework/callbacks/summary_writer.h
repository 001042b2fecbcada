// SPDX-License-Identifier: Apache-2.0
// Writes custom summaries for TensorBoard (tf.summary).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// tf.summary.create_file_writer and tf.summary's functions: creates a new event file in `log_dir`,
// which is created if it doesn't exist. `step` is the record's position in TensorBoard's charts.
//
//   SummaryWriter writer("logs/mine");
//   writer.scalar("loss", loss.item<double>(), step);
//
// Records are buffered and written every ten records, by flush() and by the destructor, where a
// failure logs a warning. Thread-safe. Throws FailedPrecondition when the directory can't be
// created; writing and flush() throw EventFile's errors, e.g. ResourceExhausted when the disk is
// full.
class SummaryWriter {
 public:
  explicit SummaryWriter(const std::string& log_dir);
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) noexcept;

  void scalar(const std::string& name, double value, int64_t step);
  // Writes a histogram of a tensor's values, whatever its shape, in 30 buckets.
  void histogram(const std::string& name, const Tensor& values, int64_t step);
  // Writes images (count, height, width, 1, 3 or 4): uint8, or floats in [0, 1]. Throws
  // InvalidArgument for other shapes. Only the first `max_outputs` are written.
  void image(const std::string& name, const Tensor& pictures, int64_t step,
             int64_t max_outputs = 3);
  // Writes Markdown: one text, or several.
  void text(const std::string& name, const std::string& text, int64_t step);
  void text(const std::string& name, const std::vector<std::string>& texts, int64_t step);
  void flush();

 private:
  struct State;
  void write(const std::string& value, int64_t step);
  std::unique_ptr<State> state_;
};

}  // namespace cornu
