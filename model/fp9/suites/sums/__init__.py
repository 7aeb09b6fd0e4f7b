"""Operations of sums: one product and an addend, several products, scaled products; one file per corner case."""
