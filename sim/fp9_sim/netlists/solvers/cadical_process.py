"""CaDiCaL as a program of its own: `python cadical_process.py SECONDS [processor]`, clauses in and a model out as JSON.

With `processor` it is the seconds of the processor that are counted. The program is run by its path, so that it
loads the solver and nothing else, not even PySAT around it, which takes ten times as long as Python to start; the alarm
ends it, also without its caller.
"""

from __future__ import annotations

import json
import signal
import sys

import pysolvers


def main(seconds: float, *counted: str) -> None:
    """Read lists of variables; write those that are true in a model, null where there is none."""
    signal.setitimer(signal.ITIMER_PROF if counted else signal.ITIMER_REAL, seconds)
    solver = pysolvers.cadical195_new()
    for clause in json.load(sys.stdin):
        pysolvers.cadical195_add_cl(solver, clause)
    holds = pysolvers.cadical195_solve(solver, [], 1)  # without assumptions, in the main thread
    found = [variable for variable in pysolvers.cadical195_model(solver) or [] if variable > 0] if holds else None
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
