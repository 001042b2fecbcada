// SPDX-License-Identifier: Apache-2.0
#include "framework/train/console/text_table.h"

#include <algorithm>
#include <cmath>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {

// The left edge, line, column border and right edge, one character each.
struct TextTable::Border {
  std::string_view left, line, cross, right;
};

namespace {

int64_t width_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

// The first `count` characters.
std::string_view first_characters(std::string_view text, int64_t count) {
  size_t end = 0;
  while (end < text.size() && count > 0) {
    do {
      ++end;
    } while (end < text.size() && (text[end] & 0xC0) == 0x80);
    --count;
  }
  return text.substr(0, end);
}

std::string_view without_trailing_spaces(std::string_view text) {
  const size_t end = text.find_last_not_of(' ');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

std::string spaces(int64_t count) {
  return std::string(static_cast<size_t>(std::max<int64_t>(0, count)), ' ');
}

// Subtracts `excess` from the widths, as evenly as possible.
void reduce(std::vector<int64_t>& widths, int64_t excess) {
  int64_t left = static_cast<int64_t>(widths.size());
  for (int64_t& width : widths) {
    const auto share = static_cast<int64_t>(
        std::nearbyint(static_cast<double>(excess) / static_cast<double>(left)));
    const int64_t taken = std::min(width, share);
    width -= taken;
    excess -= taken;
    --left;
  }
}

std::string aligned(std::string_view text, Align align, int64_t width) {
  const int64_t gap = width - width_of(text);
  const int64_t before = align == Align::Left ? 0 : align == Align::Right ? gap : gap / 2;
  return spaces(before) + std::string(text) + spaces(gap - before);
}

}  // namespace

std::vector<std::string> wrap_cell(std::string_view text, int64_t width) {
  // Line starts. A word takes the spaces that follow it along.
  std::vector<size_t> starts = {0};
  int64_t used = 0;
  for (size_t start = 0, end = 0; start < text.size(); start = end) {
    end = text.find_first_not_of(' ', start);
    end = std::min(text.size(), text.find(' ', std::min(end, text.size())));
    const int64_t length = width_of(text.substr(start, end - start));
    end = std::min(text.size(), text.find_first_not_of(' ', end));
    const int64_t with_spaces = width_of(text.substr(start, end - start));
    if (used + length <= width) {
      used += with_spaces;
    } else {
      if (start > 0) starts.push_back(start);
      used = with_spaces;
    }
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : text.size();
    std::string_view line = without_trailing_spaces(text.substr(starts[i], end - starts[i]));
    lines.emplace_back(width_of(line) <= width
                           ? std::string(line)
                           : std::string(first_characters(line, width - 1)) + "…");
  }
  return lines;
}

TextTable::TextTable(std::vector<TextColumn> columns, int64_t width)
    : columns_(std::move(columns)) {
  const int64_t room = width - static_cast<int64_t>(columns_.size()) - 1;
  int64_t total = 0;
  for (const TextColumn& column : columns_) {
    widths_.push_back(std::min(column.width + 2, room));
    total += widths_.back();
  }
  if (total > room) reduce(widths_, total - room);
}

void TextTable::add_row(std::vector<std::string> cells) {
  CORNU_ASSERT(cells.size(), ==, columns_.size());
  for (std::string& cell : cells) cell = printable(cell, std::string::npos);
  rows_.push_back(std::move(cells));
}

void TextTable::append_border(std::string& out, const Border& border) const {
  out += border.left;
  for (size_t column = 0; column < widths_.size(); ++column) {
    if (column > 0) out += border.cross;
    for (int64_t i = 0; i < widths_[column]; ++i) out += border.line;
  }
  out += border.right;
  out += '\n';
}

void TextTable::append_cells(std::string& out, const std::vector<std::string>& cells,
                             std::string_view divider, bool bottom) const {
  std::vector<std::vector<std::string>> lines;
  size_t height = 1;
  for (size_t column = 0; column < cells.size(); ++column) {
    lines.push_back(wrap_cell(cells[column], widths_[column] - 2));
    height = std::max(height, lines.back().size());
  }
  for (auto& cell : lines)
    cell.insert(bottom ? cell.begin() : cell.end(), height - cell.size(), "");
  for (size_t i = 0; i < height; ++i) {
    out += divider;
    for (size_t column = 0; column < cells.size(); ++column) {
      out += ' ';
      out += aligned(lines[column][i], columns_[column].align, widths_[column] - 2);
      out += ' ';
      out += divider;
    }
    out += '\n';
  }
}

std::string TextTable::render() const {
  std::string out;
  std::vector<std::string> header;
  for (const TextColumn& column : columns_) header.push_back(column.header);
  append_border(out, {"┏", "━", "┳", "┓"});
  append_cells(out, header, "┃", true);
  append_border(out, {"┡", "━", "╇", "┩"});
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (i > 0) append_border(out, {"├", "─", "┼", "┤"});
    append_cells(out, rows_[i], "│", false);
  }
  append_border(out, {"└", "─", "┴", "┘"});
  return out;
}

}  // namespace cornu
