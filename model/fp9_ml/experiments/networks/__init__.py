"""Small networks in NumPy with forward and backward passes, and their training data."""
