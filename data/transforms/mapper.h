// SPDX-License-Identifier: Apache-2.0
// Map functions, prepared to be called for each element.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/map_function.h"
#include "data/node.h"

namespace cornu::data {

class LinkReader;

// Calls are independent of each other, and several threads may make them concurrently. The function
// must not change variables, since elements are computed in advance, and skipped when a position is
// restored.
class Mapper {
 public:
  virtual ~Mapper() = default;

  const ElementSpec& out() const { return out_; }
  // Whether it may draw random numbers without a seed.
  virtual bool draws() const = 0;
  // Whether it actually does; if axes vary, this requires a trace.
  virtual bool has_draws() const { return draws(); }
  // `key`: the key for random numbers.
  virtual Element operator()(const Element& element, uint64_t key) const = 0;
  // Whether the result depends only on the element and is cheap to compute. Such a function may be
  // called for elements in another order.
  virtual bool is_pure() const { return false; }
  // Whether the result has as many rows as the argument.
  virtual bool keeps_rows() const { return false; }
  // The same function for batches with the spec `batches`, if one call yields the same numbers for
  // each element, i.e. all its ops are elementwise. Null otherwise.
  virtual std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const;
  // Serializes the function; see data/serialization/functions.h. Throws FailedPrecondition if it
  // can't be serialized.
  virtual void write(LinkWriter& link) const = 0;

 protected:
  ElementSpec out_;
};

// `f` traced, and compiled for each signature of elements when it first occurs; tracing errors are
// thrown here. If it can't be traced (elements with strings, or a function that asks for values),
// or if `traced` is false, it runs op by op on the host. The results' dtypes and ranks are then
// determined from one element of `input`, or are those of `signature`, which is required if `input`
// has no elements.
std::shared_ptr<const Mapper> make_mapper(MapFunction f, const Node& input, const std::string& who,
                                          const std::optional<ElementSpec>& signature = {},
                                          bool traced = true);

// The composition of several functions, with the same results as applying them one by one, if all
// are traced and at most one draws random numbers. Null otherwise. It is compiled when the first
// element arrives.
std::shared_ptr<const Mapper> make_fused_mapper(
    const std::vector<std::shared_ptr<const Mapper>>& mappers);

// Reads a mapper written by another process, for elements with the spec `in`. It is compiled when
// the first element arrives.
std::shared_ptr<const Mapper> read_mapper(LinkReader& link, const ElementSpec& in,
                                          const std::string& who);

}  // namespace cornu::data
