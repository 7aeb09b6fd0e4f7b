"""The oracle: a slow, exact reference that follows the published papers, and threshold tables computed from it."""
