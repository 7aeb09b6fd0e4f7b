"""Corner operations of sums: one product and an addend, several products, scaled products. One file per corner case."""
