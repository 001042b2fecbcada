// SPDX-License-Identifier: Apache-2.0
// Sources of elements, each in a file of its own. They are documented with Dataset's functions of
// the same names.
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

// Throws InvalidArgument, naming `who` and its argument, for a dtype that isn't numeric.
void require_numbers(DType dtype, const char* who, const char* argument);
// `value` as a scalar of a numeric dtype, converted as by a C++ cast.
Tensor scalar_of(int64_t value, DType dtype);

// The paths of files that match one of the patterns, sorted. Throws NotFound, naming `who`, when
// there are none.
std::vector<std::string> matching_files(const std::vector<std::string>& patterns, const char* who);

}  // namespace cornu::data
