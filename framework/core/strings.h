// SPDX-License-Identifier: Apache-2.0
// Small text helpers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

// The members of `known` nearest to `name` by edit distance, at most three that are equally near;
// when none is near (more than half of its characters differ), the first that begins with `name`,
// if it has three characters; or none. Names of more than 64 bytes are near to none.
std::vector<std::string> all_nearest(std::string_view name, std::span<const std::string> known);
// The first of these, or "".
std::string nearest(std::string_view name, std::span<const std::string> known);

// " Did you mean 'x' or 'y'? Known: a, b, c." — the tail of an error about an unknown name; begins
// with a space. At most a dozen known names are listed, each as printable() gives it. `others` may
// be meant as well, but aren't listed.
std::string did_you_mean(std::string_view name, std::span<const std::string> known,
                         std::span<const std::string> others = {});

// "MaxPooling2D" -> "max_pooling2d", as Keras names layers after their class.
std::string to_snake_case(std::string_view name);

// With ASCII letters in lower case.
std::string lower_case(std::string_view text);

// `text` as a table or an error can show it: control characters are written as \xNN, and what is
// longer than `most` bytes is cut, with "…" at the end.
std::string printable(std::string_view text, size_t most = 100);

// What a C string says: the text that `argument` ("activation") was given. InvalidArgument, which
// names it, for a null pointer.
const char* given_text(const char* text, std::string_view argument);

std::string join(std::span<const std::string> parts, std::string_view separator);

}  // namespace cornu
