"""The oracle: slow exact reference in the papers' words, and threshold tables computed from it."""
