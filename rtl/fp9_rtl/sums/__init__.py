"""Datapath of one `fma`, `dot` or `mac` step: exact products, their sum and one rounding.

`engine_step` lists the engines that have hardware. It builds the chain of stages from the ports to the result.
Exact sums are in `adder` (one product), `pair` (two products) and `fixed` (several products). `window` has sums
that are truncated. `multiply` decodes the operands and forms the products. `gating` keeps the multiplier's inputs
constant when an operand is zero.
"""
