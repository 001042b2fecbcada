// SPDX-License-Identifier: Apache-2.0
// The manual page (laid out according to man-pages(7)).
#include <fmt/format.h>

#include <sstream>

#include "apps/cornu/tool/documents.h"
#include "apps/cornu/tool/option_table.h"

namespace apps {
namespace {

// The UTF-8 character at `at` in troff's notation; `at` moves to its last byte.
std::string unicode(const std::string& text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  unsigned code = first & (0x3fu >> more);
  for (int i = 0; i < more && at + 1 < text.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[++at]) & 0x3fu);
  }
  return fmt::format("\\[u{:04X}]", code);
}

// Escapes text so that troff shows it literally.
std::string troff(const std::string& text) {
  std::string result;
  bool starts_line = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '`') {
      result += "\\(ga";
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      result += unicode(text, i);
    } else {
      result += c;
    }
    starts_line = c == '\n';
  }
  return result;
}

std::string option_entry(const OptionRow& row) {
  std::string names;
  for (const std::string& name : row.names) {
    names += (names.empty() ? "" : ", ") + ("\\fB" + troff(name) + "\\fR");
  }
  const std::string value =
      row.choices.empty() ? row.value : fmt::format("{}", fmt::join(row.choices, "|"));
  if (row.takes_value && !row.positional) names += " \\fI" + troff(value) + "\\fR";
  const std::string initial = row.initial.empty() ? "" : fmt::format(" (default: {})", row.initial);
  return fmt::format(".TP\n{}\n{}\n", names, troff(row.about + initial));
}

// The text after a command's options: paragraphs; indented lines are kept as they are.
std::string more(const std::string& text) {
  std::string result;
  bool literal = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != literal) result += indented ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n.PP\n";
    literal = indented;
    result += line.empty() ? ".PP\n" : troff(indented ? line.substr(2) : line) + "\n";
  }
  return result + (literal ? ".RE\n.fi\n" : "");
}

std::string command_section(const CLI::App& command) {
  std::string text = fmt::format(".SS cornu {}\n{}.\n", troff(command.get_name()),
                                 troff(command.get_description()));
  const std::string help = command.help();
  const std::string usage = help.substr(help.find("usage: ") + 7);
  text += fmt::format(".PP\n\\fB{}\\fR\n", troff(usage.substr(0, usage.find('\n'))));
  for (const OptionRow& row : options_of(command)) text += option_entry(row);
  return text + ".PP\n" + more(command.get_footer());
}

}  // namespace

std::string manual_page(const CLI::App& tool, const std::string& version) {
  std::string text = fmt::format(
      ".TH CORNU 1 \"\" \"Cornu {}\" \"User Commands\"\n.SH NAME\ncornu \\- {}\n"
      ".SH SYNOPSIS\n\\fBcornu\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
      "Cornu is Keras for C++. This program runs, trains, converts, draws and measures models that "
      "Keras or Cornu has saved, and starts programs as clusters.\n.PP\n",
      version, troff(tool.get_description()));
  text += more(tool.get_footer());
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(tool)) text += command_section(*command);
  return text;
}

}  // namespace apps
