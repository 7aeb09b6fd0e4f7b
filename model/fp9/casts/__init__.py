"""Arrays of numbers to codes and back: `encode`, `decode`, `cast`."""
