"""Add terms that are truncated to a window of fraction bits below the largest exponent.

`window_sum` builds the datapath stages. The module `align` adds the addend inside the addition window. The module
`beside` adds the addend to the truncated sum of the products. The module `interleaved` sums even and odd products
separately, then adds the addend.
"""
