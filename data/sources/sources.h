// SPDX-License-Identifier: Apache-2.0
// Where elements come from. One file a source; Dataset's functions of these names document them.
#pragma once

#include "data/generator.h"
#include "data/node.h"

namespace cornu::data {

NodePtr make_counter(int64_t start, int64_t step);
NodePtr make_generator(Generator generator, const GeneratorOptions& options);
NodePtr make_tensor_slices(const Element& table);
NodePtr make_tensors(const Element& element);
NodePtr make_list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options);
NodePtr make_random(const RandomOptions& options);
NodePtr make_range(int64_t start, int64_t stop, int64_t step);

// The paths of files that match one of the patterns, sorted. NotFound, naming `who`, for none.
std::vector<std::string> matching_files(const std::vector<std::string>& patterns, const char* who);

}  // namespace cornu::data
