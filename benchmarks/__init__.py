"""Speed beside other packages, in one process: `python -m benchmarks [casts ...]`."""
