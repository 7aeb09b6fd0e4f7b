"""Corner-case operations of casts: rounding boundaries, ties, saturation and scaled sources."""
