// SPDX-License-Identifier: Apache-2.0
// Calls in pickles: each call is recognized and returns a value without executing anything.
#include <algorithm>

#include "data/readers/pickle_parser.h"
#include "framework/core/strings.h"

namespace cornu::data {

void PickleParser::push_global(std::string_view module, std::string_view name) {
  const auto* found = std::find_if(
      kPickleGlobals.begin(), kPickleGlobals.end(),
      [&](const NamedGlobal& global) { return global.module == module && global.name == name; });
  check<InvalidArgument>(
      found != kPickleGlobals.end(),
      "{}: at byte {}, a pickle that wants to call {}.{}; only what NumPy's arrays, dtypes and "
      "scalars and bytes are made with is allowed, and nothing is executed. Don't use a file that "
      "you don't trust; else save its arrays with numpy.savez.",
      document_.name, instruction_, printable(module), printable(name));
  push(PickleItem::of_index(PickleKind::Global,
                            static_cast<size_t>(found - kPickleGlobals.begin())));
}

PickleItem PickleParser::call(PickleGlobal global, const std::vector<PickleItem>& arguments) {
  switch (global) {
    case PickleGlobal::DType:
      return make_type(arguments);
    case PickleGlobal::Reconstruct:
      return make_array(arguments);
    case PickleGlobal::FromBuffer:
      return make_array_of_buffer(arguments);
    case PickleGlobal::Scalar:
      return make_scalar(arguments);
    case PickleGlobal::Encode:
      return encode(arguments);
    case PickleGlobal::Bytes:
      require(arguments.empty(), "expected bytes() without arguments");
      return text_item(PickleKind::Bytes, "");
    case PickleGlobal::NdArray:
      break;
  }
  raise<InvalidArgument>("{}: at byte {}, a pickle that wants to call numpy.ndarray itself.",
                         document_.name, instruction_);
}

// numpy.dtype('f4', False, True)
PickleItem PickleParser::make_type(const std::vector<PickleItem>& arguments) {
  const bool named = !arguments.empty() && (arguments[0].kind == PickleKind::Str ||
                                            arguments[0].kind == PickleKind::Bytes);
  require(named, "expected the name of a dtype");
  const auto type = parse_numpy_type(text_of(arguments[0]));
  check<Unimplemented>(type.has_value(), "{}: at byte {} of the pickle, an unknown dtype: '{}'.",
                       document_.name, instruction_, printable(text_of(arguments[0]), 20));
  document_.types.push_back(*type);
  return PickleItem::of_index(PickleKind::DType, document_.types.size() - 1);
}

// _reconstruct(numpy.ndarray, (0,), b'b'): an array to be filled by later instructions.
PickleItem PickleParser::make_array(const std::vector<PickleItem>& arguments) {
  const bool plain = arguments.size() == 3 && arguments[0].kind == PickleKind::Global &&
                     kPickleGlobals[arguments[0].index].global == PickleGlobal::NdArray;
  require(plain, "expected _reconstruct(numpy.ndarray, (0,), b'b')");
  document_.arrays.emplace_back();
  return PickleItem::of_index(PickleKind::Array, document_.arrays.size() - 1);
}

// _frombuffer(buffer, dtype, shape, 'C')
PickleItem PickleParser::make_array_of_buffer(const std::vector<PickleItem>& arguments) {
  const bool ordered = arguments.size() == 4 && arguments[1].kind == PickleKind::DType &&
                       arguments[2].kind == PickleKind::Tuple &&
                       arguments[3].kind == PickleKind::Str;
  require(ordered, "expected _frombuffer(buffer, dtype, shape, order)");
  const std::string_view order = text_of(arguments[3]);
  require(order == "C" || order == "F", "expected the order 'C' or 'F' of an array");
  PickledArray array{.type = document_.types[arguments[1].index],
                     .shape = arguments[2].index,
                     .fortran_order = order == "F"};
  set_elements(array, arguments[0]);
  document_.arrays.push_back(array);
  return PickleItem::of_index(PickleKind::Array, document_.arrays.size() - 1);
}

// scalar(dtype, bytes)
PickleItem PickleParser::make_scalar(const std::vector<PickleItem>& arguments) {
  const bool whole = arguments.size() == 2 && arguments[0].kind == PickleKind::DType &&
                     arguments[1].kind == PickleKind::Bytes;
  require(whole, "expected scalar(dtype, bytes)");
  const NumpyType type = document_.types[arguments[0].index];
  const auto dtype = type.dtype();
  check<Unimplemented>(dtype.has_value(), "{}: at byte {} of the pickle, a scalar of type '{}'.",
                       document_.name, instruction_, type.to_string());
  const std::string_view bytes = text_of(arguments[1]);
  require(bytes.size() == type.size, "a scalar has another size than its type");
  const Tensor value = array_from_bytes(type, Shape{}, false,
                                        std::as_bytes(std::span(bytes.data(), bytes.size())), {});
  if (is_floating(*dtype)) return PickleItem::of_number(value.item<double>());
  check<Unimplemented>(*dtype != DType::UInt64 || value.data<uint64_t>()[0] <= INT64_MAX,
                       "{}: at byte {} of the pickle, an integer of 2^63 or more.", document_.name,
                       instruction_);
  return PickleItem::of_integer(*dtype == DType::Bool ? PickleKind::Bool : PickleKind::Int,
                                value.item<int64_t>());
}

// _codecs.encode('text', 'latin1'): bytes in protocols without an instruction for them.
PickleItem PickleParser::encode(const std::vector<PickleItem>& arguments) {
  const bool texts = arguments.size() == 2 && arguments[0].kind == PickleKind::Str &&
                     arguments[1].kind == PickleKind::Str;
  require(texts, "expected _codecs.encode(text, encoding)");
  const std::string_view encoding = text_of(arguments[1]);
  check<InvalidArgument>(encoding == "latin1" || encoding == "latin-1",
                         "{}: at byte {} of the pickle, expected _codecs.encode to latin1, got {}.",
                         document_.name, instruction_, printable(encoding, 20));
  check_decoding(text_of(arguments[0]).size() / 2);
  auto bytes = utf8_to_latin1(text_of(arguments[0]));
  require(bytes.has_value(), "a text isn't the UTF-8 of characters below U+0100");
  return decoded_item(PickleKind::Bytes, std::move(*bytes));
}

void PickleParser::build(const PickleItem& object, const PickleItem& state) {
  if (object.kind == PickleKind::DType) {
    build_type(document_.types[object.index], few(state));
  } else if (object.kind == PickleKind::Array) {
    build_array(document_.arrays[object.index], few(state));
  } else {
    raise<InvalidArgument>(
        "{}: at byte {}, a pickle that wants to set the state of {}; only NumPy's arrays and "
        "dtypes have one here.",
        document_.name, instruction_, to_string(object.kind));
  }
}

// (version, order, (base, shape) or None, names, fields, …)
void PickleParser::build_type(NumpyType& type, const std::vector<PickleItem>& state) {
  const bool known = state.size() >= 5 && state[0].kind == PickleKind::Int &&
                     (state[0].integer == 3 || state[0].integer == 4) &&
                     (state[1].kind == PickleKind::Str || state[1].kind == PickleKind::Bytes);
  require(known, "the state of a dtype isn't one");
  const bool plain = std::all_of(state.begin() + 2, state.begin() + 5, [](const PickleItem& item) {
    return item.kind == PickleKind::None;
  });
  check<Unimplemented>(plain,
                       "{}: at byte {} of the pickle, a dtype of several fields. Save its fields "
                       "one by one.",
                       document_.name, instruction_);
  const std::string_view order = text_of(state[1]);
  constexpr std::string_view kOrders = "<>=|";
  require(order.size() == 1 && kOrders.find(order[0]) != kOrders.npos,
          "expected one of '<', '>', '=', '|' as the order of bytes");
  type.order = order[0];
}

// (version, shape, dtype, whether in Fortran order, bytes or a list); formerly without the version
void PickleParser::build_array(PickledArray& array, std::span<const PickleItem> state) {
  if (state.size() == 5 && state[0].kind == PickleKind::Int) state = state.subspan(1);
  const bool known = state.size() == 4 && state[0].kind == PickleKind::Tuple &&
                     state[1].kind == PickleKind::DType &&
                     (state[2].kind == PickleKind::Bool || state[2].kind == PickleKind::Int);
  require(known, "the state of an array isn't one");
  array.shape = state[0].index;
  array.type = document_.types[state[1].index];
  array.fortran_order = state[2].integer != 0;
  set_elements(array, state[3]);
}

void PickleParser::set_elements(PickledArray& array, const PickleItem& elements) {
  const PickleKind wanted = array.type.is_object() ? PickleKind::List : PickleKind::Bytes;
  require(elements.kind == wanted, "the elements of an array aren't what its dtype says");
  array.elements = elements;
  array.complete = true;
}

}  // namespace cornu::data
