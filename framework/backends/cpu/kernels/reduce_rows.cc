// SPDX-License-Identifier: Apache-2.0
// all_reduce_rows: sums over replicas of tables that are zero except for some rows.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "framework/backends/cpu/kernels/reduce_rows.h"

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/shape/distinct.h"
#include "framework/backends/cpu/kernels/shape/index.h"

namespace cornu::cpu {
namespace {

// How many times as much a byte of a row costs as one of a table, at least: it is gathered from
// every rank, located by its number and added.
constexpr int64_t kGatherOverhead = 2;

// Ranks exchange how many rows they have. These counts decide, identically on all ranks, whether a
// table's rows are gathered by every rank and added up in the order of ranks, or the tables
// themselves are reduced.
class AllReduceRows : public Kernel {
 public:
  explicit AllReduceRows(const KernelSpec& spec) {
    const auto& shapes = spec.attributes.get_ints("shapes");
    const auto& operands = spec.attributes.get_ints("operands");
    const auto& whole = spec.attributes.get_ints("whole");
    size_t operand = 0;
    size_t result = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      Table table = {.rows = shapes[2 * i],
                     .width = shapes[2 * i + 1],
                     .own = static_cast<Own>(operands[i]),
                     .operand = operand,
                     .whole = whole[i] != 0,
                     .result = result};
      if (table.own == Own::Rows) table.most = spec.inputs[operand].shape[0];
      operand += static_cast<size_t>(operands[i]);
      result += table.whole ? 1 : 2;
      tables_.push_back(table);
    }
  }

  void run(const KernelArgs& args) override {
    exchange_counts(args);
    gather_rows(args);
    others_.clear();
    for (size_t i = 0; i < tables_.size(); ++i) {
      const Table& table = tables_[i];
      if (table.is_gathered) {
        table.whole ? add_up(args, i) : add_up_rows(args, i);
      } else {
        others_.push_back(spread(args, table));
      }
    }
    if (!others_.empty() && args.group) {
      args.group->all_reduce(others_, DType::Float32, ReduceOp::Sum);
    }
  }

 private:
  enum class Own : uint8_t { Nothing, Whole, Rows };  // by the number of operands

  // The rows of a table that a rank has.
  struct Part {
    const int64_t* numbers = nullptr;
    const float* values = nullptr;
    int64_t count = 0;
  };
  struct Table {
    int64_t rows = 0;
    int64_t width = 0;
    Own own = Own::Nothing;
    size_t operand = 0;
    bool whole = false;
    size_t result = 0;
    int64_t most = 0;  // rows that this rank may have
    Part own_rows = {};
    bool is_gathered = false;
  };

  size_t ranks() const { return counts_.size() / tables_.size(); }
  int64_t count(size_t rank, size_t table) const { return counts_[rank * tables_.size() + table]; }

  static void gather(const KernelArgs& args, const void* own, void* all, size_t bytes) {
    if (bytes == 0) return;
    if (args.group) return args.group->all_gather(own, all, bytes);
    std::memcpy(all, own, bytes);
  }

  // A rank with a table of its own has all rows.
  void exchange_counts(const KernelArgs& args) {
    own_counts_.clear();
    for (Table& table : tables_) {
      if (table.own == Own::Rows) {
        const auto* const numbers = static_cast<const int64_t*>(args.in[table.operand]);
        table.own_rows = {numbers, static_cast<const float*>(args.in[table.operand + 1]),
                          count_rows(numbers, table.most)};
      }
      own_counts_.push_back(table.own == Own::Whole ? table.rows : table.own_rows.count);
    }
    counts_.resize(tables_.size() * static_cast<size_t>(args.group ? args.group->size() : 1));
    gather(args, own_counts_.data(), counts_.data(), tables_.size() * sizeof(int64_t));
    for (size_t i = 0; i < tables_.size(); ++i) {
      Table& table = tables_[i];
      int64_t most = 0;
      for (size_t rank = 0; rank < ranks(); ++rank) most = std::max(most, count(rank, i));
      const int64_t row = table.width * static_cast<int64_t>(sizeof(float));
      const int64_t gathered =
          static_cast<int64_t>(ranks()) * most * (row + static_cast<int64_t>(sizeof(int64_t)));
      table.is_gathered = kGatherOverhead * gathered <= table.rows * row;
    }
  }

  // Gathers a rank's rows of all tables: the numbers of all of them, then the values.
  void gather_rows(const KernelArgs& args) {
    bytes_per_rank_ = 0;
    for (size_t rank = 0; rank < ranks(); ++rank) {
      size_t bytes = 0;
      for (size_t i = 0; i < tables_.size(); ++i) {
        bytes += numbers_bytes(rank, i) + values_bytes(rank, i);
      }
      bytes_per_rank_ = std::max(bytes_per_rank_, (bytes + 63) / 64 * 64);
    }
    own_.resize(bytes_per_rank_);
    gathered_.resize(bytes_per_rank_ * ranks());
    std::byte* to = own_.data();
    const auto append = [&](const auto* from, int64_t count) {
      if (count == 0) return;
      const size_t bytes = static_cast<size_t>(count) * sizeof(*from);
      std::memcpy(to, from, bytes);
      to += bytes;
    };
    for (const Table& table : tables_) {
      if (table.is_gathered) append(table.own_rows.numbers, table.own_rows.count);
    }
    for (const Table& table : tables_) {
      if (table.is_gathered) append(table.own_rows.values, table.own_rows.count * table.width);
    }
    gather(args, own_.data(), gathered_.data(), bytes_per_rank_);
  }

  size_t numbers_bytes(size_t rank, size_t i) const {
    return tables_[i].is_gathered ? static_cast<size_t>(count(rank, i)) * sizeof(int64_t) : 0;
  }
  size_t values_bytes(size_t rank, size_t i) const {
    if (!tables_[i].is_gathered) return 0;
    return static_cast<size_t>(count(rank, i) * tables_[i].width) * sizeof(float);
  }

  Part part(size_t rank, size_t table) const {
    const std::byte* numbers = gathered_.data() + rank * bytes_per_rank_;
    const std::byte* values = numbers;
    for (size_t i = 0; i < tables_.size(); ++i) {
      values += numbers_bytes(rank, i);
      if (i < table) numbers += numbers_bytes(rank, i);
      if (i < table) values += values_bytes(rank, i);
    }
    return {reinterpret_cast<const int64_t*>(numbers), reinterpret_cast<const float*>(values),
            count(rank, table)};
  }

  static int64_t grain(const Table& table) {
    const int64_t row = table.width * static_cast<int64_t>(sizeof(float));
    return std::max<int64_t>(1, kGatherGrainBytes / std::max<int64_t>(1, row));
  }

  static void fill_rows(const Table& table, float* values, int64_t rows) {
    parallel_for(rows, grain(table), [&](int64_t begin, int64_t end) {
      std::fill(values + begin * table.width, values + end * table.width, 0.0F);
    });
  }

  // Adds a rank's rows to those at these places, all of which are different.
  static void add_rows(const Table& table, const Part& part, const int64_t* places, float* to) {
    parallel_for(part.count, grain(table), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        add_row(part.values + i * table.width, to + places[i] * table.width, table.width);
      }
    });
  }

  void add_up(const KernelArgs& args, size_t i) const {
    const Table& table = tables_[i];
    auto* const sums = static_cast<float*>(args.out[table.result]);
    fill_rows(table, sums, table.rows);
    for (size_t rank = 0; rank < ranks(); ++rank) {
      const Part rows = part(rank, i);
      add_rows(table, rows, rows.numbers, sums);
    }
  }

  void add_up_rows(const KernelArgs& args, size_t i) {
    const Table& table = tables_[i];
    auto* const numbers = static_cast<int64_t*>(args.out[table.result]);
    auto* const sums = static_cast<float*>(args.out[table.result + 1]);
    places_.clear();
    for (size_t rank = 0; rank < ranks(); ++rank) {
      const Part rows = part(rank, i);
      places_.insert(places_.end(), rows.numbers, rows.numbers + rows.count);
    }
    const DistinctIndices distinct(static_cast<int64_t>(places_.size()));
    hashed_.resize(distinct.bytes() / sizeof(int64_t));
    const int64_t found = distinct.number(places_.data(), 0, table.rows, numbers, hashed_.data());
    if (found < table.rows) numbers[found] = -1;
    fill_rows(table, sums, found);
    const int64_t* places = places_.data();
    for (size_t rank = 0; rank < ranks(); ++rank) {
      const Part rows = part(rank, i);
      add_rows(table, rows, places, sums);
      places += rows.count;
    }
  }

  // A table that is reduced whole.
  static Segment spread(const KernelArgs& args, const Table& table) {
    const size_t result = table.whole ? table.result : table.result + 1;
    auto* const sums = static_cast<float*>(args.out[result]);
    Segment segment = {.in = sums, .out = sums, .count = table.rows * table.width};
    if (!table.whole) {
      auto* const numbers = static_cast<int64_t*>(args.out[table.result]);
      std::iota(numbers, numbers + table.rows, int64_t{0});
    }
    if (table.own == Own::Whole) {
      segment.in = args.in[table.operand];
      if (!args.group) {
        std::memcpy(sums, segment.in, static_cast<size_t>(segment.count) * sizeof(float));
      }
      return segment;
    }
    fill_rows(table, sums, table.rows);
    add_rows(table, table.own_rows, table.own_rows.numbers, sums);
    return segment;
  }

  std::vector<Table> tables_;
  // Of the current run; they grow with the ranks' data.
  std::vector<int64_t> own_counts_;
  std::vector<int64_t> counts_;  // by rank and table
  size_t bytes_per_rank_ = 0;
  std::vector<std::byte> own_;
  std::vector<std::byte> gathered_;  // by rank
  std::vector<int64_t> places_;      // of all ranks' rows among those that differ
  std::vector<int64_t> hashed_;
  std::vector<Segment> others_;
};

// An all_reduce of sparse tensors in a graph that no pass has processed.
class SparseAllReduce : public Kernel {
 public:
  explicit SparseAllReduce(const KernelSpec& spec) {
    std::vector<TensorType> types[2];
    std::vector<int64_t> shapes;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      const TensorType& type = spec.inputs[i];
      const bool is_table = is_exchanged_by_rows(type);
      types[is_table].push_back(type);
      (is_table ? tables_ : others_).places.push_back(i);
      if (!is_table) continue;
      shapes.insert(shapes.end(), {type.shape[0], type.shape.num_elements() / type.shape[0]});
    }
    if (!types[false].empty()) {
      const Attributes attributes = {{"reduce", spec.attributes.get_string("reduce")}};
      others_.kernel = kernel_table().make({spec.op, attributes, types[false], types[false]});
    }
    if (!types[true].empty()) {
      const std::vector<int64_t> ones(types[true].size(), 1);
      const Attributes attributes = {{"operands", ones}, {"shapes", shapes}, {"whole", ones}};
      tables_.kernel = std::make_unique<AllReduceRows>(
          KernelSpec{spec.op, attributes, types[true], types[true]});
    }
  }

  void run(const KernelArgs& args) override {
    others_.run(args);
    tables_.run(args);
  }

 private:
  struct Part {
    void run(const KernelArgs& args) {
      if (!kernel) return;
      in.clear();
      out.clear();
      for (const size_t place : places) {
        in.push_back(args.in[place]);
        out.push_back(args.out[place]);
      }
      kernel->run({.in = in.data(), .out = out.data(), .scratch = nullptr, .group = args.group});
    }

    std::unique_ptr<Kernel> kernel;
    std::vector<size_t> places;  // among the operands
    std::vector<const void*> in;
    std::vector<void*> out;
  };

  Part others_;
  Part tables_;
};

std::unique_ptr<Kernel> make_sparse_all_reduce(const KernelSpec& spec) {
  return spec.attributes.find("sparse") ? std::make_unique<SparseAllReduce>(spec) : nullptr;
}

}  // namespace

void register_reduce_rows_kernels(KernelTable& table) {
  table.add("all_reduce", make_sparse_all_reduce);
  table.add("all_reduce_rows",
            [](const KernelSpec& spec) { return std::make_unique<AllReduceRows>(spec); });
}

}  // namespace cornu::cpu
