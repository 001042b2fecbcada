// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample.
#include "data/example.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  using namespace cornu::data;
  static const ExampleParser fixed({{"i", FixedLenFeature{{2}, "int64", -1}},
                                    {"f", FixedLenFeature{{}, "float32", 0}},
                                    {"s", FixedLenFeature{{1}, "string", Tensor::scalar("")}}});
  static const ExampleParser varying({{"i", VarLenFeature{"int64"}},
                                      {"f", FixedLenSequenceFeature{{2}, "float32", true}},
                                      {"s", VarLenFeature{"string"}}});
  const std::string bytes(fuzz::text_of(data, size));
  fuzz::attempt([&] { fixed(Tensor::from({bytes, bytes})); });
  fuzz::attempt([&] { varying(Tensor::scalar(bytes)); });
  return fuzz::attempt([&] {
    parse_single_sequence_example(
        Tensor::scalar(bytes), {{"i", VarLenFeature{"int64"}}},
        {{"f", FixedLenSequenceFeature{{2}, "float32", true}}, {"s", VarLenFeature{"string"}}});
  });
}
