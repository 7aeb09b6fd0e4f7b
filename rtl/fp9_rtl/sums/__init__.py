"""Datapath of one `fma`, `dot` or `mac` step: exact products, their sum and one rounding."""
