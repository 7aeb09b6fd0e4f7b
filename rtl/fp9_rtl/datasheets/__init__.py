"""Data sheets of units (`sheet`), with their timing pictures (`timing`)."""
