// SPDX-License-Identifier: Apache-2.0
// The measured transformer networks, the same as in steps/transformers.cc.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace transformers {

constexpr int64_t kVocabulary = 65;

// The front end's own block, which takes (time, batch, features), followed by the mean over time.
struct BlockImpl : torch::nn::Module {
  BlockImpl()
      : block_(register_module(
            "block",
            torch::nn::TransformerEncoderLayer(
                torch::nn::TransformerEncoderLayerOptions(512, 8).dim_feedforward(2048).dropout(
                    0.0)))) {}
  torch::Tensor forward(const torch::Tensor& x) { return block_(x.transpose(0, 1)).mean(0); }
  torch::nn::TransformerEncoderLayer block_;
};
TORCH_MODULE(Block);

struct DecoderImpl : torch::nn::Module {
  DecoderImpl()
      : before_(register_module("before", norm())),
        between_(register_module("between", norm())),
        heads_(register_module("heads", torch::nn::Linear(384, 3 * 384))),
        joined_(register_module("joined", torch::nn::Linear(384, 384))),
        feed_forward_(register_module(
            "feed_forward", torch::nn::Sequential(torch::nn::Linear(384, 1536), torch::nn::GELU(),
                                                  torch::nn::Linear(1536, 384)))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const int64_t batch = x.size(0), length = x.size(1);
    const auto parts =
        heads_(before_(x)).view({batch, length, 3, 6, 64}).permute({2, 0, 3, 1, 4}).unbind(0);
    const auto y =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    const auto attended = x + joined_(y.transpose(1, 2).reshape({batch, length, 384}));
    return attended + feed_forward_->forward(between_(attended));
  }

  static torch::nn::LayerNorm norm() {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({384}));
  }
  torch::nn::LayerNorm before_, between_;
  torch::nn::Linear heads_, joined_;
  torch::nn::Sequential feed_forward_;
};
TORCH_MODULE(Decoder);

struct GptImpl : torch::nn::Module {
  GptImpl()
      : tokens_(register_module("tokens", torch::nn::Embedding(kVocabulary, 384))),
        positions_(register_parameter("positions", torch::rand({256, 384}) * 0.1 - 0.05)),
        last_(register_module("last", DecoderImpl::norm())),
        logits_(register_module(
            "logits", torch::nn::Linear(torch::nn::LinearOptions(384, kVocabulary).bias(false)))) {
    for (int i = 0; i < 6; ++i) blocks_->push_back(Decoder());
    register_module("blocks", blocks_);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return logits_(last_(blocks_->forward(tokens_(x) + positions_)));
  }
  torch::nn::Embedding tokens_;
  torch::Tensor positions_;
  torch::nn::Sequential blocks_;
  torch::nn::LayerNorm last_;
  torch::nn::Linear logits_;
};
TORCH_MODULE(Gpt);

}  // namespace transformers
