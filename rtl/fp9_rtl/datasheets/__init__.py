"""Data sheets of units, with their timing pictures."""
