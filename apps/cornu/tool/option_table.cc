// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/tool/option_table.h"

namespace apps {
namespace {

// The members of "TEXT:{a,b}", which is how CLI11 describes IsMember.
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{');
  if (begin == std::string::npos || type.back() != '}') return {};
  return CLI::detail::split(type.substr(begin + 1, type.size() - begin - 2), ',');
}

}  // namespace

std::vector<OptionRow> options_of(const CLI::App& command) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : command.get_options({})) {
    OptionRow row;
    row.positional = !option->nonpositional();
    if (row.positional) row.names = {option->get_name(true)};
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    row.takes_value = option->get_expected_max() > 0;
    const std::string type = option->get_type_name();
    row.choices = choices_of(type);
    if (row.takes_value && row.choices.empty()) row.value = type.substr(0, type.find(':'));
    row.about = option->get_description();
    row.initial = option->get_default_str();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<const CLI::App*> commands_of(const CLI::App& tool) {
  return tool.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace apps
