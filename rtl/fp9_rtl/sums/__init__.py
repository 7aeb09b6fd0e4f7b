"""Datapath of one `fma`, `dot` or `mac` step: exact products, their sum and one rounding.

`engine_step` builds the chain of datapath stages from the ports to the result. `engine_step` also states which
accumulators have hardware. The modules `adder` (one product), `pair` (two products) and `fixed` (several products)
compute exact sums. The package `window` adds terms that are truncated to an addition window. `multiply` decodes the
operands and forms the products. `gating` keeps the multiplier's inputs constant when an operand is zero.
"""
