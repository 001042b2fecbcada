// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/chain.h"

#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/elementwise/chain.cc"
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/arithmetic.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

inline constexpr size_t kVectors = 8;  // of a block
// Arrays in memory are fetched this many blocks ahead: the processor's own prefetching doesn't keep
// up with several short runs at a time.
inline constexpr size_t kBlocksAhead = 2;

// Threaded code: each operation is a function that takes the accumulator in vector registers and
// tail-calls the next one.
template <class T>
class Machine {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kBlock = kVectors * hn::MaxLanes(D());
  static constexpr size_t kLine = 64;  // bytes of the cache

  struct Code;
  using Operation = void (*)(const Code* code, size_t offset, V a0, V a1, V a2, V a3, V a4, V a5,
                             V a6, V a7);

  // The memory of an operand.
  struct Place {
    T* data;
    size_t offset_mask;  // all bits set for arrays, which advance with the block; else 0

    HWY_INLINE T* at(size_t offset) const { return data + (offset & offset_mask); }
  };
  struct Code {
    Operation run;
    Place x, y, z;
  };

  static Operation find(const ChainStep& step) {
    const Kind kind = step.kinds[0];
    switch (step.op) {
      case ChainOp::Load:
        return by_kind<Load>(kind);
      case ChainOp::Store:
        return by_kind<Store>(kind);
      case ChainOp::LoadSum:
        return load_pair<TileOp::Add>(kind);
      case ChainOp::LoadDifference:
        return load_pair<TileOp::Subtract>(kind);
      case ChainOp::LoadProduct:
        return load_pair<TileOp::Multiply>(kind);
      case ChainOp::Add:
        return with<TileOp::Add>(kind);
      case ChainOp::Subtract:
        return with<TileOp::Subtract>(kind);
      case ChainOp::SubtractFrom:
        return with<TileOp::Subtract, true>(kind);
      case ChainOp::Multiply:
        return with<TileOp::Multiply>(kind);
      case ChainOp::Divide:
        return with<TileOp::Divide>(kind);
      case ChainOp::DivideInto:
        return with<TileOp::Divide, true>(kind);
      case ChainOp::Maximum:
        return with<TileOp::Maximum>(kind);
      case ChainOp::ReversedMaximum:
        return with<TileOp::Maximum, true>(kind);
      case ChainOp::Minimum:
        return with<TileOp::Minimum>(kind);
      case ChainOp::ReversedMinimum:
        return with<TileOp::Minimum, true>(kind);
      case ChainOp::AddProduct:
        return with_product<TileOp::Add>(kind);
      case ChainOp::SubtractProduct:
        return with_product<TileOp::Subtract>(kind);
      case ChainOp::ProductMinus:
        return with_product<TileOp::Subtract, true>(kind);
      case ChainOp::ProductOver:
        return with_product<TileOp::Divide, true>(kind);
      case ChainOp::Relu:
        return each<Unary<TileOp::Relu>>;
      case ChainOp::Negate:
        return each<Unary<TileOp::Negate>>;
      case ChainOp::Abs:
        return each<Unary<TileOp::Abs>>;
      case ChainOp::Sqrt:
        return each<Unary<TileOp::Sqrt>>;
      case ChainOp::Square:
        return each<Unary<TileOp::Square>>;
      case ChainOp::Rsqrt:
        return each<Unary<TileOp::Rsqrt>>;
      case ChainOp::Reciprocal:
        return each<Unary<TileOp::Reciprocal>>;
      case ChainOp::SelectEqual:
        return select<TileOp::Equal>(step);
      case ChainOp::SelectNotEqual:
        return select<TileOp::NotEqual>(step);
      case ChainOp::SelectLess:
        return select<TileOp::Less>(step);
      case ChainOp::SelectLessEqual:
        return select<TileOp::LessEqual>(step);
      case ChainOp::SelectGreater:
        return select<TileOp::Greater>(step);
      case ChainOp::SelectGreaterEqual:
        return select<TileOp::GreaterEqual>(step);
      case ChainOp::SelectWithin:
        return within(step);
    }
    return stop;
  }

  static void run(const TileArgs& args, size_t count) {
    const Chain& chain = *args.chain;
    HWY_ALIGN T locals[kMaxChainLocals * kBlock];
    Place places[kMaxChainOperands + kMaxChainLocals];
    find_places(args, locals, places);
    Code code[kMaxChainSteps + 1];
    bind(chain, places, code);
    const Steps steps = steps_between_rows(args, count, code);
    uintptr_t memory[kMaxChainOperands];
    const std::span<const uintptr_t> streams = find_streams(args, memory);

    const size_t whole = count / kBlock * kBlock;
    const bool overlaps = whole > 0 && whole < count && !writes_in_place(args);
    for (size_t row = 0; row < args.rows; ++row) {
      const size_t begin = row * count;
      run_blocks(code, begin, begin + whole, streams);
      if (overlaps) {  // the last whole block's worth of elements, some for a second time
        run_blocks(code, begin + count - kBlock, begin + count, {});
      } else if (whole < count) {
        run_padded(args, places, row, count, whole);
      }
      for (size_t i = 0; i < steps.count; ++i) *steps.data[i] += steps.elements[i];
    }
  }

 private:
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }

  static size_t operands_of(const TileArgs& args) { return static_cast<size_t>(args.count); }

  static bool writes_in_place(const TileArgs& args) {
    const std::span operands(args.operand, operands_of(args));
    const auto inputs = operands.first(operands.size() - static_cast<size_t>(args.chain->outputs));
    return std::ranges::any_of(operands.subspan(inputs.size()), [&](const TileOperand& out) {
      return std::ranges::find(inputs, out.data, &TileOperand::data) != inputs.end();
    });
  }

  static void find_places(const TileArgs& args, T* locals, Place* places) {
    const size_t operands = operands_of(args);
    for (size_t i = 0; i < operands; ++i) {
      places[i] = {static_cast<T*>(const_cast<void*>(args.operand[i].data)),
                   args.operand[i].step != 0 ? ~size_t{0} : 0};
    }
    for (size_t i = 0; i < static_cast<size_t>(args.chain->locals); ++i) {
      places[operands + i] = {locals + i * kBlock, 0};
    }
  }

  static void bind(const Chain& chain, const Place* places, Code* code) {
    const size_t steps = chain.steps.size();
    for (size_t i = 0; i < steps; ++i) {
      const ChainStep& step = chain.steps[i];
      code[i] = {reinterpret_cast<Operation>(step.run), places[step.in[0]], places[step.in[1]],
                 places[step.in[2]]};
    }
    code[steps].run = stop;
  }

  // Pointers in the code to operands that don't continue in the next row, and by how much they
  // change from one row to the next, in which offsets are larger by a row.
  struct Steps {
    T** data[3 * kMaxChainSteps];
    ptrdiff_t elements[3 * kMaxChainSteps];
    size_t count = 0;
  };
  static Steps steps_between_rows(const TileArgs& args, size_t count, Code* code) {
    Steps result;
    if (args.rows == 1) return result;
    for (size_t i = 0; i < args.chain->steps.size(); ++i) {
      Place* const places[] = {&code[i].x, &code[i].y, &code[i].z};
      for (size_t k = 0; k < 3; ++k) {
        const size_t number = args.chain->steps[i].in[k];
        if (number >= operands_of(args) || args.operand[number].continues) continue;
        result.data[result.count] = &places[k]->data;
        result.elements[result.count++] = elements_between_rows(args.operand[number], count);
      }
    }
    return result;
  }
  static ptrdiff_t elements_between_rows(const TileOperand& operand, size_t count) {
    const auto elements = static_cast<ptrdiff_t>(operand.row_bytes / sizeof(T));
    return operand.step == 0 ? elements : elements - static_cast<ptrdiff_t>(count);
  }

  // The addresses of different arrays that continue in the next tile.
  static std::span<const uintptr_t> find_streams(const TileArgs& args, uintptr_t* streams) {
    size_t count = 0;
    for (size_t i = 0; i < operands_of(args); ++i) {
      const auto address = reinterpret_cast<uintptr_t>(args.operand[i].data);
      const bool known = std::find(streams, streams + count, address) != streams + count;
      if (args.operand[i].streams && !known) streams[count++] = address;
    }
    return {streams, count};
  }

  // Computes the elements of a row from `whole` on, of `count`, fewer than a block's, in a padded
  // one, so that no memory beyond them is accessed.
  static void run_padded(const TileArgs& args, const Place* first_row, size_t row, size_t count,
                         size_t whole) {
    const Chain& chain = *args.chain;
    const size_t operands = operands_of(args), rest = count - whole;
    HWY_ALIGN T padded[kMaxChainOperands * kBlock];
    Place places[kMaxChainOperands + kMaxChainLocals];
    std::copy_n(first_row, operands + static_cast<size_t>(chain.locals), places);
    const T* from[kMaxChainOperands];
    for (size_t i = 0; i < operands; ++i) {
      const TileOperand& operand = args.operand[i];
      const auto step = operand.continues ? 0 : elements_between_rows(operand, count);
      places[i].data += static_cast<ptrdiff_t>(row) * step;
      if (places[i].offset_mask == 0) continue;
      from[i] = places[i].data + row * count + whole;
      places[i].data = padded + i * kBlock;
      pad(from[i], rest, places[i].data);
    }
    Code code[kMaxChainSteps + 1];
    bind(chain, places, code);
    run_blocks(code, 0, kBlock, {});
    for (size_t i = operands - static_cast<size_t>(chain.outputs); i < operands; ++i) {
      unpad(places[i].data, rest, const_cast<T*>(from[i]));
    }
  }

  // Copies the first `count` elements of a block.
  static HWY_INLINE void unpad(const T* block, size_t count, T* to) {
    size_t at = 0;
    for (; at + lanes() <= count; at += lanes()) {
      hn::StoreU(hn::Load(D(), block + at), D(), to + at);
    }
    if (at < count) store_tail(D(), hn::Load(D(), block + at), to + at, count - at);
  }
  // Copies `count` elements (0 < count < kBlock), and fills the block with the first.
  static HWY_INLINE void pad(const T* from, size_t count, T* block) {
    for (size_t at = 0; at < kBlock; at += lanes()) {
      const V elements = at + lanes() <= count ? hn::LoadU(D(), from + at)
                         : at < count          ? load_tail_repeating(D(), from + at, count - at)
                                               : hn::Set(D(), *from);
      hn::Store(elements, D(), block + at);
    }
  }

  // Runs the code on the elements from `begin` to `end`, whole blocks.
  static void run_blocks(const Code* code, size_t begin, size_t end,
                         std::span<const uintptr_t> streams) {
    const V any = hn::Undefined(D());
    for (size_t offset = begin; offset < end; offset += kBlock) {
      for (const uintptr_t stream : streams) {  // numbers: they may go beyond the arrays
        const uintptr_t ahead = stream + (offset + kBlocksAhead * kBlock) * sizeof(T);
        for (size_t at = 0; at < kBlock * sizeof(T); at += kLine) {
          __builtin_prefetch(reinterpret_cast<const void*>(ahead + at));
        }
      }
      code->run(code, offset, any, any, any, any, any, any, any, any);
    }
  }

  static void stop(const Code*, size_t, V, V, V, V, V, V, V, V) {}

  // The operation `kOp::apply(place data..., vector number, accumulator)` on all vectors.
  template <class Op>
  static void each(const Code* code, size_t offset, V a0, V a1, V a2, V a3, V a4, V a5, V a6,
                   V a7) {
    const Op op(*code, offset);
    a0 = op(a0, 0);
    a1 = op(a1, 1);
    a2 = op(a2, 2);
    a3 = op(a3, 3);
    a4 = op(a4, 4);
    a5 = op(a5, 5);
    a6 = op(a6, 6);
    a7 = op(a7, 7);
    return code[1].run(code + 1, offset, a0, a1, a2, a3, a4, a5, a6, a7);
  }

  static HWY_INLINE V vector(const T* data, size_t k) { return hn::LoadU(D(), data + k * lanes()); }

  using Kind = ChainOperand;
  template <Kind kKind>
  struct X {
    T* x;
    HWY_INLINE X(const Code& code, size_t offset)
        : x(code.x.data + (kKind == Kind::Array ? offset : 0)) {}
    HWY_INLINE V vector_of_x(size_t k) const { return vector(x, kKind == Kind::Scalar ? 0 : k); }
  };
  template <Kind kKind>
  struct XY : X<kKind> {
    const T* y;
    HWY_INLINE XY(const Code& code, size_t offset) : X<kKind>(code, offset), y(code.y.at(offset)) {}
    template <TileOp kOp>
    HWY_INLINE V combined(size_t k) const {
      return Binary<kOp>()(D(), this->vector_of_x(k), vector(y, k));
    }
  };

  template <Kind kKind>
  struct Load : X<kKind> {
    HWY_INLINE Load(const Code& code, size_t offset) : X<kKind>(code, offset) {}
    HWY_INLINE V operator()(V, size_t k) const { return this->vector_of_x(k); }
  };
  template <Kind kKind>
  struct Store : X<kKind> {
    HWY_INLINE Store(const Code& code, size_t offset) : X<kKind>(code, offset) {}
    HWY_INLINE V operator()(V a, size_t k) const {
      hn::StoreU(a, D(), this->x + k * lanes());
      return a;
    }
  };
  template <Kind kKind, TileOp kOp, bool kReversed>
  struct With : X<kKind> {
    HWY_INLINE With(const Code& code, size_t offset) : X<kKind>(code, offset) {}
    HWY_INLINE V operator()(V a, size_t k) const {
      const V other = this->vector_of_x(k);
      return kReversed ? Binary<kOp>()(D(), other, a) : Binary<kOp>()(D(), a, other);
    }
  };
  template <Kind kKind, TileOp kOp>
  struct LoadPair : XY<kKind> {
    HWY_INLINE LoadPair(const Code& code, size_t offset) : XY<kKind>(code, offset) {}
    HWY_INLINE V operator()(V, size_t k) const { return this->template combined<kOp>(k); }
  };
  template <Kind kKind, TileOp kOp, bool kReversed>
  struct WithProduct : XY<kKind> {
    HWY_INLINE WithProduct(const Code& code, size_t offset) : XY<kKind>(code, offset) {}
    HWY_INLINE V operator()(V a, size_t k) const {
      const V product = this->template combined<TileOp::Multiply>(k);
      return kReversed ? Binary<kOp>()(D(), product, a) : Binary<kOp>()(D(), a, product);
    }
  };
  template <TileOp kOp>
  struct Unary {
    HWY_INLINE Unary(const Code&, size_t) {}
    HWY_INLINE V operator()(V a, size_t) const {
      const V one = hn::Set(D(), T{1});
      const V zero = hn::Zero(D());
      if constexpr (kOp == TileOp::Relu) return hn::IfThenElse(hn::Lt(a, zero), zero, a);
      if constexpr (kOp == TileOp::Negate) return hn::Neg(a);
      if constexpr (kOp == TileOp::Abs) return hn::Abs(a);
      if constexpr (kOp == TileOp::Sqrt) return hn::Sqrt(a);
      if constexpr (kOp == TileOp::Square) return hn::Mul(a, a);
      if constexpr (kOp == TileOp::Rsqrt) return hn::Div(one, hn::Sqrt(a));
      if constexpr (kOp == TileOp::Reciprocal) return hn::Div(one, a);
    }
  };
  // An array or a local, or a scalar: the kind is known when compiling, since strides in variables
  // would take more registers than there are.
  template <bool kScalar>
  struct Operand {
    const T* data;
    HWY_INLINE Operand(const Place& place, size_t offset)
        : data(kScalar ? place.data : place.at(offset)) {}
    HWY_INLINE V operator()(size_t k) const { return vector(data, kScalar ? 0 : k); }
  };
  template <bool kXScalar, bool kYScalar, bool kZScalar>
  struct XYZ {
    Operand<kXScalar> x;
    Operand<kYScalar> y;
    Operand<kZScalar> z;
    HWY_INLINE XYZ(const Code& code, size_t offset)
        : x(code.x, offset), y(code.y, offset), z(code.z, offset) {}
  };
  template <TileOp kCompare, class Operands>
  struct Select : Operands {
    HWY_INLINE Select(const Code& code, size_t offset) : Operands(code, offset) {}
    HWY_INLINE V operator()(V a, size_t k) const {
      return hn::IfThenElse(compare<kCompare>(a, this->x(k)), this->y(k), this->z(k));
    }
  };
  template <class Operands>
  struct Within : Operands {
    HWY_INLINE Within(const Code& code, size_t offset) : Operands(code, offset) {}
    HWY_INLINE V operator()(V a, size_t k) const {
      const V limit = this->x(k);
      const auto above = compare<TileOp::Greater>(a, limit);
      const auto below = compare<TileOp::LessEqual>(a, this->y(k));
      return hn::IfThenElse(hn::And(above, below), this->z(k), limit);
    }
  };

  template <template <Kind> class Op>
  static Operation by_kind(Kind kind) {
    return kind == Kind::Array   ? each<Op<Kind::Array>>
           : kind == Kind::Local ? each<Op<Kind::Local>>
                                 : each<Op<Kind::Scalar>>;
  }
  template <TileOp kOp, bool kReversed = false>
  static Operation with(Kind kind) {
    return kind == Kind::Array   ? each<With<Kind::Array, kOp, kReversed>>
           : kind == Kind::Local ? each<With<Kind::Local, kOp, kReversed>>
                                 : each<With<Kind::Scalar, kOp, kReversed>>;
  }
  template <TileOp kOp>
  static Operation load_pair(Kind kind) {
    return kind == Kind::Array   ? each<LoadPair<Kind::Array, kOp>>
           : kind == Kind::Local ? each<LoadPair<Kind::Local, kOp>>
                                 : each<LoadPair<Kind::Scalar, kOp>>;
  }
  template <TileOp kOp, bool kReversed = false>
  static Operation with_product(Kind kind) {
    return kind == Kind::Array   ? each<WithProduct<Kind::Array, kOp, kReversed>>
           : kind == Kind::Local ? each<WithProduct<Kind::Local, kOp, kReversed>>
                                 : each<WithProduct<Kind::Scalar, kOp, kReversed>>;
  }
  // `make` is called with the type of the operands.
  template <bool... kScalars, class Make>
  static Operation by_scalars(const ChainStep& step, Make make) {
    constexpr size_t kKnown = sizeof...(kScalars);
    if constexpr (kKnown == 3) {
      return make(std::type_identity<XYZ<kScalars...>>());
    } else {
      return step.kinds[kKnown] == Kind::Scalar ? by_scalars<kScalars..., true>(step, make)
                                                : by_scalars<kScalars..., false>(step, make);
    }
  }
  template <TileOp kCompare>
  static Operation select(const ChainStep& step) {
    return by_scalars(step, []<class Operands>(std::type_identity<Operands>) -> Operation {
      return each<Select<kCompare, Operands>>;
    });
  }
  static Operation within(const ChainStep& step) {
    return by_scalars(step, []<class Operands>(std::type_identity<Operands>) -> Operation {
      return each<Within<Operands>>;
    });
  }
};

template <class T>
TileFn prepare(Chain& chain) {
  for (ChainStep& step : chain.steps) {
    step.run = reinterpret_cast<void (*)()>(Machine<T>::find(step));
  }
  return Machine<T>::run;
}

TileFn prepare_any(Chain& chain, bool is_double) {
  return is_double ? prepare<double>(chain) : prepare<float>(chain);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(prepare_any);

bool has_chains(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

TileFn prepare_chain(Chain& chain, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(prepare_any)(chain, dtype == DType::Float64);
}

}  // namespace cornu::cpu
#endif
