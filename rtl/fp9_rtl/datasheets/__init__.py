"""Data sheets of units, with block diagrams and timing diagrams."""
