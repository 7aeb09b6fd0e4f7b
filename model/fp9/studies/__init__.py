"""Numerical studies: accumulator errors, tables from papers, pictures, and casts of all 2^32 inputs."""
