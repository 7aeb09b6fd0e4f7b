"""Reference model in a separate process, which cannot import the code under test."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence

from fp9.reference.choices import Row
from fp9.reference.units import reference_results
from fp9.units import Unit
from fp9.units.toml import build, dumps

FORBIDDEN = ("fp9.golden", "fp9.kernels", "fp9.sums", "fp9.casts", "fp9.blocks", "numba")
"""Packages that the separate process of the reference model cannot import."""


def isolated_results(unit: Unit, rows: Sequence[Row]) -> list[Row]:
    """Compute `reference_results` in a new process that cannot import kernels or the golden model.

    If the process fails, raises RuntimeError with the last line of its standard error as message.
    """
    request = json.dumps({"spec": dumps(unit), "rows": rows})
    done = subprocess.run([sys.executable, "-m", __spec__.name], input=request, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{unit.name}: the reference model failed: {done.stderr.strip().splitlines()[-1]}")
    return list(json.loads(done.stdout))


def forbid_imports() -> None:
    sys.modules.update(dict.fromkeys(FORBIDDEN))  # type: ignore[arg-type]


def main() -> None:
    forbid_imports()
    request = json.load(sys.stdin)
    json.dump([*reference_results(build(tomllib.loads(request["spec"])), request["rows"])], sys.stdout)


if __name__ == "__main__":
    main()
