"""Data sheets of units (`sheet`), with their block diagrams (`diagram`) and timing pictures (`timing`)."""
