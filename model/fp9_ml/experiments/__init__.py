"""The formats as they are used: what their papers claim of casts, biases and scales, on small trained networks."""
