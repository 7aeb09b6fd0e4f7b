"""The slow exact answer in the papers' words, and the threshold tables made of it."""
