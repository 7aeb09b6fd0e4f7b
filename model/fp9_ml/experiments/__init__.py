"""Experiments on small trained networks: papers' claims about casts, biases and scales."""
