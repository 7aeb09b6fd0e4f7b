"""Array conversions between numbers and codes: `encode`, `decode`, `cast`."""
