"""Add products exactly in one wide fixed-point field.

Each product is shifted to its bit position in the field. A slightly wider window also holds the addend. `fixed_sum`
builds the datapath stages, `places` computes the bit positions, and `sum` contains the hardware.
"""
