// SPDX-License-Identifier: Apache-2.0
// Where elements come from. One file a source; Dataset's functions of these names document them.
#pragma once

#include "data/generator.h"
#include "data/node.h"

namespace cornu::data {

NodePtr make_counter(int64_t start, int64_t step, DType dtype);
NodePtr make_generator(Generator generator, const GeneratorOptions& options);
NodePtr make_tensor_slices(const Element& table);
NodePtr make_tensors(const Element& element);
NodePtr make_list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options);
NodePtr make_random(const RandomOptions& options);
NodePtr make_range(int64_t start, int64_t stop, int64_t step, DType output_type = DType::Int64);

// InvalidArgument, naming `who` and its argument, for a dtype that is none of numbers.
void require_numbers(DType dtype, const char* who, const char* argument);
// As a scalar of a dtype of numbers: cast as C++ does it.
Tensor scalar_of(int64_t value, DType dtype);

// The paths of files that match one of the patterns, sorted. NotFound, naming `who`, for none.
std::vector<std::string> matching_files(const std::vector<std::string>& patterns, const char* who);

}  // namespace cornu::data
