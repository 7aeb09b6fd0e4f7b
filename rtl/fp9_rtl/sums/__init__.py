"""Products and their sums, rounded once: the datapath of a step of `fma`, `dot` and `mac`.

`steps` says for which engines there is hardware, and gives the chain of steps from the ports to the products and from
these to the result. Exact sums are those of `adder` (one product), `pair` (two) and `fixed`; `window` cuts its terms.
Before all of them stand `multiply`, and `gating` where zeros rest.
"""
