"""Experiments on small trained networks that check papers' claims about casts, exponent biases and scales."""
