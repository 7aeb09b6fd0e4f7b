"""Units that convert numbers between 8-bit formats and wider formats: `cast` and `upcast`."""
