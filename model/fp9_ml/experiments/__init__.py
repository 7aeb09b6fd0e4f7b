"""Experiments on small networks that check papers' claims about casts, biases and scales."""
