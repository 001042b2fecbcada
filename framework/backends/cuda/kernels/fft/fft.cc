// SPDX-License-Identifier: Apache-2.0
// fft and rfft of the last axis, any length: README.md.
#include <algorithm>
#include <bit>
#include <optional>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kMaxThreads = 512;
constexpr int64_t kThreadBytes = 32;     // maximum size of the real parts that a thread transforms
constexpr int64_t kLongestFactor = 256;  // in a transform that takes several launches
constexpr int64_t kColumnBytes = 64;     // of adjacent columns in a tile
constexpr size_t kPartBytes = size_t{32} << 20;  // of rows between launches: fits into the cache

// Arrays of real and imaginary parts.
struct Planes {
  Slot re;
  Slot im;
  DType dtype = DType::Float32;

  Planes swapped() const { return {im, re, dtype}; }
  Planes behind(int64_t numbers) const {
    const size_t bytes = static_cast<size_t>(numbers) * size_of(dtype);
    Planes result = *this;
    result.re.offset += bytes;
    result.im.offset += bytes;
    return result;
  }
};

// Transforms of rows. See transform.cu for the terms.
struct RowTransforms {
  int64_t rows = 0;
  int64_t length = 0;
  int64_t given = 0;  // numbers per row in `from`
  int64_t kept = 0;   // numbers per row in `into`
  Planes from;
  Planes into;
  Planes factor;
  std::string_view load = "PLANES";
  std::string_view store = "PLANES";
  bool real_only = false;
  bool bluestein = false;
  int64_t chirp_length = 1;
};

// The radices, if the kernel has butterflies for all of them; otherwise nullopt.
std::optional<std::vector<int64_t>> radices_of(int64_t length) {
  std::vector<int64_t> radices;
  const int twos = std::countr_zero(static_cast<uint64_t>(length));
  const int fours = twos == 1 ? 0 : twos % 3 == 1 ? 2 : twos % 3 == 2 ? 1 : 0;
  radices.insert(radices.end(), static_cast<size_t>((twos - 2 * fours) / 3), 8);
  radices.insert(radices.end(), static_cast<size_t>(fours), 4);
  if (twos == 1) radices.push_back(2);
  int64_t rest = length >> twos;
  for (const int64_t prime : {7, 5, 3}) {
    for (; rest % prime == 0; rest /= prime) radices.push_back(prime);
  }
  if (rest > 1) return {};
  std::ranges::sort(radices, std::greater());
  return radices;
}

int64_t product_of_radices(const std::vector<int64_t>& radices) {
  int64_t product = 1;
  for (const int64_t radix : radices) product *= radix;
  return product;
}

// Groups radices such that their products are similar and none exceeds kLongestFactor, the largest
// first.
std::vector<std::vector<int64_t>> grouped(const std::vector<int64_t>& radices) {
  for (size_t count = 2;; ++count) {
    std::vector<std::vector<int64_t>> groups(count);
    for (const int64_t radix : radices) {
      std::ranges::min_element(groups, {}, product_of_radices)->push_back(radix);
    }
    std::ranges::sort(groups, std::greater(), product_of_radices);
    if (product_of_radices(groups[0]) <= kLongestFactor) return groups;
  }
}

class FftLowering {
 public:
  FftLowering(const KernelSpec& spec, Lowering& to)
      : to_(to),
        name_(spec.op.name),
        storage_(spec.inputs[0].dtype),
        compute_(storage_ == DType::Float64 ? DType::Float64 : DType::Float32),
        number_bytes_(static_cast<int64_t>(size_of(compute_))) {}

  // Transforms of the length given in `work`, from start to finish.
  void run(RowTransforms work) {
    const auto radices = radices_of(work.length);
    if (radices && work.length <= longest_whole()) {
      add_whole(work);
    } else if (radices) {
      each_part(work, work.length, [&](const RowTransforms& part) { add_factors(part); });
    } else {
      add_bluestein(work);
    }
  }

  // Real rows of even length: transformed as half as many complex numbers.
  bool run_pairs(RowTransforms work) {
    if (work.length % 2 == 1 || work.length / 2 > longest_whole() || !radices_of(work.length / 2)) {
      return false;
    }
    work.length /= 2;
    work.given = work.length;
    work.load = "PAIRS";
    work.store = "SPLIT";
    add_whole(work);
    return true;
  }

 private:
  // Maximum length of a transform in one launch. It fits into 48 KiB of shared memory.
  int64_t longest_whole() const { return kMaxThreads * kThreadBytes / number_bytes_; }

  Planes scratch(int64_t numbers) {
    const size_t bytes = static_cast<size_t>(numbers * number_bytes_);
    return {to_.scratch(bytes), to_.scratch(bytes), compute_};
  }

  // A convolution with the chirp exp(pi i k^2 / n) reduces any length to a power of two (Bluestein
  // 1970).
  void add_bluestein(RowTransforms work) {
    work.chirp_length = work.length;
    work.length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * work.length - 1)));
    const Planes spectrum = scratch(work.length);
    RowTransforms chirp = {.rows = 1,
                           .length = work.length,
                           .given = work.length,
                           .kept = work.length,
                           .from = work.from,
                           .into = spectrum,
                           .factor = spectrum,
                           .load = "CHIRP",
                           .chirp_length = work.chirp_length};
    run(chirp);
    work.load = "CHIRPED";
    work.factor = spectrum;
    if (work.length <= longest_whole()) {
      work.store = "CHIRPED";
      work.bluestein = true;
      return add_whole(work);
    }
    each_part(work, work.length, [&](const RowTransforms& part) {
      RowTransforms there = part;
      there.into = buffers_[0];
      there.kept = part.length;
      there.store = "TIMES";
      RowTransforms back = part;
      back.from = buffers_[0].swapped();
      back.given = part.length;
      back.load = "PLANES";
      back.real_only = false;
      back.store = "CHIRPED";
      add_factors(there);
      add_factors(back);
    });
  }

  // Calls add(part) for as many rows at a time as fit into buffers of kPartBytes.
  template <class Add>
  void each_part(const RowTransforms& work, int64_t length, Add add) {
    const auto row_bytes = static_cast<size_t>(2 * length * number_bytes_);
    const auto most = static_cast<int64_t>(std::max<size_t>(1, kPartBytes / row_bytes));
    const int64_t rows = std::min(work.rows, most);
    if (rows > buffer_numbers_ / length) {
      buffer_numbers_ = rows * length;
      for (Planes& buffer : buffers_) buffer = scratch(buffer_numbers_);
    }
    for (int64_t row = 0; row < work.rows; row += rows) {
      RowTransforms part = work;
      part.rows = std::min(rows, work.rows - row);
      part.from = work.from.behind(row * work.given);
      part.into = work.into.behind(row * work.kept);
      add(part);
    }
  }

  // One launch per factor. The buffer before the last must differ from the one it is computed from.
  void add_factors(const RowTransforms& work) {
    const auto groups = grouped(*radices_of(work.length));
    const bool from_first = work.from.re == buffers_[0].re || work.from.re == buffers_[0].im;
    const bool into_first = work.into.re == buffers_[0].re;
    size_t next = from_first || (into_first && groups.size() % 2 == 0) ? 1 : 0;
    int64_t span = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
      RowTransforms pass = work;
      if (i > 0) {
        pass.from = buffers_[1 - next];
        pass.given = work.length;
        pass.load = "PLANES";
        pass.real_only = false;
      }
      if (i + 1 < groups.size()) {
        pass.into = buffers_[next];
        pass.kept = work.length;
        pass.store = "PLANES";
        next = 1 - next;
      }
      const int64_t tile = kColumnBytes / number_bytes_;
      const int64_t columns = work.length / product_of_radices(groups[i]);
      const int64_t blocks = pass.rows * ((columns + tile - 1) / tile);
      add_launch(pass, i == 0 ? "FIRST" : "NEXT", groups[i], span, tile, blocks);
      span *= product_of_radices(groups[i]);
    }
  }

  void add_whole(const RowTransforms& work) {
    constexpr int64_t kEnoughPoints = 1024;  // per block
    constexpr int64_t kEnoughBlocks = 256;
    int64_t tile = 1;
    while (2 * tile * work.length <= kEnoughPoints && work.rows >= 2 * tile * kEnoughBlocks) {
      tile *= 2;
    }
    add_launch(work, "WHOLE", *radices_of(work.length), 1, tile, (work.rows + tile - 1) / tile);
  }

  void add_launch(const RowTransforms& work, std::string_view stage,
                  const std::vector<int64_t>& radices, int64_t span, int64_t tile, int64_t blocks) {
    const int64_t radix = product_of_radices(radices);
    const int64_t points = radix * tile;
    const int64_t each = kThreadBytes / number_bytes_;
    const auto threads =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((points + each - 1) / each)));
    int64_t packed = 0;
    for (auto it = radices.rbegin(); it != radices.rend(); ++it) packed = packed * 16 + *it;
    const auto word = [](bool value) { return value ? "1" : "0"; };
    const std::string definitions =
        define("S", type_name(work.from.dtype)) + define("D", type_name(work.into.dtype)) +
        define("C", type_name(compute_)) + define("POINTS", each) + define("STAGE", stage) +
        define("LOAD", work.load) + define("STORE", work.store) +
        define("REAL_ONLY", word(work.real_only)) + define("BLUESTEIN", word(work.bluestein)) +
        define("ODD", word(std::ranges::any_of(radices, [](int64_t r) { return r % 2 == 1; })));
    to_.launch(name_, "kernels/fft/transform.cu", definitions, {static_cast<uint32_t>(blocks)},
               {static_cast<uint32_t>(std::clamp<int64_t>(threads, 64, kMaxThreads))},
               {work.from.re, work.from.im, work.into.re, work.into.im, work.factor.re,
                work.factor.im, work.rows, work.length, work.given, work.kept, radix, packed, span,
                tile, work.chirp_length},
               static_cast<uint32_t>(2 * (points + points / 32) * number_bytes_));
  }

  Lowering& to_;
  std::string name_;
  DType storage_;
  DType compute_;
  int64_t number_bytes_;
  int64_t buffer_numbers_ = 0;
  Planes buffers_[2];
};

// A single point is its own transform.
void copy_points(const KernelSpec& spec, Lowering& to) {
  const size_t bytes = spec.inputs[0].bytes();
  to.copy(out(0), in(0), bytes);
  if (spec.inputs.size() == 2) {
    to.copy(out(1), in(1), bytes);
  } else {
    to.fill(out(1), 0, bytes);
  }
}

bool lower_fft(const KernelSpec& spec, Lowering& to) {
  const TensorType& type = spec.inputs[0];
  const int64_t length = type.shape.back();
  const bool real_only = spec.inputs.size() == 1;  // rfft
  if (type.shape.num_elements() == 0) return true;
  if (length == 1) {
    copy_points(spec, to);
    return true;
  }
  const Planes from = {in(0), in(real_only ? 0 : 1), type.dtype};
  const Planes into = {out(0), out(1), type.dtype};
  // Exponents of the opposite sign: both parts are swapped before and after.
  const bool inverse = !real_only && spec.attributes.get_bool("inverse");
  const RowTransforms work = {.rows = type.shape.num_elements() / length,
                              .length = length,
                              .given = length,
                              .kept = spec.outputs[0].shape.back(),
                              .from = inverse ? from.swapped() : from,
                              .into = inverse ? into.swapped() : into,
                              .factor = from,
                              .real_only = real_only};
  FftLowering lowering(spec, to);
  if (!real_only || !lowering.run_pairs(work)) lowering.run(work);
  return true;
}

}  // namespace

void register_fft(LoweringTable& table) {
  table.add("fft", lower_fft);
  table.add("rfft", lower_fft);
}

}  // namespace cornu::cuda
