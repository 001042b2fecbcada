// SPDX-License-Identifier: Apache-2.0
// Scripts that make shells complete the tool's words.
#include <fmt/format.h>

#include "apps/cornu/tool/documents.h"
#include "apps/cornu/tool/option_table.h"

namespace apps {
namespace {

using Words = std::vector<std::string>;

// Puts text in single quotes, for any of the three shells; fish has no other way to write a quote
// inside.
std::string quoted(const std::string& text, const char* quote = "'\\''") {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += quote;
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string joined(const Words& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

// ---- bash ----

std::string bash_values(const OptionRow& row) {
  if (!row.choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", joined(row.choices));
  }
  return row.takes_folder() ? "compopt -o dirnames" : row.takes_file() ? "compopt -o default" : ":";
}

std::string bash_command(const CLI::App& command) {
  std::string text = fmt::format("    {})\n      case \"$before\" in\n", command.get_name());
  Words options;
  std::string positional = "compopt -o default";
  for (const OptionRow& row : options_of(command)) {
    if (row.positional) {
      if (!row.choices.empty()) positional = bash_values(row);
      continue;
    }
    options.insert(options.end(), row.names.begin(), row.names.end());
    if (!row.takes_value) continue;
    text += fmt::format("        {}) {}; return ;;\n", joined(row.names, "|"), bash_values(row));
  }
  text += fmt::format(
      "      esac\n      if [[ $word == -* ]]; then\n"
      "        COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n      else\n        {}\n      fi ;;\n",
      joined(options), positional);
  return text;
}

std::string bash_script(const CLI::App& tool) {
  Words words = {"--help", "--version"};
  std::string cases;
  for (const CLI::App* command : commands_of(tool)) {
    words.push_back(command->get_name());
    cases += bash_command(*command);
  }
  return fmt::format(R"(# bash completion for cornu
_cornu() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      compopt -o default
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
}}
complete -F _cornu cornu
)",
                     joined(words), cases);
}

// ---- zsh ----

// Escapes text in a specification of _arguments.
std::string zsh_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_values(const OptionRow& row) {
  const std::string what = zsh_escaped(row.positional ? row.names[0] : row.value);
  if (!row.choices.empty()) return fmt::format(":{}:({})", what, joined(row.choices));
  return fmt::format(":{}:{}", what,
                     row.takes_folder() ? "_files -/"
                     : row.takes_file() ? "_files"
                                        : "");
}

std::string zsh_command(const CLI::App& command) {
  std::string text = fmt::format("    {})\n      _arguments -S", command.get_name());
  int place = 2;  // the command is the first argument
  for (const OptionRow& row : options_of(command)) {
    if (row.positional) {
      text += fmt::format(" \\\n        {}", quoted(fmt::format("{}{}", place++, zsh_values(row))));
      continue;
    }
    for (const std::string& name : row.names) {
      text += fmt::format(" \\\n        {}",
                          quoted(fmt::format("*{}[{}]{}", name, zsh_escaped(row.about),
                                             row.takes_value ? zsh_values(row) : "")));
    }
  }
  return text + " ;;\n";
}

std::string zsh_script(const CLI::App& tool) {
  std::string list;
  std::string cases;
  for (const CLI::App* command : commands_of(tool)) {
    list += fmt::format(
        "      {}\n", quoted(command->get_name() + ":" + zsh_escaped(command->get_description())));
    cases += zsh_command(*command);
  }
  return fmt::format(R"(#compdef cornu
_cornu() {{
  if ((CURRENT == 2)); then
    local -a commands=(
{}    )
    _describe command commands
    _arguments '--help[Say more]' '--version[Print the version]'
    return
  fi
  case $words[2] in
{}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _cornu "$@"
else
  compdef _cornu cornu
fi
)",
                     list, cases);
}

// ---- fish ----

std::string fish_option(const std::string& command, const OptionRow& row) {
  std::string text = fmt::format("complete -c cornu -n '__fish_seen_subcommand_from {}'", command);
  for (const std::string& name : row.names) {
    if (row.positional) continue;
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (row.takes_value && !row.positional) text += " -r";
  if (!row.choices.empty()) {
    text += " -f -a " + quoted(joined(row.choices), "\\'");
  } else if (row.takes_folder()) {
    text += " -f -a '(__fish_complete_directories)'";
  } else if (row.takes_file()) {
    text += " -F";
  }
  return text + " -d " + quoted(row.about, "\\'") + "\n";
}

std::string fish_script(const CLI::App& tool) {
  Words names;
  for (const CLI::App* command : commands_of(tool)) names.push_back(command->get_name());
  std::string text = "# fish completion for cornu\ncomplete -c cornu -f\n";
  const std::string first = fmt::format("not __fish_seen_subcommand_from {}", joined(names));
  text += fmt::format("complete -c cornu -n '{}' -l version -d 'Print the version'\n", first);
  for (const CLI::App* command : commands_of(tool)) {
    text += fmt::format("complete -c cornu -n '{}' -a {} -d {}\n", first, command->get_name(),
                        quoted(command->get_description(), "\\'"));
    for (const OptionRow& row : options_of(*command)) text += fish_option(command->get_name(), row);
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& tool, const std::string& shell) {
  if (shell == "bash") return bash_script(tool);
  return shell == "zsh" ? zsh_script(tool) : fish_script(tool);
}

}  // namespace apps
