// SPDX-License-Identifier: Apache-2.0
// Map functions, made ready to be called for each element.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/map_function.h"
#include "data/node.h"

namespace cornu::data {

class LinkReader;

// Calls of one are independent, and may be made by several threads at once. The function must not
// change variables: elements are computed ahead, and left out when a position is restored.
class Mapper {
 public:
  virtual ~Mapper() = default;

  const ElementSpec& out() const { return out_; }
  // May it draw random numbers without a seed?
  virtual bool draws() const = 0;
  // Does it? Where axes vary, a trace of it tells.
  virtual bool has_draws() const { return draws(); }
  // `key`: what it draws from.
  virtual Element operator()(const Element& element, uint64_t key) const = 0;
  // Does it compute nothing but what an element determines, quickly? Then it may be called for
  // elements in another order.
  virtual bool is_pure() const { return false; }
  // Has what it gives as many rows as what it is given?
  virtual bool keeps_rows() const { return false; }
  // The same function of batches of elements, as `batches` says, where it gives the same numbers
  // for each element in one call: all that it does is elementwise. Null otherwise.
  virtual std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const;
  // For another process; see data/serialization/functions.h. FailedPrecondition where it can't
  // travel.
  virtual void write(LinkWriter& link) const = 0;

 protected:
  ElementSpec out_;
};

// `f` traced and compiled, for each signature of elements when it first comes; mistakes show here.
// Where it can't be (elements of strings, or a function that asks for values), and with `traced`
// false, it runs as it is, op after op: its results' dtypes and ranks are those of one element of
// `input` then, or those of `signature`, which must be given where `input` has none.
std::shared_ptr<const Mapper> make_mapper(MapFunction f, const Node& input, const std::string& who,
                                          const std::optional<ElementSpec>& signature = {},
                                          bool traced = true);

// One function of several, each of what the one before gives, with what they give one by one: where
// all are traced, and at most one draws. Null elsewhere. It is compiled when the first element
// comes.
std::shared_ptr<const Mapper> make_fused_mapper(
    const std::vector<std::shared_ptr<const Mapper>>& mappers);

// What another process wrote, for elements of the kind `in`. It is compiled when the first comes.
std::shared_ptr<const Mapper> read_mapper(LinkReader& link, const ElementSpec& in,
                                          const std::string& who);

}  // namespace cornu::data
