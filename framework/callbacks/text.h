// SPDX-License-Identifier: Apache-2.0
// Formats text as in Python, for files that Keras users read with their own tools.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace cornu::callbacks {

// The shortest text that parses to the same value: "0.25", "1.0", "1e-05", "nan".
std::string float_text(double value);

// A text with named fields in Python's format syntax: "{epoch:02d}-{val_loss:.2f}.keras". "{{" and
// "}}" are escaped braces.
class FieldText {
 public:
  using Value = std::variant<int64_t, double>;
  // May throw any exception for unknown names.
  using Lookup = std::function<Value(const std::string& name)>;

  // Throws InvalidArgument, naming `who`, for an unclosed brace, a field without a name, or a
  // conversion ("{epoch!r}").
  FieldText(std::string who, const std::string& text);

  // Throws InvalidArgument when a field's format doesn't fit its value.
  std::string format(const Lookup& lookup) const;
  // The text before the first field; the whole text if there are no fields.
  std::string before_fields() const;
  bool has_fields() const { return pieces_.size() > 1; }
  // The text after the last field.
  const std::string& after_fields() const { return pieces_.back().text; }

 private:
  // Text, followed by a field; the last piece is only text.
  struct Piece {
    std::string text = {};
    std::string name = {};
    std::string spec = {};
  };

  std::string who_;
  std::vector<Piece> pieces_;
};

}  // namespace cornu::callbacks
