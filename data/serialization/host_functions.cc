// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/host_functions.h"

namespace cornu::data {
namespace {

void register_host_functions(Registry<HostFunctionKind>& registry) {
  registry.add("example_parser", {read_example_parser});
  registry.add("static_hash_table", {read_hash_table});
  register_string_functions(registry);
}

}  // namespace

Registry<HostFunctionKind>& host_function_registry() {
  static auto& registry =
      make_registry<HostFunctionKind>("function on the host", register_host_functions);
  return registry;
}

}  // namespace cornu::data
