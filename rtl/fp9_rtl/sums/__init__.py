"""Datapath of one `fma`, `dot` or `mac` step: exact products, their sum and one rounding.

`engine_step` lists the engines that have hardware and builds the chain of stages from the ports to the result.
Exact sums are in `adder` (one product), `pair` (two products) and `fixed` (several); `window` holds truncated sums.
`multiply` decodes the operands and forms the products. `gating` holds the multiplier's inputs when an operand is
zero.
"""
