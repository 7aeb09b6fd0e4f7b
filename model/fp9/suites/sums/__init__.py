"""Operations of sums: one product and an addend, several products, scaled products; a file for each corner case."""
