"""Operations of quantisers: blocks whose scale, or whose quotients, lie at a boundary."""
