// SPDX-License-Identifier: Apache-2.0
// Text as Python would write it, in files that Keras users read with their own tools.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace cornu::callbacks {

// The shortest text that reads back equal: "0.25", "1.0", "1e-05", "nan".
std::string float_text(double value);

// A text with named fields in Python's format language: "{epoch:02d}-{val_loss:.2f}.keras".
// "{{" and "}}" stand for braces.
class FieldText {
 public:
  using Value = std::variant<int64_t, double>;
  // Throws what it likes for names it doesn't know.
  using Lookup = std::function<Value(const std::string& name)>;

  // InvalidArgument, naming `who`, when a brace is left open, a field has no name, or asks for one
  // of Python's conversions ("{epoch!r}").
  FieldText(std::string who, const std::string& text);

  // InvalidArgument when a field's format doesn't fit its value.
  std::string format(const Lookup& lookup) const;
  // The text before the first field; all of it when there is none.
  std::string before_fields() const;
  bool has_fields() const { return pieces_.size() > 1; }
  // The text after the last field.
  const std::string& after_fields() const { return pieces_.back().text; }

 private:
  // Text, then a field; the last piece is text alone.
  struct Piece {
    std::string text = {};
    std::string name = {};
    std::string spec = {};
  };

  std::string who_;
  std::vector<Piece> pieces_;
};

}  // namespace cornu::callbacks
