"""Corner-case operations of sums, with one module for each corner case."""
