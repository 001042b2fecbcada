// SPDX-License-Identifier: Apache-2.0
// String functions as objects, which can be serialized with a dataset.
#pragma once

#include <functional>
#include <string>

#include "data/element.h"
#include "data/strings.h"

namespace cornu::data {

class LinkWriter;

namespace strings {

// A function of one string tensor. A map whose function is such an object (and not a lambda that
// calls it) can be serialized, since the other process has the function, too:
//
//   auto words = lines.map(strings::functions::lower())
//                    .map(strings::functions::split())
//                    .map(table);
class StringFunction {
 public:
  using Call = std::function<Tensor(const Tensor&)>;
  using Write = std::function<void(LinkWriter&)>;
  StringFunction(Call call, Write write) : call_(std::move(call)), write_(std::move(write)) {}

  Tensor operator()(const Tensor& input) const { return call_(input); }
  void write(LinkWriter& link) const { write_(link); }

 private:
  Call call_;
  Write write_;
};

// Each binds the given arguments to the function of the same name in strings:: or data::.
namespace functions {

StringFunction split(const SplitOptions& options = {});
StringFunction unicode_split(const std::string& input_encoding = "UTF-8");
StringFunction lower(const std::string& encoding = "");
StringFunction upper(const std::string& encoding = "");
StringFunction strip();
StringFunction length(const std::string& unit = "BYTE");
StringFunction reduce_join(const ReduceJoinOptions& options = {});
StringFunction substr(int64_t pos, int64_t len, const std::string& unit = "BYTE");
StringFunction regex_replace(const std::string& pattern, const std::string& rewrite,
                             bool replace_global = true);
StringFunction regex_full_match(const std::string& pattern);
StringFunction to_number(DTypeLike out_type = DType::Float32);
StringFunction as_string(const AsStringOptions& options = {});
StringFunction read_file();

}  // namespace functions
}  // namespace strings
}  // namespace cornu::data
