// SPDX-License-Identifier: Apache-2.0
#include "data/readers/pickle_parser.h"

#include <bit>
#include <charconv>

#include "framework/core/strings.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

constexpr uint64_t kNewestProtocol = 5;

// The opcodes, with Python's names.
enum PickleOp : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kFloat = 'F',
  kInt = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kLong = 'L',
  kBinInt2 = 'M',
  kNoneOpcode = 'N',
  kReduce = 'R',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kInst = 'i',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kObj = 'o',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kExt1 = 0x82,
  kExt2 = 0x83,
  kExt4 = 0x84,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadOnlyBuffer = 0x98,
};

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void PickleParser::damaged(std::string_view what) const {
  raise<DataLoss>("{}: the pickle is damaged: at byte {}, {}.", document_.name, instruction_, what);
}

std::string_view PickleParser::take(size_t count) {
  check<DataLoss>(count <= document_.file.size() - at_,
                  "{}: the pickle is cut off: at byte {}, {} bytes should follow, {} do. Download "
                  "or create the file again.",
                  document_.name, at_, count, document_.file.size() - at_);
  const auto bytes = document_.file.subspan(at_, count);
  at_ += count;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t PickleParser::take_integer(size_t bytes) {
  uint64_t value = 0;
  const std::string_view text = take(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(text[i])) << (8 * i);
  }
  return value;
}

std::string_view PickleParser::take_line() {
  const auto rest = document_.file.subspan(at_);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  const size_t end = text.find('\n');
  check<DataLoss>(end != text.npos, "{}: the pickle is cut off: a line from byte {} on has no end.",
                  document_.name, at_);
  at_ += end + 1;
  return text.substr(0, end);
}

PickleItem& PickleParser::top() {
  require(!at_mark(), "a value is missing");
  return stack_.back();
}

PickleItem PickleParser::pop() {
  const PickleItem item = top();
  stack_.pop_back();
  return item;
}

std::vector<PickleItem> PickleParser::pop_marked() {
  require(!marks_.empty(), "a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleItem> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

PickleItem PickleParser::text_item(PickleKind kind, std::string_view text) {
  document_.texts.push_back(text);
  return PickleItem::of_index(kind, document_.texts.size() - 1);
}

// Decoding a text takes a few times its size in the file, but it could be decoded repeatedly.
void PickleParser::check_decoding(size_t bytes) const {
  constexpr size_t kMaxDecoding = 4;
  require(decoded_ + bytes <= kMaxDecoding * document_.file.size(),
          "the same text is decoded again and again");
}

PickleItem PickleParser::decoded_item(PickleKind kind, std::string text) {
  check_decoding(text.size());
  decoded_ += text.size();
  return text_item(kind, document_.decoded.emplace_back(std::move(text)));
}

void PickleParser::push_list(PickleKind kind, std::vector<PickleItem> items) {
  document_.lists.push_back(std::move(items));
  push(PickleItem::of_index(kind, document_.lists.size() - 1));
}

std::vector<PickleItem>& PickleParser::list_of(const PickleItem& item, PickleKind kind,
                                               const char* what) {
  require(item.kind == kind, what);
  return document_.lists[item.index];
}

// Two's complement, little-endian.
void PickleParser::push_long(std::string_view bytes) {
  check<Unimplemented>(bytes.size() <= sizeof(int64_t),
                       "{}: at byte {} of the pickle, an integer of {} bits: more than 64.",
                       document_.name, instruction_, 8 * bytes.size());
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  const size_t missing = 8 * (sizeof(value) - bytes.size());
  if (bytes.empty()) return push_integer(0);
  push_integer(static_cast<int64_t>(value << missing) >> missing);
}

bool PickleParser::number(uint8_t op) {
  switch (op) {
    case kNoneOpcode:
      push({});
      return true;
    case kNewTrue:
    case kNewFalse:
      push(PickleItem::of_integer(PickleKind::Bool, op == kNewTrue));
      return true;
    case kBinInt:
      push_integer(static_cast<int32_t>(take_integer(4)));
      return true;
    case kBinInt1:
      push_integer(static_cast<int64_t>(take_integer(1)));
      return true;
    case kBinInt2:
      push_integer(static_cast<int64_t>(take_integer(2)));
      return true;
    case kLong1:
      push_long(take(take_integer(1)));
      return true;
    case kLong4: {
      const auto size = static_cast<int32_t>(take_integer(4));
      require(size >= 0, "an integer has a negative size");
      push_long(take(static_cast<size_t>(size)));
      return true;
    }
    case kBinFloat:
      push(PickleItem::of_number(std::bit_cast<double>(__builtin_bswap64(take_integer(8)))));
      return true;
    case kFloat: {
      const auto value = whole_number<double>(take_line());
      require(value.has_value(), "expected a float");
      push(PickleItem::of_number(*value));
      return true;
    }
    case kInt:
    case kLong: {
      std::string_view line = take_line();
      if (op == kInt && (line == "00" || line == "01")) {
        push(PickleItem::of_integer(PickleKind::Bool, line == "01"));
        return true;
      }
      if (op == kLong && line.ends_with('L')) line.remove_suffix(1);
      const auto value = whole_number<int64_t>(line);
      require(value.has_value(), "expected an integer of at most 64 bits");
      push_integer(*value);
      return true;
    }
    default:
      return false;
  }
}

bool PickleParser::text(uint8_t op) {
  const auto sized = [&](PickleKind kind, size_t length_bytes) {
    const uint64_t length = take_integer(length_bytes);
    push(text_item(kind, take(length)));
    return true;
  };
  switch (op) {
    case kShortBinString:
    case kShortBinBytes:
      return sized(PickleKind::Bytes, 1);
    case kBinString:
    case kBinBytes:
      return sized(PickleKind::Bytes, 4);
    case kBinBytes8:
    case kByteArray8:
      return sized(PickleKind::Bytes, 8);
    case kShortBinUnicode:
      return sized(PickleKind::Str, 1);
    case kBinUnicode:
      return sized(PickleKind::Str, 4);
    case kBinUnicode8:
      return sized(PickleKind::Str, 8);
    case kString: {
      const std::string_view line = take_line();
      const bool quoted = line.size() >= 2 && line.front() == line.back() &&
                          (line.front() == '\'' || line.front() == '"');
      require(quoted, "expected a text in quotes");
      auto plain = unescaped(line.substr(1, line.size() - 2));
      require(plain.has_value(), "a text has an escape that isn't one");
      push(decoded_item(PickleKind::Bytes, std::move(*plain)));
      return true;
    }
    case kUnicode: {
      auto plain = unescaped_unicode(take_line());
      require(plain.has_value(), "a text has an escape that isn't one");
      push(decoded_item(PickleKind::Str, std::move(*plain)));
      return true;
    }
    default:
      return false;
  }
}

bool PickleParser::container(uint8_t op) {
  switch (op) {
    case kEmptyList:
    case kEmptyTuple:
    case kEmptyDict:
      push_list(op == kEmptyList    ? PickleKind::List
                : op == kEmptyTuple ? PickleKind::Tuple
                                    : PickleKind::Dict,
                {});
      return true;
    case kList:
      push_list(PickleKind::List, pop_marked());
      return true;
    case kTuple:
      push_list(PickleKind::Tuple, pop_marked());
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3: {
      std::vector<PickleItem> items(static_cast<size_t>(op - kTuple1) + 1);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      push_list(PickleKind::Tuple, std::move(items));
      return true;
    }
    case kDict: {
      auto items = pop_marked();
      require(items.size() % 2 == 0, "a key without a value");
      push_list(PickleKind::Dict, std::move(items));
      return true;
    }
    case kAppend: {
      const PickleItem item = pop();
      list_of(top(), PickleKind::List, "something is appended to what is no list").push_back(item);
      return true;
    }
    case kAppends: {
      const auto items = pop_marked();
      auto& list = list_of(top(), PickleKind::List, "something is appended to what is no list");
      list.insert(list.end(), items.begin(), items.end());
      return true;
    }
    case kSetItem: {
      const PickleItem value = pop();
      const PickleItem key = pop();
      auto& entries = list_of(top(), PickleKind::Dict, "a key is set in what is no dictionary");
      entries.insert(entries.end(), {key, value});
      return true;
    }
    case kSetItems: {
      const auto items = pop_marked();
      require(items.size() % 2 == 0, "a key without a value");
      auto& entries = list_of(top(), PickleKind::Dict, "a key is set in what is no dictionary");
      entries.insert(entries.end(), items.begin(), items.end());
      return true;
    }
    default:
      return false;
  }
}

bool PickleParser::stack(uint8_t op) {
  switch (op) {
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      if (at_mark() && !marks_.empty()) {
        marks_.pop_back();
      } else {
        pop();
      }
      return true;
    case kPopMark:
      pop_marked();
      return true;
    case kDup:
      push(PickleItem(top()));
      return true;
    case kProto: {
      const uint64_t protocol = take_integer(1);
      check<Unimplemented>(protocol <= kNewestProtocol,
                           "{}: expected a pickle of protocol 0 to {}, got {}.", document_.name,
                           kNewestProtocol, protocol);
      return true;
    }
    case kFrame:
      require(take_integer(8) <= document_.file.size() - at_, "a frame is longer than the file");
      return true;
    default:
      return false;
  }
}

void PickleParser::remember(uint64_t index, const PickleItem& item) {
  // Python numbers them consecutively from 0.
  require(index < document_.file.size(), "a value's number is larger than the file");
  if (index >= memo_.size()) memo_.resize(index + 1);
  remembered_ += memo_[index].used ? 0 : 1;
  memo_[index] = {true, item};
}

const PickleItem& PickleParser::recall(uint64_t index) const {
  require(index < memo_.size() && memo_[index].used, "a value is asked for that was never kept");
  return memo_[index].item;
}

bool PickleParser::memo(uint8_t op) {
  const auto line_number = [&] {
    const auto index = whole_number<uint64_t>(take_line());
    require(index.has_value(), "expected the number of a value");
    return *index;
  };
  switch (op) {
    case kPut:
      remember(line_number(), top());
      return true;
    case kBinPut:
      remember(take_integer(1), top());
      return true;
    case kLongBinPut:
      remember(take_integer(4), top());
      return true;
    case kMemoize:
      remember(remembered_, top());
      return true;
    case kGet:
      push(recall(line_number()));
      return true;
    case kBinGet:
      push(recall(take_integer(1)));
      return true;
    case kLongBinGet:
      push(recall(take_integer(4)));
      return true;
    default:
      return false;
  }
}

bool PickleParser::object(uint8_t op) {
  switch (op) {
    case kGlobal:
    case kInst: {
      const std::string_view module = take_line();
      const std::string_view name = take_line();
      push_global(module, name);
      require(op == kGlobal, "an object of an old class");
      return true;
    }
    case kStackGlobal: {
      const PickleItem name = pop();
      const PickleItem module = pop();
      require(name.kind == PickleKind::Str && module.kind == PickleKind::Str,
              "expected the names of a module and of something in it");
      push_global(text_of(module), text_of(name));
      return true;
    }
    case kReduce: {
      const PickleItem arguments = pop();
      const PickleItem global = pop();
      require(global.kind == PickleKind::Global, "something is called that is no function");
      push(call(kPickleGlobals[global.index].global, few(arguments)));
      return true;
    }
    case kBuild: {
      const PickleItem state = pop();
      build(top(), state);
      return true;
    }
    default:
      return false;
  }
}

std::vector<PickleItem> PickleParser::few(const PickleItem& tuple) {
  constexpr size_t kMax = 16;  // long tuples aren't copied, however often they are referenced
  const auto& items = list_of(tuple, PickleKind::Tuple, "expected a tuple of arguments");
  require(items.size() <= kMax, "too many arguments");
  return items;
}

void PickleParser::refuse(uint8_t op) const {
  const char* what = nullptr;
  if (op == 'P' || op == 'Q') what = "a persistent id";
  if (op == kExt1 || op == kExt2 || op == kExt4) what = "an extension code";
  if (op == kObj || op == kNewObj || op == kNewObjEx) what = "an object of a class";
  if (op == kEmptySet || op == kAddItems || op == kFrozenSet) what = "a set";
  if (op == kNextBuffer || op == kReadOnlyBuffer) what = "a buffer that isn't in the pickle";
  if (!what) damaged(fmt::format("there is no instruction 0x{:02x}", op));
  raise<InvalidArgument>(
      "{}: at byte {}, the pickle holds {}; only numbers, texts, lists, tuples, dictionaries and "
      "NumPy's arrays are read.",
      document_.name, instruction_, what);
}

PickleItem PickleParser::parse() {
  for (;;) {
    instruction_ = at_;
    const auto op = static_cast<uint8_t>(take_integer(1));
    if (op == kStop) return pop();
    if (!number(op) && !text(op) && !container(op) && !memo(op) && !stack(op) && !object(op)) {
      refuse(op);
    }
  }
}

PickleValue parse_pickle(std::span<const std::byte> file, const std::string& name,
                         std::shared_ptr<const void> owner) {
  auto document = std::make_shared<PickleDocument>();
  document->name = name;
  document->file = file;
  document->owner = std::move(owner);
  const PickleItem value = PickleParser(*document).parse();
  return PickleValue(std::move(document), value);
}

PickleValue load_pickle(const std::filesystem::path& path) {
  const auto file = read_whole_file(path);
  return parse_pickle({file->data(), file->bytes()}, path.string(), file);
}

}  // namespace cornu::data
