"""Operations of casts: rounding boundaries, ties, saturation, scaled sources."""
