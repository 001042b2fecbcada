# SPDX-License-Identifier: Apache-2.0
"""The measured attention networks, as in steps/transformers.cc."""
import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 65


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


def encoder(blocks):
    layers = [nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
              for _ in range(blocks)]
    return nn.Sequential(*layers, Mean(), nn.Linear(512, 10))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(384), nn.LayerNorm(384)
        self.heads, self.joined = nn.Linear(384, 3 * 384), nn.Linear(384, 384)
        self.feed_forward = nn.Sequential(nn.Linear(384, 1536), nn.GELU(), nn.Linear(1536, 384))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.heads(self.before(x)).view(batch, length, 3, 6, 64).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.joined(y.transpose(1, 2).reshape(batch, length, 384))
        return x + self.feed_forward(self.between(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, 384)
        self.positions = nn.Parameter(torch.rand(256, 384) * 0.1 - 0.05)
        self.blocks = nn.Sequential(*[Block() for _ in range(6)])
        self.last = nn.Sequential(nn.LayerNorm(384), nn.Linear(384, VOCABULARY, bias=False))

    def forward(self, x):
        return self.last(self.blocks(self.tokens(x) + self.positions))
