// SPDX-License-Identifier: Apache-2.0
// Small string helpers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

// Returns the members of `known` nearest to `name` by edit distance, at most three that are equally
// near. When none is near (more than half of its characters differ), returns the first that starts
// with `name`, if `name` has at least three characters; otherwise returns nothing. Names longer
// than 64 bytes match nothing.
std::vector<std::string> all_nearest(std::string_view name, std::span<const std::string> known);

// " Did you mean 'x' or 'y'? Known: a, b, c." — the end of an error message about an unknown name;
// starts with a space. Lists at most a dozen known names, each passed through printable(). Names in
// `others` may be suggested as well, but aren't listed.
std::string did_you_mean(std::string_view name, std::span<const std::string> known,
                         std::span<const std::string> others = {});

// "MaxPooling2D" -> "max_pooling2d", as Keras names layers after their class.
std::string to_snake_case(std::string_view name);

// Returns `text` with ASCII letters in lowercase.
std::string lower_case(std::string_view text);

// Returns `text` in a form suitable for a table or an error: control characters are written as
// \xNN, and text longer than `most` bytes is cut and ends with "…".
std::string printable(std::string_view text, size_t most = 100);

// Returns `text`, the value of the argument named `argument` ("activation"). Throws
// InvalidArgument, naming the argument, for a null pointer.
const char* given_text(const char* text, std::string_view argument);

std::string join(std::span<const std::string> parts, std::string_view separator);

}  // namespace cornu
