// SPDX-License-Identifier: Apache-2.0
// Serializable host functions: both processes have them under the same name.
#pragma once

#include "data/map_function.h"
#include "data/serialization/link.h"

namespace cornu::data {

// An object whose function is serializable writes its name and its arguments:
//   void write(LinkWriter& link) const { link("host_function", "my_parser")("columns", columns_); }
// and is registered in both processes with a function that reads them:
//   host_function_registry().add("my_parser", {[](LinkReader& link) {
//     return map_function(MyParser(link.get<int64_t>("columns")));
//   }});
struct HostFunctionKind {
  MapFunction (*read)(LinkReader& link);
};

// All kinds by name, the built-in ones first.
Registry<HostFunctionKind>& host_function_registry();

MapFunction read_example_parser(LinkReader& link);
MapFunction read_hash_table(LinkReader& link);
void register_string_functions(Registry<HostFunctionKind>& registry);

}  // namespace cornu::data
