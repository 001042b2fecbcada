// SPDX-License-Identifier: Apache-2.0
// Tables of text in box-drawing characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

enum class Align { Left, Right, Center };

struct TextColumn {
  std::string header;
  Align align = Align::Left;
  int64_t width = 0;  // requested width of the text alone
};

// A table at most `width` characters wide: if the columns with their padding and borders need more,
// all of them shrink evenly. Cells wrap at spaces; words that are too long are truncated with "…".
// Text is UTF-8, and every character counts as one column wide.
class TextTable {
 public:
  TextTable(std::vector<TextColumn> columns, int64_t width);

  void add_row(std::vector<std::string> cells);  // one per column
  std::string render() const;                    // ends with a newline

 private:
  struct Border;
  void append_border(std::string& out, const Border& border) const;
  void append_cells(std::string& out, const std::vector<std::string>& cells,
                    std::string_view divider, bool bottom) const;

  std::vector<TextColumn> columns_;
  std::vector<int64_t> widths_;  // including padding
  std::vector<std::vector<std::string>> rows_;
};

// Splits `text` into lines for a cell `width` characters wide, without trailing padding.
std::vector<std::string> wrap_cell(std::string_view text, int64_t width);

}  // namespace cornu
