"""Coverage models of accumulators: sequences of operations, chunks and the fixed-point register."""
