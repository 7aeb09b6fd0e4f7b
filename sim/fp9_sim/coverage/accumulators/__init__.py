"""Coverage models of accumulators: sequences of operations, chunks, and the Kulisch register."""
