"""Coverage models of accumulators: operation sequences, chunks, and the Kulisch register."""
