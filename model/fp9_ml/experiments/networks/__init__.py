"""Small networks in NumPy, forward and backward, and the data that they learn."""
