// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/declarations.h"

#include <fstream>
#include <iterator>
#include <regex>

#include "framework/core/ascii.h"

namespace cornu::test {
namespace {

// Removes comments, preprocessor lines and the contents of strings.
std::string plain(const std::string& text) {
  static const std::regex skipped(R"re((^|\n)[ \t]*#[^\n]*|//[^\n]*|"(\\.|[^"\\\n])*")re"
                                  R"re(|'(\\.|[^'\\\n])')re");
  return std::regex_replace(text, skipped, "$1");
}

bool is_word(char c) { return ascii::is_alnum(c) || c == '_'; }

// Returns the position after the bracket that closes the one at `from`.
size_t behind_group(const std::string& code, size_t from) {
  int depth = 0;
  for (size_t i = from; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '{') ++depth;
    if ((code[i] == ')' || code[i] == '}') && --depth == 0) return i + 1;
  }
  return code.size();
}

// Returns the word that ends before `end`.
std::string word_before(const std::string& code, size_t end) {
  while (end > 0 && ascii::is_space(code[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_word(code[begin - 1])) --begin;
  return code.substr(begin, end - begin);
}

// Returns the function declared by this text, which ends before its body or ';': the word before
// the first parenthesis outside template brackets. Empty when there is none.
std::string function_of(const std::string& head) {
  int angles = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && angles > 0) --angles;
    if (head[i] == '=' && angles == 0) return {};  // a variable
    if (head[i] != '(' || angles > 0) continue;
    const std::string word = word_before(head, i);
    if (word != "requires") return word;
    i = behind_group(head, i) - 1;
  }
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "::") + name;
  return text;
}

// Adds the names of fields, or of a constructor's parameters, in text where each is followed by
// `end`.
void add_declared(const std::string& text, const std::string& end, Names& found) {
  const std::regex pattern("(\\w+)\\s*(=[^" + end + "]*|\\{[^" + end + "]*)?([" + end + "]|$)");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), stop; it != stop; ++it) {
    found.insert((*it)[1]);
  }
}

// Returns the contents of the constructors' parentheses, joined by commas.
std::string constructor_parameters(const DeclaredType& type, const std::string& name) {
  std::string parameters;
  const std::regex constructor("(^|[^\\w~:])" + name + "\\(");
  const std::string& code = type.body;
  for (std::sregex_iterator it(code.begin(), code.end(), constructor), end; it != end; ++it) {
    const size_t open = static_cast<size_t>(it->position() + it->length()) - 1;
    const size_t behind = behind_group(code, open);
    parameters += code.substr(open + 1, behind - open - 2) + ",";
  }
  return parameters;
}

}  // namespace

Declarations::Declarations(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    read({std::istreambuf_iterator<char>(file), {}});
  }
}

void Declarations::read(const std::string& text) {
  static const std::regex of_namespace(R"(\s*(inline\s+)?namespace\s+([\w:]+)\s*)");
  const std::string code = plain(text);
  std::vector<std::string> spaces;
  size_t begin = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '(') {
      i = behind_group(code, i) - 1;
    } else if (code[i] == ';') {
      add(joined(spaces), code.substr(begin, i - begin), {});
      begin = i + 1;
    } else if (code[i] == '}') {
      if (!spaces.empty()) spaces.pop_back();
      begin = i + 1;
    } else if (code[i] == '{') {
      const std::string head = code.substr(begin, i - begin);
      std::smatch match;
      if (std::regex_match(head, match, of_namespace)) {
        spaces.push_back(match[2]);
        begin = i + 1;
        continue;
      }
      const size_t end = behind_group(code, i);
      add(joined(spaces), head, code.substr(i, end - i));
      begin = end;
      i = end - 1;
    }
  }
}

void Declarations::add(const std::string& space, const std::string& head, const std::string& body) {
  static const std::regex type(
      R"(^\s*(template\s*<[^{;]*>\s*)?(class|struct|using)\s+(\[\[\w+\]\]\s*)?(\w+))");
  std::smatch match;
  if (std::regex_search(head, match, type)) {
    const bool defined = match[2] == "using" ? head.find('=') != std::string::npos : !body.empty();
    if (defined) types_.insert({match[4], {match[2], match.suffix(), body}});
    return;
  }
  if (const std::string name = function_of(head); !name.empty()) functions_[space].insert(name);
}

const Names& Declarations::functions(const std::string& space) const {
  static const Names none;
  const auto found = functions_.find(space);
  return found == functions_.end() ? none : found->second;
}

std::vector<DeclaredType> Declarations::types(const std::string& name) const {
  std::vector<DeclaredType> result;
  const auto [begin, end] = types_.equal_range(name);
  for (auto it = begin; it != end; ++it) result.push_back(it->second);
  return result;
}

Names Declarations::type_names() const {
  Names names;
  for (const auto& [name, type] : types_) names.insert(name);
  return names;
}

Names Declarations::arguments(const std::string& name) const {
  Names found, seen;
  add_arguments(name, found, seen);
  return found;
}

void Declarations::add_arguments(const std::string& name, Names& found, Names& seen) const {
  if (!seen.insert(name).second) return;
  static const std::regex word("[A-Za-z_][A-Za-z0-9_]*");
  for (const DeclaredType& type : types(name)) {
    if (type.kind == "struct") add_declared(type.body, ";", found);
    const std::string taken = constructor_parameters(type, name);
    add_declared(taken, ",", found);
    // The structs that constructors take; if there are none, the base or the target of the alias.
    const std::string& mentioned = taken.empty() ? type.of : taken;
    for (std::sregex_iterator it(mentioned.begin(), mentioned.end(), word), end; it != end; ++it) {
      const auto others = types(it->str());
      const bool is_class = !others.empty() && others[0].kind == "class";
      if (taken.empty() || !is_class) add_arguments(it->str(), found, seen);
    }
  }
}

}  // namespace cornu::test
