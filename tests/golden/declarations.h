// SPDX-License-Identifier: Apache-2.0
// What headers declare, read from their text: functions and types at the scope of a namespace, told
// from what is only mentioned there (members, calls, parameters, comments).
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
  std::string of;    // what stands behind its name: its bases, or what an alias is of
  std::string body;  // its braces and what they hold; empty for an alias
};

class Declarations {
 public:
  Declarations() = default;
  // Of all headers (*.h) in the folder and those in it.
  explicit Declarations(const std::filesystem::path& folder);
  // Of one header's text.
  void read(const std::string& text);

  // The functions of a namespace ("cornu::ops").
  const Names& functions(const std::string& space) const;
  // The types with this name, wherever they are defined; none for a declaration without a body.
  std::vector<DeclaredType> types(const std::string& name) const;
  // The types that are defined or named by an alias, of all namespaces.
  Names type_names() const;
  // What constructors of the type called `name` take: their parameters, and the fields of the
  // structs among them. A type without constructors has its base's; an alias those of its target.
  Names arguments(const std::string& name) const;

 private:
  void add(const std::string& space, const std::string& head, const std::string& body);
  void add_arguments(const std::string& name, Names& found, Names& seen) const;

  std::map<std::string, Names> functions_;
  std::multimap<std::string, DeclaredType> types_;
};

}  // namespace cornu::test
