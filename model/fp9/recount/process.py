"""The same in a process of its own, which cannot import what it is to be compared with."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence

from fp9.recount.choices import Row
from fp9.recount.units import recounted
from fp9.units import Unit
from fp9.units.toml import build, dumps

APART = ("fp9.golden", "fp9.kernels", "fp9.sums", "fp9.casts", "fp9.blocks", "numba")
"""What the process has not."""


def apart(unit: Unit, rows: Sequence[Row]) -> list[Row]:
    """`recounted` in a new process without kernels and golden model.

    Raises RuntimeError with the last line of its errors where it fails, as for a unit that it does not know.
    """
    request = json.dumps({"spec": dumps(unit), "rows": rows})
    done = subprocess.run([sys.executable, "-m", __spec__.name], input=request, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{unit.name}: not counted again: {done.stderr.strip().splitlines()[-1]}")
    return list(json.loads(done.stdout))


def shut_out() -> None:
    """Let no import of `APART` succeed from here on."""
    sys.modules.update(dict.fromkeys(APART))  # type: ignore[arg-type]


def main() -> None:
    """Answer one request of standard input."""
    shut_out()
    request = json.load(sys.stdin)
    json.dump([*recounted(build(tomllib.loads(request["spec"])), request["rows"])], sys.stdout)


if __name__ == "__main__":
    main()
