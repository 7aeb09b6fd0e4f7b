"""Corner-case operations of accumulators: operation sequences, and sums of complete chunks."""
