// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/specs.h"

namespace cornu::data {
namespace {

// Returns false when the types are incompatible.
bool merge(TensorType& type, const TensorType& other) {
  if (type.dtype != other.dtype || type.shape.rank() != other.shape.rank()) return false;
  for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
    if (type.shape[axis] != other.shape[axis]) type.shape[axis] = kUnknown;
  }
  return true;
}

bool merge(ElementSpec& spec, const ElementSpec& other) {
  bool alike = *spec.structure == *other.structure;
  for (size_t i = 0; alike && i < spec.types.size(); ++i) {
    alike = merge(spec.types[i], other.types[i]);
  }
  return alike;
}

}  // namespace

ElementSpec merged(const ElementSpec& a, const ElementSpec& b, const char* who) {
  ElementSpec both = a;
  check<InvalidArgument>(merge(both, b),
                         "{}: expected two datasets of the same elements, got {} and {}.", who,
                         a.to_string(), b.to_string());
  return both;
}

}  // namespace cornu::data
