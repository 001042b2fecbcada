// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/schedule.h"

#include <algorithm>
#include <span>

namespace cornu::cpu {
namespace {

using Instructions = std::span<const TileInstruction* const>;

struct ChainForm {
  TileOp op;
  ChainOp forward;
  ChainOp reversed;  // with the second operand in the accumulator
};

constexpr ChainForm kChainForms[] = {
    {TileOp::Add, ChainOp::Add, ChainOp::Add},
    {TileOp::Subtract, ChainOp::Subtract, ChainOp::SubtractFrom},
    {TileOp::Multiply, ChainOp::Multiply, ChainOp::Multiply},
    {TileOp::Divide, ChainOp::Divide, ChainOp::DivideInto},
    {TileOp::Maximum, ChainOp::Maximum, ChainOp::ReversedMaximum},
    {TileOp::Minimum, ChainOp::Minimum, ChainOp::ReversedMinimum},
    {TileOp::Relu, ChainOp::Relu, ChainOp::Relu},
    {TileOp::Negate, ChainOp::Negate, ChainOp::Negate},
    {TileOp::Abs, ChainOp::Abs, ChainOp::Abs},
    {TileOp::Sqrt, ChainOp::Sqrt, ChainOp::Sqrt},
    {TileOp::Square, ChainOp::Square, ChainOp::Square},
    {TileOp::Rsqrt, ChainOp::Rsqrt, ChainOp::Rsqrt},
    {TileOp::Reciprocal, ChainOp::Reciprocal, ChainOp::Reciprocal},
};

struct SelectForm {
  TileOp compare;
  ChainOp forward;
  ChainOp reversed;  // compare(b, a)
};

constexpr SelectForm kSelectForms[] = {
    {TileOp::Equal, ChainOp::SelectEqual, ChainOp::SelectEqual},
    {TileOp::NotEqual, ChainOp::SelectNotEqual, ChainOp::SelectNotEqual},
    {TileOp::Less, ChainOp::SelectLess, ChainOp::SelectGreater},
    {TileOp::LessEqual, ChainOp::SelectLessEqual, ChainOp::SelectGreaterEqual},
    {TileOp::Greater, ChainOp::SelectGreater, ChainOp::SelectLess},
    {TileOp::GreaterEqual, ChainOp::SelectGreaterEqual, ChainOp::SelectLessEqual},
};

const ChainForm* chain_form(const TileInstruction& instruction) {
  const auto* found =
      std::find_if(std::begin(kChainForms), std::end(kChainForms),
                   [&](const ChainForm& form) { return form.op == instruction.op; });
  return found == std::end(kChainForms) ? nullptr : found;
}

bool fits_chains(const TileInstruction& instruction) {
  return has_chains(instruction.operand_dtype) && (instruction.compare || chain_form(instruction));
}

// Turns consecutive instructions into one chain.
class ChainBuilder {
 public:
  ChainBuilder(const TileCode& code, Instructions run, std::span<const int> uses)
      : code_(code), run_(run), uses_(uses), producers_(code.values.size(), -1) {
    for (size_t i = 0; i < run.size(); ++i) producers_[size_t(run[i]->out)] = static_cast<int>(i);
    join_products();
    for (size_t i = 0; i < run_.size(); ++i) {
      if (!joined_[i]) order_.push_back(i);
    }
  }

  // Instructions in the order of their operations, each with the values that it reads.
  struct Operation {
    int out;
    std::vector<int> in;
  };

  // Null when the chain needs too many operands or locals.
  std::shared_ptr<Chain> build(TileStep& step, std::vector<Operation>& operations) {
    for (size_t i = 0; i < order_.size(); ++i) emit(i, operations);
    return number(step);
  }

 private:
  // A step whose operands are values; -1: none.
  struct Draft {
    ChainOp op;
    int in[3];
  };

  // Fuses a product into the sum or quotient that is its only reader, if its factors are in memory
  // anyway.
  void join_products() {
    joined_.assign(run_.size(), false);
    product_.assign(run_.size(), -1);
    for (size_t i = 0; i < run_.size(); ++i) {
      const TileInstruction& user = *run_[i];
      const bool sum = user.op == TileOp::Add || user.op == TileOp::Subtract;
      const int candidates = sum ? 2 : user.op == TileOp::Divide ? 1 : 0;
      for (int k = 0; k < candidates && product_[i] < 0; ++k) {
        const int producer = producers_[size_t(user.in[size_t(k)])];
        if (producer < 0 || uses_[size_t(user.in[size_t(k)])] != 1) continue;
        if (user.in[0] == user.in[1] || !may_join(*run_[size_t(producer)])) continue;
        joined_[size_t(producer)] = true;
        product_[i] = k;
      }
    }
  }

  bool may_join(const TileInstruction& product) const {
    if (product.op != TileOp::Multiply && product.op != TileOp::Square) return false;
    const auto in_memory = [&](int factor) {
      return producers_[size_t(factor)] < 0 || code_.is_output(factor);
    };
    const auto scalar = [&](int factor) { return is_scalar(factor); };
    return std::all_of(product.in.begin(), product.in.end(), in_memory) &&
           !std::all_of(product.in.begin(), product.in.end(), scalar);
  }

  const TileInstruction& instruction(size_t position) const { return *run_[order_[position]]; }

  // The operand that the operation at `position` can take from the accumulator if that holds
  // `value`; -1 if none.
  int accumulated(size_t position, int value) const {
    const TileInstruction& user = instruction(position);
    const int product = product_[order_[position]];
    if (product >= 0) return user.in[size_t(1 - product)] == value ? 1 - product : -1;
    const size_t candidates = user.within ? 1 : std::min<size_t>(2, user.in.size());
    for (size_t k = 0; k < candidates; ++k) {
      if (user.in[k] == value) return static_cast<int>(k);
    }
    return -1;
  }

  std::vector<int> values_read(size_t position) const {
    const TileInstruction& user = instruction(position);
    std::vector<int> values = user.in;
    if (const int product = product_[order_[position]]; product >= 0) {
      const auto& factors = run_[size_t(producers_[size_t(user.in[size_t(product)])])]->in;
      values.erase(values.begin() + product);
      values.insert(values.end(), factors.begin(), factors.end());
    }
    return values;
  }

  // Whether anything but the next operation's accumulator reads the value of `position`.
  bool must_store(size_t position) const {
    const int value = instruction(position).out;
    if (code_.is_output(value) || position + 1 == order_.size()) return true;
    return uses_[size_t(value)] != 1 || accumulated(position + 1, value) < 0;
  }

  void emit(size_t position, std::vector<Operation>& operations) {
    const TileInstruction& user = instruction(position);
    const int product = product_[order_[position]];
    int k = accumulated(position, current_);
    if (k >= 0 || !load_pair(user, product)) {
      if (k < 0) {
        k = product >= 0 ? 1 - product : 0;
        drafts_.push_back({ChainOp::Load, {user.in[size_t(k)], -1, -1}});
      }
      drafts_.push_back(product >= 0 ? with_product(user, product) : with_operands(user, k));
    }
    if (must_store(position)) drafts_.push_back({ChainOp::Store, {user.out, -1, -1}});
    current_ = user.out;
    operations.push_back({user.out, values_read(position)});
  }

  // Starts with a sum, difference or product of two operands; false for other operations.
  bool load_pair(const TileInstruction& user, int product) {
    if (product >= 0 || user.in.size() > 2) return false;
    const int x = user.in.front();
    const int y = user.in.back();
    if (user.op == TileOp::Subtract) {
      if (is_scalar(y)) return false;
      drafts_.push_back({ChainOp::LoadDifference, {x, y, -1}});
      return true;
    }
    if (is_scalar(x) && is_scalar(y)) return false;
    const bool swap = is_scalar(y);
    if (user.op == TileOp::Add) {
      drafts_.push_back({ChainOp::LoadSum, {swap ? y : x, swap ? x : y, -1}});
    } else if (user.op == TileOp::Multiply || user.op == TileOp::Square) {
      drafts_.push_back({ChainOp::LoadProduct, {swap ? y : x, swap ? x : y, -1}});
    } else {
      return false;
    }
    return true;
  }

  Draft with_product(const TileInstruction& user, int product) const {
    const auto& factors = run_[size_t(producers_[size_t(user.in[size_t(product)])])]->in;
    const bool swap = is_scalar(factors.back());
    const ChainOp op = user.op == TileOp::Add      ? ChainOp::AddProduct
                       : user.op == TileOp::Divide ? ChainOp::ProductOver
                       : product == 1              ? ChainOp::SubtractProduct
                                                   : ChainOp::ProductMinus;
    return {op,
            {swap ? factors.back() : factors.front(), swap ? factors.front() : factors.back(), -1}};
  }

  // With operand `k` in the accumulator.
  Draft with_operands(const TileInstruction& user, int k) const {
    if (user.in.size() == 1) return {chain_form(user)->forward, {-1, -1, -1}};
    if (user.within) return {ChainOp::SelectWithin, {user.in[1], user.in[2], user.in[3]}};
    const int other = user.in[size_t(1 - k)];
    if (user.compare) {
      const auto* form =
          std::find_if(std::begin(kSelectForms), std::end(kSelectForms),
                       [&](const SelectForm& entry) { return entry.compare == user.compare; });
      return {k == 0 ? form->forward : form->reversed, {other, user.in[2], user.in[3]}};
    }
    if (user.op == TileOp::Multiply && user.in[0] == user.in[1]) {
      return {ChainOp::Square, {-1, -1, -1}};
    }
    const ChainForm& form = *chain_form(user);
    return {k == 0 ? form.forward : form.reversed, {other, -1, -1}};
  }

  // Whether the value is read outside of this chain.
  bool leaves(int value) const {
    int inside = 0;
    for (const TileInstruction* user : run_) {
      inside += static_cast<int>(std::count(user->in.begin(), user->in.end(), value));
    }
    return inside < uses_[size_t(value)];
  }

  bool is_scalar(int value) const {
    const TileStage stage = code_.values[size_t(value)].stage;
    return stage == TileStage::Run || stage == TileStage::Row;
  }

  // Numbers inputs, then outputs, then locals, which are reused.
  std::shared_ptr<Chain> number(TileStep& step) {
    std::vector<int> last(code_.values.size(), -1);
    for (size_t i = 0; i < drafts_.size(); ++i) {
      for (const int value : drafts_[i].in) {
        if (value < 0) continue;
        if (last[size_t(value)] < 0) {
          if (producers_[size_t(value)] < 0) {
            step.in.push_back(value);
          } else if (leaves(value)) {
            step.out.push_back(value);
          }
        }
        last[size_t(value)] = static_cast<int>(i);
      }
    }
    const size_t operands = step.in.size() + step.out.size();
    if (operands > kMaxChainOperands || drafts_.size() > kMaxChainSteps) return nullptr;

    std::vector<int> numbers(code_.values.size(), -1);
    int next = 0;
    for (const int value : step.in) numbers[size_t(value)] = next++;
    for (const int value : step.out) numbers[size_t(value)] = next++;
    auto chain = std::make_shared<Chain>();
    chain->outputs = static_cast<int>(step.out.size());
    std::vector<int> free;
    for (size_t i = 0; i < drafts_.size(); ++i) {
      ChainStep step_of_chain{.op = drafts_[i].op};
      for (size_t k = 0; k < 3; ++k) {
        const int value = drafts_[i].in[k];
        if (value < 0) continue;
        int& place = numbers[size_t(value)];
        if (place < 0) {
          if (free.empty()) free.push_back(static_cast<int>(operands) + chain->locals++);
          place = free.back();
          free.pop_back();
        }
        const bool local = place >= static_cast<int>(operands);
        step_of_chain.in[k] = static_cast<uint8_t>(place);
        step_of_chain.kinds[k] = is_scalar(value) ? ChainOperand::Scalar
                                 : local          ? ChainOperand::Local
                                                  : ChainOperand::Array;
        if (local && last[size_t(value)] == static_cast<int>(i)) {
          free.push_back(place);
          last[size_t(value)] = -1;
        }
      }
      chain->steps.push_back(step_of_chain);
    }
    return chain->locals > kMaxChainLocals ? nullptr : chain;
  }

  const TileCode& code_;
  Instructions run_;
  std::span<const int> uses_;
  std::vector<int> producers_;  // by value: the index in run_ of its instruction, or -1
  std::vector<bool> joined_;    // by index in run_: fused into its reader
  std::vector<int> product_;    // by index in run_: the operand that is a joined product, or -1
  std::vector<size_t> order_;   // indices in run_ of operations
  std::vector<Draft> drafts_;
  int current_ = -1;  // the value in the accumulator
};

class Scheduler {
 public:
  explicit Scheduler(const TileCode& code)
      : code_(code), producers_(code.values.size(), -1), uses_(code.values.size()) {
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      producers_[size_t(code.instructions[i].out)] = static_cast<int>(i);
      for (const int value : code.instructions[i].in) ++uses_[size_t(value)];
    }
    for (const int value : code.outputs) ++uses_[size_t(value)];
    result_.last_read.assign(code.values.size(), -1);
    result_.made.assign(code.values.size(), -1);
  }

  TileSchedule take() {
    std::vector<bool> visited(code_.instructions.size());
    for (const int value : code_.outputs) visit(value, visited);
    for (size_t begin = 0; begin < order_.size();) {
      size_t end = begin;
      while (end < order_.size() && joins(*order_[begin], *order_[end])) ++end;
      if (end > begin) {
        add_chain(Instructions(order_).subspan(begin, end - begin));
        begin = end;
      } else {
        add_single(*order_[begin++]);
      }
    }
    return std::move(result_);
  }

 private:
  // Depth first: operands come right before their reader.
  void visit(int value, std::vector<bool>& visited) {
    const int producer = producers_[size_t(value)];
    if (producer < 0 || visited[size_t(producer)]) return;
    visited[size_t(producer)] = true;
    const TileInstruction& instruction = code_.instructions[size_t(producer)];
    for (const int operand : instruction.in) visit(operand, visited);
    order_.push_back(&instruction);
  }

  TileStage stage(const TileInstruction& instruction) const {
    return code_.values[size_t(instruction.out)].stage;
  }

  bool joins(const TileInstruction& first, const TileInstruction& other) const {
    return stage(other) == TileStage::Tile && fits_chains(other) &&
           stage(first) == TileStage::Tile && first.operand_dtype == other.operand_dtype;
  }

  void add_single(const TileInstruction& instruction) {
    TileStep step;
    step.run = instruction.run;
    step.in = instruction.in;
    step.out = {instruction.out};
    step.stage = stage(instruction);
    step.cost = instruction.cost;
    if (step.stage == TileStage::Tile) record(instruction.out, instruction.in);
    result_.steps.push_back(std::move(step));
  }

  void add_chain(Instructions run) {
    if (run.size() == 1 && run[0]->run) return add_single(*run[0]);
    TileStep step;
    std::vector<ChainBuilder::Operation> operations;
    const auto chain = ChainBuilder(code_, run, uses_).build(step, operations);
    if (!chain) {
      add_chain(run.first(run.size() / 2));
      add_chain(run.subspan(run.size() / 2));
      return;
    }
    for (const auto& operation : operations) record(operation.out, operation.in);
    step.run = prepare_chain(*chain, run[0]->operand_dtype);
    step.chain = chain;
    for (const TileInstruction* instruction : run) step.cost += instruction->cost / 2;
    result_.steps.push_back(std::move(step));
  }

  void record(int out, const std::vector<int>& in) {
    for (const int value : in) result_.last_read[size_t(value)] = position_;
    result_.made[size_t(out)] = position_++;
  }

  const TileCode& code_;
  std::vector<int> producers_;  // by value: the index of its instruction, or -1
  std::vector<int> uses_;       // by value
  std::vector<const TileInstruction*> order_;
  TileSchedule result_;
  int position_ = 0;
};

}  // namespace

TileSchedule schedule(const TileCode& code) { return Scheduler(code).take(); }

}  // namespace cornu::cpu
