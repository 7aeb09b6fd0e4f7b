"""Single errors drawn in a circuit, and the share of them that a suite notices."""
