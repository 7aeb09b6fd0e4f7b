"""PyTorch attention layer whose products q k^T and p v follow a training recipe."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from fp9_ml.recipes import Recipe
from fp9_ml.torch.layers import ByRecipe


class MultiheadAttention(ByRecipe, nn.MultiheadAttention):
    """torch.nn.MultiheadAttention whose products q k^T and p v follow a training recipe.

    The backward passes of the products q k^T and p v also follow the recipe. The queries q and the attention weights p
    are cast to the recipe's format for activations. The keys k and the values v are cast to the recipe's format for
    weights. Each of the tensors q, k, p and v has its own scale factor. The queries are divided by the square root of
    the head width before the cast. PyTorch computes the input and output projections.

    Raises ValueError if keys or values have another width than the queries, or if `add_bias_kv` or `add_zero_attn` is
    true.
    """

    def __init__(self, embed_dim: int, num_heads: int, *arguments: Any, recipe: Recipe | str, **options: Any) -> None:
        super().__init__(embed_dim, num_heads, *arguments, **options)
        if not self._qkv_same_embed_dim or self.bias_k is not None or self.add_zero_attn:
            raise ValueError(
                "attention with kdim, vdim, add_bias_kv or add_zero_attn given; fp9 supports attention of one width, "
                "without these options"
            )
        self._begin(recipe, 2)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: torch.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the attention output. If `need_weights` is true, also return the attention weights."""
        if is_causal and attn_mask is None:
            raise ValueError("is_causal given without attn_mask; give the mask, as torch asks")
        batched = query.dim() == 3
        tensors = [t if batched else t[:, None] for t in (query, key, value)]
        if batched and self.batch_first:
            tensors = [t.transpose(0, 1) for t in tensors]
        weights = self.in_proj_weight.chunk(3)
        biases: list[torch.Tensor | None] = [None] * 3
        if self.in_proj_bias is not None:
            biases = list(self.in_proj_bias.chunk(3))
        q, k, v = (self._heads(functional.linear(t, w, b)) for t, w, b in zip(tensors, weights, biases, strict=True))
        scores = self._product(q / math.sqrt(self.head_dim), k)
        shares = torch.softmax(self._masked(scores, attn_mask, key_padding_mask), -1)
        shares = functional.dropout(shares, self.dropout, self.training)
        mixed = self._product(shares, v.transpose(-1, -2), 1)
        y = self.out_proj(mixed.permute(2, 0, 1, 3).flatten(2))
        y = y.transpose(0, 1) if batched and self.batch_first else y
        seen = (shares.mean(1) if average_attn_weights else shares) if need_weights else None
        return (y, seen) if batched else (y[:, 0], None if seen is None else seen[0])

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        heads: torch.Tensor = x.unflatten(-1, (self.num_heads, self.head_dim))
        return heads.permute(1, 2, 0, 3)

    def _masked(self, scores: torch.Tensor, mask: torch.Tensor | None, padding: torch.Tensor | None) -> torch.Tensor:
        if mask is not None and mask.dim() == 3:
            mask = mask.unflatten(0, (-1, self.num_heads))
        if padding is not None:
            padding = padding.reshape(-1, 1, 1, padding.shape[-1])
        for hidden in (mask, padding):
            if hidden is not None:
                scores = scores.masked_fill(hidden, -math.inf) if hidden.dtype == torch.bool else scores + hidden
        return scores

    def extra_repr(self) -> str:
        return f"recipe={self.recipe.name}"
