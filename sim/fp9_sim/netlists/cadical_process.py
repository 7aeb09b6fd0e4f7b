"""CaDiCaL as a program of its own: `python cadical_process.py SECONDS [processor]`, clauses in and a model out as JSON.

With `processor` it is the seconds of the processor that are counted. The program is run by its path, so that it
loads the solver and nothing else; the alarm ends it, also without its caller.
"""

from __future__ import annotations

import json
import signal
import sys

from pysat.solvers import Cadical195


def main(seconds: float, *counted: str) -> None:
    """Read lists of variables; write those that are true in a model, null where there is none."""
    signal.setitimer(signal.ITIMER_PROF if counted else signal.ITIMER_REAL, seconds)
    with Cadical195(bootstrap_with=json.load(sys.stdin)) as solver:
        found = [variable for variable in solver.get_model() if variable > 0] if solver.solve() else None
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
