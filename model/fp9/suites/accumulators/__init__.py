"""Corner-case operations of accumulators: sequences of sums, and complete chunks."""
