"""Steps around an accumulator register: plain, in chunks, and exact (Kulisch)."""
