// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/lines.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace apps {
namespace {

constexpr size_t kLongestLine = 1 << 16;  // longer ones are split
constexpr int kColors[] = {36, 33, 32, 35, 34, 31};

}  // namespace

Lines::Lines(const std::string& name, int number, Sink& to) : prefix_("[" + name + "] "), to_(&to) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!to.is_terminal() || (no_color && *no_color)) return;
  prefix_ = fmt::format("\033[{}m[{}]\033[0m ", kColors[number % std::size(kColors)], name);
}

bool Lines::forward() {
  char buffer[1 << 16];
  const ssize_t count = ::read(pipe_.get(), buffer, sizeof buffer);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) {
    pipe_ = cornu::FileDescriptor();
    return true;
  }
  text_.append(buffer, static_cast<size_t>(count));
  return write_lines();
}

bool Lines::finish() {
  for (size_t before = text_.size() + 1; pipe_.is_open() && before != text_.size();) {
    before = text_.size();
    char buffer[1 << 16];
    const ssize_t count = ::read(pipe_.get(), buffer, sizeof buffer);
    if (count > 0) text_.append(buffer, static_cast<size_t>(count));
  }
  pipe_ = cornu::FileDescriptor();
  if (!text_.empty() && text_.back() != '\n') text_ += '\n';
  const bool well = write_lines();
  text_.clear();
  return well;
}

bool Lines::write_lines() {
  std::string lines;
  size_t begin = 0;
  while (begin < text_.size()) {
    size_t end = text_.find('\n', begin);
    const bool cut = std::min(end, text_.size()) - begin > kLongestLine;
    if (cut) end = begin + kLongestLine;
    if (end == std::string::npos) break;
    lines += prefix_;
    lines.append(text_, begin, end - begin);
    lines += '\n';
    begin = cut ? end : end + 1;
  }
  text_.erase(0, begin);
  return lines.empty() || to_->write(lines);
}

}  // namespace apps
