// SPDX-License-Identifier: Apache-2.0
#include "data/string_functions.h"

#include "data/serialization/host_functions.h"

namespace cornu::data {
namespace strings {

// Lists the arguments of each function, once for both directions.
template <class Fields>
void visit_fields(Fields& fields, SplitOptions& options) {
  fields("sep", options.sep);
  fields("maxsplit", options.maxsplit);
}

template <class Fields>
void visit_fields(Fields& fields, ReduceJoinOptions& options) {
  fields("axis", options.axis);
  fields("keepdims", options.keepdims);
  fields("separator", options.separator);
}

template <class Fields>
void visit_fields(Fields& fields, AsStringOptions& options) {
  fields("precision", options.precision);
  fields("scientific", options.scientific);
  fields("shortest", options.shortest);
  fields("width", options.width);
  fields("fill", options.fill);
}

namespace {

struct NoArguments {};
template <class Fields>
void visit_fields(Fields&, NoArguments&) {}

struct OneText {
  std::string text;  // an encoding, a unit or a pattern
};
template <class Fields>
void visit_fields(Fields& fields, OneText& arguments) {
  fields("text", arguments.text);
}

struct SubstrArguments {
  int64_t pos = 0;
  int64_t len = 0;
  std::string unit;
};
template <class Fields>
void visit_fields(Fields& fields, SubstrArguments& arguments) {
  fields("pos", arguments.pos);
  fields("len", arguments.len);
  fields("unit", arguments.unit);
}

struct ReplaceArguments {
  std::string pattern;
  std::string rewrite;
  bool replace_global = true;
};
template <class Fields>
void visit_fields(Fields& fields, ReplaceArguments& arguments) {
  fields("pattern", arguments.pattern);
  fields("rewrite", arguments.rewrite);
  fields("replace_global", arguments.replace_global);
}

struct TypeArgument {
  DType out_type = DType::Float32;
};
template <class Fields>
void visit_fields(Fields& fields, TypeArgument& arguments) {
  fields("out_type", arguments.out_type);
}

// A table of all functions: the name, the type of the arguments, and the call.
struct Split {
  static constexpr const char* kName = "strings.split";
  using Arguments = SplitOptions;
  static Tensor call(const Tensor& input, const Arguments& a) { return strings::split(input, a); }
};
struct UnicodeSplit {
  static constexpr const char* kName = "strings.unicode_split";
  using Arguments = OneText;
  static Tensor call(const Tensor& input, const Arguments& a) {
    return strings::unicode_split(input, a.text);
  }
};
struct Lower {
  static constexpr const char* kName = "strings.lower";
  using Arguments = OneText;
  static Tensor call(const Tensor& in, const Arguments& a) { return strings::lower(in, a.text); }
};
struct Upper {
  static constexpr const char* kName = "strings.upper";
  using Arguments = OneText;
  static Tensor call(const Tensor& in, const Arguments& a) { return strings::upper(in, a.text); }
};
struct Strip {
  static constexpr const char* kName = "strings.strip";
  using Arguments = NoArguments;
  static Tensor call(const Tensor& input, const Arguments&) { return strings::strip(input); }
};
struct Length {
  static constexpr const char* kName = "strings.length";
  using Arguments = OneText;
  static Tensor call(const Tensor& in, const Arguments& a) { return strings::length(in, a.text); }
};
struct ReduceJoin {
  static constexpr const char* kName = "strings.reduce_join";
  using Arguments = ReduceJoinOptions;
  static Tensor call(const Tensor& in, const Arguments& a) { return strings::reduce_join(in, a); }
};
struct Substr {
  static constexpr const char* kName = "strings.substr";
  using Arguments = SubstrArguments;
  static Tensor call(const Tensor& input, const Arguments& a) {
    return strings::substr(input, a.pos, a.len, a.unit);
  }
};
struct RegexReplace {
  static constexpr const char* kName = "strings.regex_replace";
  using Arguments = ReplaceArguments;
  static Tensor call(const Tensor& input, const Arguments& a) {
    return strings::regex_replace(input, a.pattern, a.rewrite, a.replace_global);
  }
};
struct RegexFullMatch {
  static constexpr const char* kName = "strings.regex_full_match";
  using Arguments = OneText;
  static Tensor call(const Tensor& input, const Arguments& a) {
    return strings::regex_full_match(input, a.text);
  }
};
struct ToNumber {
  static constexpr const char* kName = "strings.to_number";
  using Arguments = TypeArgument;
  static Tensor call(const Tensor& input, const Arguments& a) {
    return strings::to_number(input, a.out_type);
  }
};
struct AsString {
  static constexpr const char* kName = "strings.as_string";
  using Arguments = AsStringOptions;
  static Tensor call(const Tensor& in, const Arguments& a) { return strings::as_string(in, a); }
};
struct ReadFile {
  static constexpr const char* kName = "read_file";
  using Arguments = NoArguments;
  static Tensor call(const Tensor& input, const Arguments&) { return data::read_file(input); }
};

template <class Kind>
StringFunction made_of(const typename Kind::Arguments& arguments) {
  return {[=](const Tensor& input) { return Kind::call(input, arguments); },
          [=](LinkWriter& link) { link("host_function", Kind::kName).options(arguments); }};
}

template <class... Kinds>
void add_all(Registry<HostFunctionKind>& registry) {
  (registry.add(Kinds::kName, {[](LinkReader& link) {
                  return map_function(made_of<Kinds>(link.options<typename Kinds::Arguments>()));
                }}),
   ...);
}

}  // namespace

namespace functions {

StringFunction split(const SplitOptions& options) { return made_of<Split>(options); }
StringFunction unicode_split(const std::string& input_encoding) {
  return made_of<UnicodeSplit>({input_encoding});
}
StringFunction lower(const std::string& encoding) { return made_of<Lower>({encoding}); }
StringFunction upper(const std::string& encoding) { return made_of<Upper>({encoding}); }
StringFunction strip() { return made_of<Strip>({}); }
StringFunction length(const std::string& unit) { return made_of<Length>({unit}); }
StringFunction reduce_join(const ReduceJoinOptions& options) {
  return made_of<ReduceJoin>(options);
}
StringFunction substr(int64_t pos, int64_t len, const std::string& unit) {
  return made_of<Substr>({pos, len, unit});
}
StringFunction regex_replace(const std::string& pattern, const std::string& rewrite,
                             bool replace_global) {
  return made_of<RegexReplace>({pattern, rewrite, replace_global});
}
StringFunction regex_full_match(const std::string& pattern) {
  return made_of<RegexFullMatch>({pattern});
}
StringFunction to_number(DTypeLike out_type) { return made_of<ToNumber>({out_type}); }
StringFunction as_string(const AsStringOptions& options) { return made_of<AsString>(options); }
StringFunction read_file() { return made_of<ReadFile>({}); }

}  // namespace functions
}  // namespace strings

void register_string_functions(Registry<HostFunctionKind>& registry) {
  strings::add_all<strings::Split, strings::UnicodeSplit, strings::Lower, strings::Upper,
                   strings::Strip, strings::Length, strings::ReduceJoin, strings::Substr,
                   strings::RegexReplace, strings::RegexFullMatch, strings::ToNumber,
                   strings::AsString, strings::ReadFile>(registry);
}

}  // namespace cornu::data
