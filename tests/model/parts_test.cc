// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "framework/core/random.h"
#include "framework/core/threads.h"
#include "framework/graph/function.h"
#include "framework/model/activations.h"
#include "framework/model/constants.h"
#include "framework/model/constraints.h"
#include "framework/model/initializers.h"
#include "framework/model/input.h"
#include "framework/model/regularizers.h"
#include "framework/model/stft_initializer.h"
#include "framework/ops/ops.h"
#include "layers/core/dense.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;

namespace {

bool begins_with(const std::string& text, const std::string& begin) {
  return text.substr(0, begin.size()) == begin;
}

bool same_bytes(const Tensor& first, const Tensor& second) {
  const Tensor a = first.host();
  const Tensor b = second.host();
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("options resolve names in both spellings, and aliases") {
  CHECK(Initializer("he_normal")->class_name() == "HeNormal");
  CHECK(Initializer("HeNormal")->class_name() == "HeNormal");
  CHECK(Initializer("uniform")->class_name() == "RandomUniform");
  CHECK(Initializer("OrthogonalInitializer")->class_name() == "Orthogonal");
  CHECK(Regularizer("l2")->class_name() == "L2");
  CHECK(Regularizer("L1L2")->class_name() == "L1L2");
  CHECK(Regularizer("l1_l2")->class_name() == "L1L2");
  CHECK(Constraint("max_norm")->class_name() == "MaxNorm");
  CHECK(Constraint("NonNeg")->class_name() == "NonNeg");
  CHECK(Activation("relu").name() == "relu");
  CHECK(Activation("swish").name() == "silu");
}

TEST_CASE("STFT says what it needs") {
  using initializers::STFT;
  CHECK(message_of([] { STFT({.side = "left"}); }) ==
        "STFT: expected side \"real\" or \"imag\", got \"left\".");
  CHECK(message_of([] { STFT({.scaling = "l2"}); }) ==
        "STFT: expected scaling \"density\", \"spectrum\" or empty, got \"l2\".");
  CHECK(begins_with(message_of([] { STFT({.window = "haming"}); }),
                    "STFT: unknown window 'haming'. Did you mean 'hamming'? Known: barthann, "));
  CHECK(message_of([] {
          STFT()({8, 3}, DType::Float32);
        }) ==
        "STFT: expected the shape (samples of a frame, 1, frequencies), of at least two "
        "frequencies, got (8, 3).");
  CHECK(message_of([] {
          STFT()({8, 1, 3}, DType::Int32);
        }) == "STFT: expected a floating dtype, got int32.");
  CHECK(message_of([] {
          STFT({.window_values = {1, 2}})({3, 1, 3}, DType::Float32);
        }) == "STFT: expected as many window_values as the 3 samples of a frame, got 2.");
  CHECK(STFT()({4, 1, 3}, DType::BFloat16).dtype() == DType::BFloat16);
  CHECK(Initializer("stft")->class_name() == "STFT");
}

TEST_CASE("unknown names are errors that suggest the nearest one, spelled alike") {
  CHECK(begins_with(message_of([] { Activation("rleu"); }),
                    "Unknown activation 'rleu'. Did you mean 'relu'? Known: celu, elu, "));
  CHECK(begins_with(message_of([] { Initializer("he_nromal"); }),
                    "Unknown initializer 'he_nromal'. Did you mean 'he_normal'? Known: "));
  CHECK(begins_with(message_of([] { Initializer("HeNromal"); }),
                    "Unknown initializer 'HeNromal'. Did you mean 'HeNormal'? Known: "));
  CHECK(message_of([] { Regularizer("l3"); }) ==
        "Unknown regularizer 'l3'. Did you mean 'l1' or 'l2'? Known: l1, l1l2, l2, "
        "orthogonal_regularizer.");
  CHECK(begins_with(message_of([] { Constraint("maxnorm"); }),
                    "Unknown constraint 'maxnorm'. Did you mean 'max_norm'? Known: "));
}

TEST_CASE("None is an empty option, and linear as an activation") {
  CHECK_FALSE(Initializer(nullptr));
  CHECK_FALSE(Regularizer());
  CHECK_FALSE(Constraint(nullptr));
  CHECK(serialize(Initializer()).is_null());
  CHECK(serialize(Activation()) == Json("linear"));
  const Tensor x = Tensor::from(std::vector<float>{-1, 2});
  CHECK(Activation(nullptr)(x).id() == x.id());
  CHECK_FALSE(initializer_from_json(nullptr));
  CHECK(activation_from_json("relu").name() == "relu");
}

TEST_CASE("softmax along several axes") {
  const Tensor x = ops::reshape(ops::sin(ops::arange(24)), {2, 3, 4});
  const Tensor flat = ops::reshape(x, {2, 12});
  const auto same = [](const Tensor& a, const Tensor& b) {
    return double(ops::max(ops::abs(ops::reshape(a, b.shape()) - b))) < 1e-6;
  };
  CHECK(same(activations::softmax(x, {1, 2}), activations::softmax(flat, 1)));
  CHECK(same(activations::log_softmax(x, {-1, 1}), activations::log_softmax(flat, 1)));
  CHECK(
      same(activations::softmax(x, std::nullopt), activations::softmax(ops::reshape(x, {24}), 0)));
  CHECK(same(activations::softmax(x, Axes(1)), activations::softmax(x, 1)));
}

TEST_CASE("functions are activations, but can't be saved without a name") {
  const Activation twice = [](const Tensor& x) { return x * 2.0; };
  CHECK(twice(Tensor::scalar(3.0f)).item<float>() == 6.0f);
  CHECK(twice.name().empty());
  CHECK(message_of([&] { serialize(twice); }) ==
        "Activation: a function without a name can't be saved. Register it with "
        "activation_registry().add(\"package>name\", function) and use that name.");
  activation_registry().add("test>thrice", [](const Tensor& x) { return x * 3.0; });
  const Activation thrice = "test>thrice";
  CHECK(serialize(thrice).dump() ==
        R"({"module": "builtins", "class_name": "function", "config": "test>thrice", )"
        R"("registered_name": "function"})");
  CHECK(activation_from_json(serialize(thrice))(Tensor::scalar(1.0f)).item<float>() == 3.0f);
}

TEST_CASE("users' classes are saved under their registered names") {
  class Halves : public InitializerImpl {
   public:
    Tensor operator()(const Shape& shape, DType dtype) const override {
      return initializers::Constant(0.5)(shape, dtype);
    }
    std::string class_name() const override { return "test>Halves"; }
  };
  initializer_registry().add("test>Halves", [](const Json&) -> Initializer { return Halves(); });
  const Json json = serialize(Initializer(Halves()));
  CHECK(json.dump() == R"({"module": null, "class_name": "Halves", "config": {}, )"
                       R"("registered_name": "test>Halves"})");
  const Initializer read = initializer_from_json(json);
  CHECK((*read)({}, DType::Float32).item<float>() == 0.5f);
}

TEST_CASE("what isn't a config is an error that says so") {
  CHECK(message_of([] {
          initializer_from_json(Json::object({{"name", "zeros"}}));
        }) ==
        "Config of the initializer: expected a name or an object with a 'class_name', got "
        "{\"name\": \"zeros\"}.");
}

TEST_CASE("a seed that is a generator in Keras's file") {
  const Json config = Json::parse(
      R"({"module": "keras.initializers", "class_name": "HeNormal", "config": {"seed": )"
      R"({"module": "keras.random", "class_name": "SeedGenerator", "config": {"seed": 42, )"
      R"("name": "seed_generator"}, "registered_name": null}}, "registered_name": null})");
  const Initializer read = initializer_from_json(config);
  CHECK(serialize(read).at("config").at("seed") == Json(42));
  CHECK(same_bytes((*read)({2, 3}, DType::Float32),
                   initializers::HeNormal({.seed = 42})({2, 3}, DType::Float32)));
}

TEST_CASE("seeds decide the values, thread counts don't") {
  const initializers::GlorotUniform seeded({.seed = 7});
  const Shape shape = {300, 70};
  const Tensor first = seeded(shape, DType::Float32);
  CHECK(same_bytes(first, seeded(shape, DType::Float32)));
  {
    ComputeThreadsScope one(1);
    CHECK(same_bytes(first, seeded(shape, DType::Float32)));
  }
  const initializers::HeNormal unseeded;
  set_random_seed(3);
  const Tensor a = unseeded(shape, DType::Float32);
  const Tensor b = unseeded(shape, DType::Float32);
  CHECK_FALSE(same_bytes(a, b));
  set_random_seed(3);
  CHECK(same_bytes(a, unseeded(shape, DType::Float32)));
}

TEST_CASE("a constant may be an array, which files have in several forms") {
  const Tensor rows = {{1.5, -2.0}, {0.0, 3.0}};
  const auto layer =
      layers::Dense({.units = 2, .kernel_initializer = initializers::Constant(rows)});
  layer(ops::ones({1, 2}));
  CHECK(same_bytes(layer.weight("kernel"), rows));
  // Created while a function is traced.
  const auto traced =
      layers::Dense({.units = 2, .kernel_initializer = initializers::Constant(rows)});
  function([&](const Tensor& x) { return Tensor(traced(x)); })(ops::ones({1, 2}));
  CHECK(same_bytes(traced.weight("kernel"), rows));

  const auto read = [](const std::string& value) {
    const Json json = Json::parse(
        R"({"module": "keras.initializers", "class_name": "Constant", "config": {"value": )" +
        value + R"(}, "registered_name": null})");
    return (*initializer_from_json(json))({2, 2}, DType::Float32).to_vector<float>();
  };
  using Values = std::vector<float>;
  CHECK(read("[[1, 2], [3, 4]]") == Values{1, 2, 3, 4});
  CHECK(
      read(R"({"class_name": "__numpy__", "config": {"value": [0.5, 1.5], "dtype": "float64"}})") ==
      Values{0.5, 1.5, 0.5, 1.5});
  CHECK(read("0.25") == Values{0.25, 0.25, 0.25, 0.25});
  CHECK(read("3") == Values{3, 3, 3, 3});
  CHECK(serialize(Initializer(initializers::Constant(0.1))).at("config").dump() ==
        R"({"value": 0.1})");
  CHECK(message_of([&] { read("\"x\""); }) ==
        "Constant: expected 'value' to be a number or an array, got \"x\".");
  CHECK(message_of([&] {
          const Initializer constant = initializers::Constant(rows);
          (*constant)({3, 2, 3}, DType::Float32);
        }) ==
        "Constant: expected a value that broadcasts to the weight's shape (3, 2, 3), got one of "
        "shape (2, 2).");
  CHECK(message_of([] { initializers::Constant{Tensor()}; }) ==
        "Constant: expected a number or a tensor of values, got none.");
  CHECK(message_of([] { initializers::Constant{Input({.shape = {2}})}; }) ==
        "Constant: expected a number or a tensor of values, got a symbolic one.");
}

TEST_CASE("constants without elements keep their shape") {
  for (const Shape& shape : {Shape{0}, Shape{2, 0}, Shape{0, 5}, Shape{1, 0, 3}}) {
    const Json json = serialize_constant(ops::zeros(shape, DType::Int32));
    CHECK(parse_constant(Json::parse(json.dump())).shape() == shape);
  }
  const std::string written = serialize_constant(ops::zeros({2, 0})).dump();
  CHECK(written.find(R"("value": [[], []])") != std::string::npos);
  CHECK(written.find("shape") == std::string::npos);
  const Json wrong = Json::parse(
      R"({"class_name": "__tensor__", "config": {"value": [], "dtype": "int8", "shape": [4]}})");
  CHECK_THROWS_AS(parse_constant(wrong), InvalidArgument);
}

TEST_CASE("initializers make the dtype asked for") {
  CHECK(initializers::Ones()({2}, DType::Int64).to_vector<int64_t>() == std::vector<int64_t>{1, 1});
  CHECK(initializers::Constant(1.5)({2}, DType::BFloat16).dtype() == DType::BFloat16);
  CHECK(initializers::Zeros()({0, 3}, DType::Float32).num_elements() == 0);
  CHECK(message_of([] { initializers::RandomNormal()({2}, DType::Int32); }) ==
        "RandomNormal: expected a floating dtype, got int32.");
  CHECK(message_of([] {
          initializers::Identity()({2, 2, 2}, DType::Float32);
        }) == "Identity: expected the shape of a matrix, got (2, 2, 2).");
  CHECK(message_of([] { initializers::Orthogonal()({4}, DType::Float32); }) ==
        "Orthogonal: expected a shape of at least two axes, got (4,).");
  CHECK(initializers::Orthogonal()({0, int64_t{1} << 40}, DType::Float32).num_elements() == 0);
}

TEST_CASE("VarianceScaling checks its arguments and takes axes") {
  CHECK(message_of([] { initializers::VarianceScaling({.mode = "fan_inn"}); }) ==
        "VarianceScaling: unknown mode 'fan_inn'. Did you mean 'fan_in'? Known: fan_in, fan_out, "
        "fan_avg.");
  CHECK(message_of([] { initializers::VarianceScaling({.scale = 0}); }) ==
        "VarianceScaling: expected scale > 0, got 0.");
  // For an attention kernel (features, heads, depth), all heads are outputs.
  const initializers::VarianceScaling scaling({.scale = 3.0,
                                               .mode = "fan_out",
                                               .distribution = "uniform",
                                               .seed = 1,
                                               .input_axes = {0},
                                               .output_axes = {1, 2}});
  const Tensor values = scaling({5, 4, 9}, DType::Float32);
  const double limit = std::sqrt(3.0 * 3.0 / 36);
  double largest = 0;
  for (float value : values.data<float>()) largest = std::max(largest, double{std::abs(value)});
  CHECK(largest <= limit);
  CHECK(largest > 0.9 * limit);
}

TEST_CASE("regularizers and constraints check their arguments") {
  CHECK(message_of([] { regularizers::L2(-1); }) == "L2: expected l2 >= 0, got -1.");
  CHECK(message_of([] { regularizers::OrthogonalRegularizer({.mode = "diagonals"}); }) ==
        "OrthogonalRegularizer: expected mode 'rows' or 'columns', got 'diagonals'.");
  const regularizers::OrthogonalRegularizer orthogonal;
  CHECK(message_of([&] {
          orthogonal(Tensor::from(std::vector<float>{1, 2}));
        }) == "OrthogonalRegularizer: expected a matrix, got shape (2,).");
  const Regularizer l2 = regularizers::L2(1e-4);
  CHECK((*l2)(Tensor::from(std::vector<float>{3, 4})).item<float>() == doctest::Approx(25e-4f));
}

TEST_CASE("functions are initializers, regularizers and constraints") {
  const Initializer halves = [](const Shape& shape, DType dtype) {
    return ops::ones(shape, dtype) * 0.5;
  };
  CHECK((*halves)({2}, DType::Float32).data<float>()[1] == 0.5F);
  const Regularizer total = [](const Tensor& x) { return ops::sum(x) * 2.0; };
  CHECK((*total)(ops::ones({3})).item<float>() == 6.0F);
  const Constraint positive = [](const Tensor& w) { return ops::relu(w); };
  CHECK((*positive)(Tensor::from<float>({-1, 1})).data<float>()[0] == 0.0F);
  CHECK(message_of([&] { serialize(halves); }) ==
        "A function as initializer can't be saved. Make it a class, and register it with "
        "initializer_registry().add(\"package>Name\", …).");
  CHECK(message_of([&] { serialize(total); }).find("regularizer_registry()") != std::string::npos);
}

TEST_CASE("regularizers keep the dtype of what they penalize") {
  const Tensor x = ops::cast(Tensor::from(std::vector<float>{1, -2}), DType::BFloat16);
  CHECK(regularizers::L1(0.5)(x).dtype() == DType::BFloat16);
  CHECK(regularizers::L1L2()(x).dtype() == DType::BFloat16);
  CHECK(constraints::UnitNorm()(x).dtype() == DType::BFloat16);
}

TEST_CASE("an object of one kind is none of another") {
  static_assert(!std::is_convertible_v<constraints::MaxNorm, Regularizer>);
  static_assert(!std::is_convertible_v<regularizers::L1, Constraint>);
  static_assert(!std::is_convertible_v<regularizers::L2, Activation>);
  CHECK(serialize(regularizers::L1()).at("class_name").as_string() == "L1");
  CHECK(serialize(constraints::MaxNorm()).at("class_name").as_string() == "MaxNorm");
}

TEST_CASE("a name that is a null pointer") {
  const char* none = nullptr;
  CHECK(begins_with(message_of([&] { Activation{none}; }),
                    "activation: expected a text, got a null"));
  CHECK(begins_with(message_of([&] { Initializer{none}; }), "initializer: expected a text"));
  CHECK(begins_with(message_of([&] { Regularizer{none}; }), "regularizer: expected a text"));
  CHECK(begins_with(message_of([&] { Constraint{none}; }), "constraint: expected a text"));
}
