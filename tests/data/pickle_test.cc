// SPDX-License-Identifier: Apache-2.0
// Pickles of every protocol, pickles that try to run code, and everything that can be wrong.
// CORNU_FUZZ_CORPUS has pickles written by Python (tests/fuzz/make_corpus.py).
#include "data/readers/pickle.h"

#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "tests/data/foreign_files.h"

using namespace cornu;
using namespace cornu::testing;
using namespace std::string_literals;
using data::PickleKind;
using data::PickleValue;

namespace {

PickleValue parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return data::parse_pickle(std::as_bytes(std::span(*copy)), "file", copy);
}

template <class Kind>
std::string error_of(const std::string& content) {
  return message_of<Kind>([&] { parse(content); });
}

std::string corpus(const std::string& name, int protocol) {
  return read_file(std::filesystem::path(CORNU_FUZZ_CORPUS) / "pickle" /
                   fmt::format("{}_{}", name, protocol));
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Every query on a value either returns or throws an Error.
void ask(const PickleValue& value, int depth = 4) {
  const auto attempt = [](auto&& question) {
    try {
      question();
    } catch (const Error& error) {
      CHECK(error.code() != StatusCode::Internal);
    }
  };
  attempt([&] { value.to_tensor(); });
  attempt([&] { value.to_ragged(); });
  attempt([&] { value.at("data"); });
  attempt([&] { value.as_float(); });
  attempt([&] {
    for (size_t i = 0; i < value.size() && depth > 0; ++i) {
      ask(value.kind() == PickleKind::Dict ? value.entry(i).second : value[i], depth - 1);
    }
  });
}

}  // namespace

TEST_CASE("pickles of all protocols: numbers") {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    CAPTURE(protocol);
    CHECK(parse(corpus("none", protocol)).is_none());
    const PickleValue numbers = parse(corpus("numbers", protocol));
    CHECK(numbers.kind() == PickleKind::List);
    CHECK(numbers.size() == 9);
    CHECK(numbers[0].kind() == PickleKind::Bool);
    CHECK(numbers[0].as_bool());
    CHECK_FALSE(numbers[1].as_bool());
    const int64_t wanted[] = {0, -1, 255, 65536, -(int64_t{1} << 40), int64_t{1} << 62};
    for (size_t i = 0; i < std::size(wanted); ++i) {
      CHECK(numbers[2 + i].kind() == PickleKind::Int);
      CHECK(numbers[2 + i].as_int() == wanted[i]);
    }
    CHECK(numbers[8].as_float() == 1.5);
    CHECK(numbers[4].as_float() == 255);
  }
}

TEST_CASE("pickles of all protocols: texts, tuples, dictionaries") {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    CAPTURE(protocol);
    const PickleValue texts = parse(corpus("texts", protocol));
    CHECK(texts.kind() == PickleKind::Dict);
    CHECK(texts.size() == 3);
    CHECK(texts.at("a").kind() == PickleKind::Bytes);
    CHECK(texts.at("a").as_bytes() == "b");
    const PickleValue pair = texts.at("c");
    CHECK(pair.kind() == PickleKind::Tuple);
    CHECK(pair[0].as_str() == "d");
    CHECK(pair[1].as_str() == "\u00e9\\");
    CHECK(texts.entry(2).first.as_bytes() == "\xff");
    CHECK(texts.at("\xff").size() == 0);
    CHECK_FALSE(texts.find("x").has_value());
    CHECK(contains(message_of<NotFound>([&] { texts.at("x"); }), "file: there is no 'x'."));
    CHECK(message_of<OutOfRange>([&] { pair[2]; }) ==
          "file: expected an element below 2, got [2].");
    CHECK(message_of<InvalidArgument>([&] { pair[0].as_int(); }) ==
          "file: expected an int, got a str.");
  }
}

TEST_CASE("pickles of all protocols: arrays and lists in arrays") {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    CAPTURE(protocol);
    const PickleValue batch = parse(corpus("array", protocol));
    const Tensor data = batch.at("data").to_tensor();
    CHECK(data.dtype() == DType::UInt8);
    CHECK(data.shape() == Shape{2, 3});
    CHECK(numbers(data) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
    CHECK(batch.at("labels").to_ints() == std::vector<int64_t>{1, 2});
    const PickleValue lists = parse(corpus("lists", protocol));
    CHECK(lists.kind() == PickleKind::Array);
    CHECK(lists.size() == 2);
    CHECK(lists.to_ragged() == std::vector<std::vector<int64_t>>{{1, 2, 300}, {70000}});
    CHECK(message_of<InvalidArgument>([&] { lists.to_tensor(); }) ==
          "file: an array of Python objects can't be a tensor.");
  }
}

TEST_CASE("pickles: arrays keep their types, orders and memory") {
  const auto tensor = [](const std::string& array) { return parse(array + ".").to_tensor(); };
  CHECK(tensor(pickled_array("f4", '>', {1}, pickled_bytes("\x3f\x80\0\0"s))).item<float>() == 1);
  CHECK(tensor(pickled_array("i2", '<', {2}, pickled_bytes("\xff\xff\1\0"s))).to_vector<int>() ==
        std::vector<int>{-1, 1});
  CHECK(tensor(pickled_array("b1", '|', {2}, pickled_bytes("\2\0"s))).to_vector<bool>() ==
        std::vector<bool>{true, false});
  // In protocol 5, and in column-major order.
  const std::string buffer =
      "\x80\5cnumpy._core.numeric\n_frombuffer\n(\x96\6\0\0\0\0\0\0\0\0\3\1\4\2\5"
      "cnumpy\ndtype\n(X\2\0\0\0u1\x89\x88tRK\2K\3\x86X\1\0\0\0FtR."s;
  CHECK(numbers(parse(buffer).to_tensor()) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  // Writing to a tensor doesn't change another tensor of the same array.
  const PickleValue twice = parse(pickled_array("u1", '|', {1}, pickled_bytes("\1")) + ".");
  Tensor first = twice.to_tensor();
  first.mutable_data<uint8_t>()[0] = 2;
  CHECK(twice.to_tensor().item<int>() == 1);
}

TEST_CASE("pickles: NumPy's scalars are numbers") {
  const auto scalar = [](const std::string& type, const std::string& bytes) {
    return parse("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(" + pickled_str(type) +
                 "K\0K\1tR"s + pickled_bytes(bytes) + "tR.");
  };
  CHECK(scalar("i4", "\xfe\xff\xff\xff").as_int() == -2);
  CHECK(scalar("u1", "\xfe").as_int() == 254);
  CHECK(scalar("b1", "\1").as_bool());
  CHECK(scalar("f8", "\0\0\0\0\0\0\xf8\x3f"s).as_float() == 1.5);
  CHECK_THROWS_AS(scalar("u8", "\xff\xff\xff\xff\xff\xff\xff\xff"), Unimplemented);
  CHECK_THROWS_AS(scalar("c8", "12345678"), Unimplemented);
  CHECK_THROWS_AS(scalar("i4", "\1"), DataLoss);
}

TEST_CASE("pickles: texts of protocol 0") {
  CHECK(parse("S'a\\n\\x41\\101\\'\\\\\\q'\n.").as_bytes() == "a\nAA'\\\\q");
  CHECK(parse("V\\u00e9\\U0001f600\xe9\\\\u0041\n.").as_str() == "\u00e9\U0001f600\u00e9\\\\u0041");
  CHECK(contains(error_of<DataLoss>("S'\\x4'\n."), "an escape that isn't one"));
  CHECK(contains(error_of<DataLoss>("S'a\n."), "expected a text in quotes"));
  CHECK(contains(error_of<DataLoss>("V\\u00g0\n."), "an escape that isn't one"));
  CHECK(contains(error_of<DataLoss>("V\\Uffffffff\n."), "an escape that isn't one"));
  CHECK(parse("I01\n.").as_bool());
  CHECK(parse("L-5L\n.").as_int() == -5);
  CHECK(parse("F1e3\n.").as_float() == 1000);
}

TEST_CASE("pickles: a repeated key counts once, the last one") {
  const PickleValue value = parse("}(U\1aK\1U\1aK\2u.");
  CHECK(value.size() == 2);
  CHECK(value.at("a").as_int() == 2);
}

TEST_CASE("pickles: what wants to run code is refused by name") {
  const auto refused = [](const std::string& content) {
    return error_of<InvalidArgument>(content);
  };
  CHECK(refused("cos\nsystem\n(S'rm -rf /'\ntR.") ==
        "file: at byte 0, a pickle that wants to call os.system; only what NumPy's arrays, dtypes "
        "and scalars and bytes are made with is allowed, and nothing is executed. Don't use a file "
        "that you don't trust; else save its arrays with numpy.savez.");
  CHECK(contains(refused("\x8c\10builtins\x8c\4eval\x93."), "wants to call builtins.eval;"));
  CHECK(contains(refused("(ios\nsystem\n."), "wants to call os.system;"));
  CHECK(contains(refused("(S'ls'\nios\nsystem\n."), "wants to call os.system;"));
  CHECK(contains(refused("cnumpy\nload\n."), "wants to call numpy.load;"));
  CHECK(contains(refused("cnumpy\ndtype\x1b[2J\n."), "numpy.dtype\\x1b[2J;"));
  CHECK(contains(refused("cnumpy\nndarray\n(K\1tR."), "wants to call numpy.ndarray itself"));
  CHECK(contains(refused("](K\1K\2tb."), "wants to set the state of a list"));
  CHECK(refused("P1\n.") ==
        "file: at byte 0, the pickle holds a persistent id; only numbers, texts, lists, tuples, "
        "dictionaries and NumPy's arrays are read.");
  CHECK(contains(refused("K\1Q."), "a persistent id"));
  CHECK(contains(refused("\x82\1."), "an extension code"));
  CHECK(contains(refused("\x8f."), "a set"));
  CHECK(contains(refused("cnumpy\ndtype\n)\x81."), "an object of a class"));
  CHECK(contains(refused("(cnumpy\ndtype\no."), "an object of a class"));
  CHECK(contains(refused("\x97."), "a buffer that isn't in the pickle"));
  CHECK(contains(refused("c_codecs\nencode\n(X\1\0\0\0aX\5\0\0\0rot13tR."s),
                 "expected _codecs.encode to latin1, got rot13"));
}

TEST_CASE("pickles: what is damaged is said, with its place") {
  const auto loss = [](const std::string& content) { return error_of<DataLoss>(content); };
  CHECK(loss("") ==
        "file: the pickle is cut off: at byte 0, 1 bytes should follow, 0 do. Download or create "
        "the file again.");
  CHECK(loss("K\1\xff") == "file: the pickle is damaged: at byte 2, there is no instruction 0xff.");
  CHECK(contains(loss("."), "a value is missing"));
  CHECK(contains(loss("(."), "a value is missing"));
  CHECK(contains(loss("K\1(\x85."), "a value is missing"));  // below the mark
  CHECK(contains(loss("t."), "a mark is missing"));
  CHECK(contains(loss("(K\1d."), "a key without a value"));
  CHECK(contains(loss("K\1K\2a."), "appended to what is no list"));
  CHECK(contains(loss("]K\1K\2s."), "set in what is no dictionary"));
  CHECK(contains(loss("h\5."), "never kept"));
  CHECK(contains(loss("K\1r\xff\xff\xff\xff."), "a value's number is larger than the file"));
  CHECK(contains(loss("Ix\n."), "expected an integer of at most 64 bits"));
  CHECK(contains(loss("I99999999999999999999\n."), "expected an integer of at most 64 bits"));
  CHECK(contains(loss("Fx\n."), "expected a float"));
  CHECK(contains(loss("K\1K\2R."), "something is called that is no function"));
  CHECK(contains(loss("\x8b\xff\xff\xff\xff."), "an integer has a negative size"));
  CHECK(contains(loss("X\xff\xff\xff\xff."), "4294967295 bytes should follow, 1 do"));
  CHECK(contains(loss("\x8e\xff\xff\xff\xff\xff\xff\xff\xff."), "should follow, 1 do"));
  CHECK(contains(loss("\x95\xff\0\0\0\0\0\0\0N."s), "a frame is longer than the file"));
  CHECK(contains(error_of<Unimplemented>("\x80\6N."), "protocol 0 to 5, got 6"));
  CHECK(contains(error_of<Unimplemented>("\x8a\11\0\0\0\0\0\0\0\0\1."s), "an integer of 72 bits"));
}

TEST_CASE("pickles: arrays that aren't what they say") {
  const auto array_loss = [](const std::string& content) {
    return message_of<DataLoss>([&] { parse(content + ".").to_tensor(); });
  };
  CHECK(array_loss(pickled_array("f4", '<', {2}, pickled_bytes("1234"))) ==
        "file: an array of shape (2,) and type '<f4' has 4 bytes.");
  CHECK(contains(array_loss(pickled_array("f4", '<', {-1}, pickled_bytes("1234"))),
                 "must be integers, of at least 0"));
  CHECK(contains(array_loss(pickled_array("f4", '<', {INT64_MAX, 4}, pickled_bytes(""))),
                 "has 0 bytes"));
  CHECK(contains(
      array_loss(pickled_array("f4", '<', std::vector<int64_t>(65, 1), pickled_bytes("1234"))),
      "at most 64 axes, got 65"));
  CHECK(
      contains(array_loss("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\1btR"s),
               "an array without its elements"));
  CHECK(contains(error_of<DataLoss>(pickled_array("O8", '|', {1}, pickled_bytes("x")) + "."),
                 "aren't what its dtype says"));
  CHECK(contains(error_of<DataLoss>(pickled_array("f4", 'x', {1}, pickled_bytes("x")) + "."),
                 "as the order of bytes"));
  CHECK(contains(message_of<DataLoss>([&] {
                   parse(pickled_array("O8", '|', {3}, pickled_ints({1, 2})) + ".").size();
                 }),
                 "an array of shape (3,) has 2 elements"));
  CHECK(
      contains(message_of<Unimplemented>([&] {
                 parse(pickled_array("c8", '<', {1}, pickled_bytes("12345678")) + ".").to_tensor();
               }),
               "NumPy's type '<c8' can't be in a tensor"));
  CHECK_THROWS_AS(parse("cnumpy\ndtype\n(U\2V8K\0K\1tR(K\3U\1|N(U\1atU\1xNNNtb."s), Unimplemented);
  CHECK(contains(message_of<InvalidArgument>([&] { parse("](K\1e.").to_ragged(); }), "got an int"));
  CHECK(contains(message_of<InvalidArgument>([&] { parse("](](Nee.").to_ragged(); }),
                 "expected an int, got None"));
}

TEST_CASE("pickles: every beginning is cut off") {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    for (const char* name : {"none", "numbers", "texts", "array", "lists"}) {
      const std::string whole = corpus(name, protocol);
      for (size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK_THROWS_AS(parse(whole.substr(0, length)), DataLoss);
      }
      parse(whole + "what follows");
    }
  }
}

TEST_CASE("pickles: no flipped bit or noise does worse than an error") {
  PhiloxEngine random(1);
  for (int protocol = 0; protocol <= 5; ++protocol) {
    for (const char* name : {"numbers", "texts", "array", "lists"}) {
      const std::string whole = corpus(name, protocol);
      const auto try_it = [](const std::string& content) {
        try {
          ask(parse(content));
        } catch (const Error& error) {
          CHECK(contains(error.what(), "file: "));
          CHECK(error.code() != StatusCode::Internal);
        }
      };
      for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
        try_it(flipped);
      }
      for (int round = 0; round < 300; ++round) {
        std::string content = whole;
        for (uint64_t i = random.below(6); i < 6; ++i) {
          content[random.below(content.size())] = static_cast<char>(random());
        }
        content.resize(random.below(content.size() + 4));
        try_it(content);
      }
    }
  }
}

TEST_CASE("pickles: depth and cycles do no harm") {
  const PickleValue deep = parse(repeated("]", 200'000) + repeated("a", 199'999) + ".");
  CHECK(deep[0][0][0].size() == 1);
  CHECK(parse(repeated("(", 200'000) + "N" + repeated("l", 200'000) + ".").size() == 1);
  CHECK(parse("N" + repeated("\x85", 200'000) + ".").size() == 1);
  const PickleValue cycle = parse("]q\0h\0a."s);
  CHECK(cycle[0][0][0].size() == 1);
  CHECK(contains(message_of<InvalidArgument>([&] { cycle.to_ragged(); }), "got a list"));
}

TEST_CASE("pickles: a small file can't ask for much") {
  // Each list contains the previous one twice, forty times over: 2^40 numbers if all were followed.
  std::string doubling = "]q\0K\1a"s;
  for (int i = 0; i < 40; ++i) {
    doubling += "]q"s + static_cast<char>(i + 1) + "(h" + static_cast<char>(i) + "h" +
                static_cast<char>(i) + "e";
  }
  CHECK(parse(doubling + ".")[0].size() == 2);

  const std::string row = pickled_ints(std::vector<int64_t>(1000, 7));
  CHECK(contains(message_of<ResourceExhausted>([&] {
                   parse("](" + row + "q\0"s + repeated("h\0"s, 10'000) + "e.").to_ragged();
                 }),
                 "lists are referred to so often"));
  CHECK(parse("](" + row + "q\0"s + repeated("h\0"s, 9) + "e.").to_ragged().size() == 10);

  const std::string text = pickled_str(std::string(10'000, 'x')) + "q\0"s;
  const std::string again = "c_codecs\nencode\n(h\0X\6\0\0\0latin1tR0"s;
  CHECK(contains(error_of<DataLoss>(text + repeated(again, 1000) + "N."),
                 "the same text is decoded again and again"));
  const std::string tuple = "(" + repeated("N", 10'000) +
                            "tq\0"
                            "0"s;
  CHECK(contains(error_of<DataLoss>(tuple + repeated("c__builtin__\nbytes\nh\0R0"s, 1000) + "N."),
                 "too many arguments"));
}
