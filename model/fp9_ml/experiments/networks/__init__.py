"""Small networks in NumPy, forward and backward, and their training data."""
