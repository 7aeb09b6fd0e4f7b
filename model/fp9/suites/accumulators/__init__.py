"""Operations of accumulators: sequences of sums, and chunks from their first product to their last."""
