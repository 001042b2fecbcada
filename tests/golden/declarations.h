// SPDX-License-Identifier: Apache-2.0
// Parses the declarations of headers from their text: functions and types at namespace scope, as
// opposed to names that are only mentioned there (members, calls, parameters, comments).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cornu::test {

using Names = std::set<std::string, std::less<>>;

struct DeclaredType {
  std::string kind;  // "class", "struct" or "using"
  std::string of;    // the text after the name: the bases, or an alias's target
  std::string body;  // the braces and their contents; empty for an alias
};

class Declarations {
 public:
  Declarations() = default;
  // Reads all headers (*.h) in the folder, recursively.
  explicit Declarations(const std::filesystem::path& folder);
  // Reads the text of one header.
  void read(const std::string& text);

  // Returns the functions of a namespace ("cornu::ops").
  const Names& functions(const std::string& space) const;
  // Returns the types with this name in any scope. Declarations without a body don't count.
  std::vector<DeclaredType> types(const std::string& name) const;
  // Returns the names of the types that are defined or aliased, in all namespaces.
  Names type_names() const;
  // Returns what the constructors of the type accept: their parameters, and the fields of the
  // structs among these. A type without constructors has its base's arguments, an alias those of
  // its target.
  Names arguments(const std::string& name) const;

 private:
  void add(const std::string& space, const std::string& head, const std::string& body);
  void add_arguments(const std::string& name, Names& found, Names& seen) const;

  std::map<std::string, Names> functions_;
  std::multimap<std::string, DeclaredType> types_;
};

}  // namespace cornu::test
