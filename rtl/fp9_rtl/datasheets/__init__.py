"""Data sheets of units (`sheet`), with block diagrams (`diagram`) and timing diagrams (`timing`)."""
