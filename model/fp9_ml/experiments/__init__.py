"""Experiments on small trained networks. They check claims of papers about casts, biases and scales."""
