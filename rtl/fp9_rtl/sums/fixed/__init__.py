"""Add products exactly in one wide fixed-point field.

Each product is shifted to its bit position in the field. The addend is added in a window that is slightly wider than
the field of the products. `fixed_sum` builds the datapath stages, `places` computes the bit positions, and `sum`
contains the hardware.
"""
