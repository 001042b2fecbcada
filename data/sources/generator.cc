// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/sources/host.h"
#include "data/sources/sources.h"
#include "framework/core/user_code.h"

namespace cornu::data {
namespace {

std::string generator_place() { return "from_generator"; }

class GeneratorStream : public Stream<Element> {
 public:
  // Both must outlive the stream.
  GeneratorStream(const Generator& generator, const ElementSpec& spec)
      : generator_(generator), spec_(spec) {}

  bool next(Element& element) override {
    if (ended_) return false;
    if (!started_) produce_ = call_user(&generator_place, generator_);  // only when needed
    started_ = true;
    check<InvalidArgument>(produce_ != nullptr,
                           "from_generator: expected a function that gives elements, got none.");
    std::optional<Element> made =
        call_user([this] { return fmt::format("from_generator, element {}", count_); }, produce_);
    ended_ = !made;
    if (ended_) return false;
    element = on_host(*made, "from_generator");
    require_fit(element);
    ++count_;
    return true;
  }

 private:
  void require_fit(const Element& element) const {
    const ElementSpec own = spec_of(element);
    check<InvalidArgument>(spec_.admits(own),
                           "from_generator: expected elements of the kind {}, got {} as element "
                           "{}. Where axes vary, give output_signature, with kUnknown for them.",
                           spec_, own, count_);
  }

  const Generator& generator_;
  const ElementSpec& spec_;
  std::function<std::optional<Element>()> produce_;
  int64_t count_ = 0;
  bool started_ = false;
  bool ended_ = false;
};

class FromGenerator : public Node {
 public:
  FromGenerator(Generator generator, const GeneratorOptions& options)
      : generator_(std::move(generator)) {
    check<InvalidArgument>(generator_ != nullptr,
                           "from_generator: expected a generator, got none.");
    if (options.output_signature) {
      spec_ = as_signature(*options.output_signature);
      return;
    }
    const auto produce = call_user(&generator_place, generator_);
    const std::optional<Element> first =
        produce ? call_user(&generator_place, produce) : std::nullopt;
    check<InvalidArgument>(first.has_value(),
                           "from_generator: expected a first element, from which the types of all "
                           "are inferred, got none. Pass output_signature if there may be none.");
    check<InvalidArgument>(first->structure() != nullptr,
                           "from_generator: expected elements of tensors, got one without any.");
    spec_ = spec_of(*first);
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("generator({})", spec_.to_string()); }
  void write(LinkWriter&) const override {
    raise<FailedPrecondition>(
        "{}: it can't be serialized: its generator is C++ code, which another process hasn't. "
        "Write its elements to files (TFRecordWriter), or give them by from_tensor_slices.",
        describe());
  }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<GeneratorStream>(generator_, spec_);
  }

 private:
  Generator generator_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_generator(Generator generator, const GeneratorOptions& options) {
  return std::make_shared<FromGenerator>(std::move(generator), options);
}

}  // namespace cornu::data
