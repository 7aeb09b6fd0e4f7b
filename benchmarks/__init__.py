"""Compare the speed of fp9 with other packages, in one process: `python -m benchmarks [casts ...]`."""

import os

# One thread is measured: NumPy's products take no others. Read when NumPy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
