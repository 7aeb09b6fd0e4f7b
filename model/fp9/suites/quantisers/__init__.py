"""Operations of quantisers: blocks whose scale or whose quotients are at a boundary."""
