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
  int64_t width = 0;  // asked for, of the text alone
};

// A table `width` characters wide at most: where the columns with their padding and borders need
// more, all of them give in evenly. Cells break at spaces; words that are too long end with "…".
// Text is UTF-8; every character counts as one wide.
class TextTable {
 public:
  TextTable(std::vector<TextColumn> columns, int64_t width);

  void add_row(std::vector<std::string> cells);  // one a column
  std::string render() const;                    // ends with a line break

 private:
  struct Border;
  void append_border(std::string& out, const Border& border) const;
  void append_cells(std::string& out, const std::vector<std::string>& cells,
                    std::string_view divider, bool bottom) const;

  std::vector<TextColumn> columns_;
  std::vector<int64_t> widths_;  // with padding
  std::vector<std::vector<std::string>> rows_;
};

// The lines of `text` for a cell `width` characters wide, without padding on their right.
std::vector<std::string> wrap_cell(std::string_view text, int64_t width);

}  // namespace cornu
