// SPDX-License-Identifier: Apache-2.0
// The interface of CPU kernels, and the table of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/graph/communicator.h"
#include "framework/graph/kernel_spec.h"
#include "framework/graph/op.h"

namespace cornu::cpu {

// The arguments of one run of a kernel. All arrays are row-major and contiguous.
struct KernelArgs {
  const void* const* in = nullptr;
  void* const* out = nullptr;
  void* scratch = nullptr;           // Kernel::scratch_bytes() bytes, aligned to 64
  CollectiveGroup* group = nullptr;  // null: a group of one
};

// Indices (input, output) that may share memory: the kernel reads an element of that input before
// it writes the same element of that output, and doesn't read it again.
using Aliases = std::vector<std::pair<int, int>>;

// A prepared kernel: all work that depends on shapes, dtypes and attributes only was done at
// construction. `run` may be called often, but never concurrently with itself; it uses the compute
// threads of the calling thread, allocates nothing, and may throw from that thread (not from within
// parallel_for).
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  virtual size_t scratch_bytes() const { return 0; }

  const Aliases& may_alias() const { return may_alias_; }
  void set_may_alias(Aliases pairs) { may_alias_ = std::move(pairs); }

 private:
  Aliases may_alias_;
};

// Makes a kernel; returns null if it doesn't support the spec (then the next factory is tried).
using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelSpec&)>;

struct KernelEntry {
  KernelFactory make;
  Aliases may_alias;
};

// Kernels by op. For one op, entries are tried in the order they were added.
class KernelTable {
 public:
  // `may_alias` applies to kernels from `make` that don't set their own.
  void add(std::string_view op, KernelFactory make, Aliases may_alias = {});
  // Throws Unimplemented, naming the op and dtypes, when no entry supports the spec.
  std::unique_ptr<Kernel> make(const KernelSpec& spec) const;
  // Like make, but returns null when no entry supports the spec.
  std::unique_ptr<Kernel> try_make(const KernelSpec& spec) const;

 private:
  std::unordered_map<std::string, std::vector<KernelEntry>> entries_;
};

// The table of this build: filled on first use by the register_* functions below.
const KernelTable& kernel_table();

// One function for each file of kernels/.
void register_elementwise_kernels(KernelTable& table);  // elementwise ops, cast, select, "fused"
void register_reduction_kernels(KernelTable& table);    // sum, max, …, argmax, argmin
void register_softmax_kernels(KernelTable& table);      // softmax, log_softmax, cross-entropies
void register_matmul_kernels(KernelTable& table);
void register_attention_kernels(KernelTable& table);
void register_conv_kernels(KernelTable& table);
void register_pooling_kernels(KernelTable& table);
void register_recurrent_kernels(KernelTable& table);  // lstm, gru
void register_fft_kernels(KernelTable& table);        // fft, rfft
void register_shape_kernels(KernelTable& table);      // reshape, transpose, concat, slice, pad, …
void register_index_kernels(KernelTable& table);      // gather, scatter_add, one_hot, iota
void register_row_kernels(KernelTable& table);        // sum_rows, put_rows
void register_segment_kernels(KernelTable& table);    // segment_reduce
void register_factorization_kernels(KernelTable& table);  // lu, cholesky, qr, triangular_solve
void register_spectral_kernels(KernelTable& table);       // eigh, svd
void register_random_kernels(KernelTable& table);
void register_distribution_kernels(KernelTable& table);  // random_gamma, random_binomial
void register_reduce_rows_kernels(KernelTable& table);   // all_reduce_rows, sparse all_reduce
void register_collective_kernels(KernelTable& table);
void register_control_kernels(KernelTable& table);  // cond, scan, while, update_rows

// A kernel from a callable, for kernels too simple for a class.
template <class F>
std::unique_ptr<Kernel> make_kernel(F run, size_t scratch_bytes = 0) {
  class Wrapped : public Kernel {
   public:
    Wrapped(F run, size_t bytes) : run_(std::move(run)), bytes_(bytes) {}
    void run(const KernelArgs& args) override { run_(args); }
    size_t scratch_bytes() const override { return bytes_; }

   private:
    F run_;
    size_t bytes_;
  };
  return std::make_unique<Wrapped>(std::move(run), scratch_bytes);
}

}  // namespace cornu::cpu
