"""Arrays of codes to sums: `dot`, `matmul`."""
