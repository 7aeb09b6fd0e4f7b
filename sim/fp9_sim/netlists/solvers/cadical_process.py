"""CaDiCaL as a program: `python cadical_process.py SECONDS [processor]`. The program reads clauses and writes a
model as JSON.

With `processor` the limit counts processor seconds. The program is started by its path, not as a module, so
that it imports only the solver. PySAT takes ten times as long to start as Python. An alarm ends the program
even if its parent has ended.
"""

from __future__ import annotations

import json
import signal
import sys

import pysolvers


def main(seconds: float, *counted: str) -> None:
    """Read clauses from standard input. Write the true variables of a model, or null if there is none."""
    signal.setitimer(signal.ITIMER_PROF if counted else signal.ITIMER_REAL, seconds)
    solver = pysolvers.cadical195_new()
    for clause in json.load(sys.stdin):
        pysolvers.cadical195_add_cl(solver, clause)
    holds = pysolvers.cadical195_solve(solver, [], 1)  # without assumptions, in the main thread
    found = [variable for variable in pysolvers.cadical195_model(solver) or [] if variable > 0] if holds else None
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
