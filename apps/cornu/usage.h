// SPDX-License-Identifier: Apache-2.0
// A command's usage, as the first line of its help.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace apps {

class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

inline void set_usage(CLI::App& command, const std::string& usage) {
  auto formatter = std::make_shared<UsageFormatter>(usage);
  formatter->column_width(28);
  command.formatter(formatter);
}

}  // namespace apps
