"""CaDiCaL as a program: `python cadical_process.py SECONDS [processor]`.

The program is started by its path, so that Python does not import the fp9_sim package.
"""

from __future__ import annotations

import json
import signal
import sys

import pysolvers


def main(seconds: float, *counted: str) -> None:
    """Read clauses from standard input, and write a satisfying assignment to standard output.

    The output lists the true variables as JSON, or is null if the clauses are unsatisfiable.
    """
    signal.setitimer(signal.ITIMER_PROF if counted else signal.ITIMER_REAL, seconds)
    solver = pysolvers.cadical195_new()
    for clause in json.load(sys.stdin):
        pysolvers.cadical195_add_cl(solver, clause)
    holds = pysolvers.cadical195_solve(solver, [], 1)  # without assumptions, in the main thread
    found = [variable for variable in pysolvers.cadical195_model(solver) or [] if variable > 0] if holds else None
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
