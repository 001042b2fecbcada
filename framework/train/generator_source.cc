// SPDX-License-Identifier: Apache-2.0
#include "framework/train/generator_source.h"

#include "framework/core/user_code.h"
#include "framework/strategy/pass_counter.h"
#include "framework/strategy/source_position.h"
#include "framework/strategy/streams.h"

namespace cornu {
namespace {

using BatchStream = streams::Stream<Batch>;
using OpenBatches = std::function<std::unique_ptr<BatchStream>()>;

class GeneratedBatches : public BatchStream {
 public:
  explicit GeneratedBatches(const std::function<NextBatch()>& begin) : next_(begin()) {
    check<InvalidArgument>(next_ != nullptr,
                           "generator: expected a function that gives batches, got none.");
  }

  bool next(Batch& batch) override {
    if (ended_) return false;
    std::optional<Batch> made =
        with_place([&] { return fmt::format("generator, batch {}", count_); }, next_);
    ended_ = !made;
    if (ended_) return false;
    check<InvalidArgument>(!made->x.empty(),
                           "generator: expected a batch with data for the model, got batch {} "
                           "without x.",
                           count_);
    ++count_;
    batch = std::move(*made);
    return true;
  }

 private:
  NextBatch next_;
  int64_t count_ = 0;
  bool ended_ = false;
};

// A generator's batches, or a worker's part of them.
struct Generated {
  OpenBatches open;
  std::string text = "generator";
  std::string part = "";  // which shard this is
};

class GeneratorIterator : public BatchIterator {
 public:
  GeneratorIterator(const Generated& batches, const std::shared_ptr<PassCounter>& passes)
      : batches_(batches), passes_(passes), pass_(passes->begin(batches.part)) {}

  bool next(Batch& batch) override {
    if (!stream().next(batch)) return false;
    ++given_;
    return true;
  }
  Json save() const override { return here().to_json(); }
  void restore(const Json& json) override {
    check<FailedPrecondition>(!stream_,
                              "generator: a position can be restored by a new iterator "
                              "only.");
    const SourcePosition saved = SourcePosition::read(json, here(), "generator");
    pass_ = saved.pass;
    passes_->set_next(batches_.part, saved.next_pass);
    given_ = stream().skip(saved.consumed);
    saved.check_reached(given_, "generator");
  }

 private:
  BatchStream& stream() {
    if (!stream_) stream_ = batches_.open();
    return *stream_;
  }
  SourcePosition here() const {
    SourcePosition here{batches_.text, pass_, given_, {}};
    here.next_pass = passes_->next(batches_.part);
    return here;
  }

  Generated batches_;
  std::shared_ptr<PassCounter> passes_;
  int64_t pass_;
  int64_t given_ = 0;
  std::unique_ptr<BatchStream> stream_;
};

class GeneratorSource : public BatchSource {
 public:
  GeneratorSource(Generated batches, std::shared_ptr<PassCounter> passes)
      : batches_(std::move(batches)), passes_(std::move(passes)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<GeneratorIterator>(batches_, passes_);
  }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  Json facts() const override { return Json::object({{"generator", batches_.text}}); }

  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    check<InvalidArgument>(0 <= index && index < count,
                           "generator: expected a shard in [0, {}), got {}.", count, index);
    if (count == 1) return std::make_shared<GeneratorSource>(batches_, passes_);
    const auto open = [whole = batches_.open, count, index] {
      return std::make_unique<streams::EvenShardStream<Batch>>(whole, count, index);
    };
    return std::make_shared<GeneratorSource>(
        Generated{open, fmt::format("{} | shard({}, {})", batches_.text, count, index),
                  fmt::format("{}{}/{} ", batches_.part, index, count)},
        passes_);
  }
  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    check<InvalidArgument>(parts >= 1, "generator: expected at least 1 part of a batch, got {}.",
                           parts);
    if (parts == 1) return std::make_shared<GeneratorSource>(batches_, passes_);
    const auto open = [whole = batches_.open, parts] {
      return std::make_unique<streams::DivideStream<Batch>>(whole(), parts);
    };
    return std::make_shared<GeneratorSource>(
        Generated{open, fmt::format("{} | divide({})", batches_.text, parts), batches_.part},
        passes_);
  }

 private:
  Generated batches_;
  std::shared_ptr<PassCounter> passes_;
};

}  // namespace

Batch internal::batch_of(const std::vector<Tensors>& components) {
  const size_t count = components.size();
  check<InvalidArgument>(1 <= count && count <= 3,
                         "generator: training takes x, (x, y) or (x, y, sample_weight), got {} "
                         "components.",
                         count);
  return {.x = components[0],
          .y = count > 1 ? components[1] : Tensors(),
          .sample_weight = count > 2 ? components[2] : Tensors()};
}

std::shared_ptr<BatchSource> make_generator_source(std::function<NextBatch()> begin) {
  const auto open = [begin = std::move(begin)] {
    return std::make_unique<GeneratedBatches>(begin);
  };
  return std::make_shared<GeneratorSource>(Generated{.open = open},
                                           std::make_shared<PassCounter>());
}

}  // namespace cornu
