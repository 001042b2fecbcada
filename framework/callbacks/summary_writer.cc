// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/summary_writer.h"

#include <filesystem>
#include <mutex>

#include "framework/callbacks/summaries.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/io/event_file.h"

namespace cornu {
namespace {

constexpr int kMaxCollected = 10;

const std::string& made_folder(const std::string& log_dir) {
  std::error_code error;
  std::filesystem::create_directories(log_dir, error);
  check<FailedPrecondition>(!error && !log_dir.empty(),
                            "SummaryWriter: the directory '{}' can't be created: {}.", log_dir,
                            error ? error.message() : "it has no name");
  return log_dir;
}

}  // namespace

struct SummaryWriter::State {
  explicit State(const std::string& log_dir) : file(made_folder(log_dir)) {}

  void flush() {
    collected = 0;
    file.flush();
  }

  std::mutex mutex;
  EventFile file;
  int collected = 0;
};

SummaryWriter::SummaryWriter(const std::string& log_dir)
    : state_(std::make_unique<State>(log_dir)) {}

SummaryWriter::~SummaryWriter() {
  if (!state_) return;
  try {
    state_->flush();
  } catch (const Error& error) {
    logging::warn(fmt::format("SummaryWriter: the last records are lost. {}", error.what()));
  }
}

SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;

SummaryWriter& SummaryWriter::operator=(SummaryWriter&& other) noexcept {
  SummaryWriter ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

void SummaryWriter::scalar(const std::string& name, double value, int64_t step) {
  write(callbacks::scalar_summary(name, value), step);
}

void SummaryWriter::histogram(const std::string& name, const Tensor& values, int64_t step) {
  write(callbacks::histogram_summary(name, values), step);
}

void SummaryWriter::image(const std::string& name, const Tensor& pictures, int64_t step,
                          int64_t max_outputs) {
  write(callbacks::pictures_summary(name, pictures, max_outputs), step);
}

void SummaryWriter::text(const std::string& name, const std::string& text, int64_t step) {
  write(callbacks::text_summary(name, text), step);
}

void SummaryWriter::text(const std::string& name, const std::vector<std::string>& texts,
                         int64_t step) {
  write(callbacks::text_summary(name, texts), step);
}

void SummaryWriter::flush() {
  check<FailedPrecondition>(state_ != nullptr, "SummaryWriter: used after it was moved from.");
  const std::lock_guard lock(state_->mutex);
  state_->flush();
}

void SummaryWriter::write(const std::string& value, int64_t step) {
  check<FailedPrecondition>(state_ != nullptr, "SummaryWriter: used after it was moved from.");
  const std::lock_guard lock(state_->mutex);
  state_->file.add_value(step, value);
  if (++state_->collected >= kMaxCollected) state_->flush();
}

}  // namespace cornu
