"""Worker process of `fp9 explore` that measures the area and delay of units.

Each line of standard input holds one unit file as a JSON string. Records go to standard output. The worker and its
children end when standard input ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import tomllib
from typing import Any

from fp9.system.missing import MissingTool
from fp9.units.toml import build
from fp9_rtl.explorer.areas import MEASURED, REFUSED, UNDER_WAY
from fp9_rtl.synthesis.records import NOTE
from fp9_rtl.synthesis.run import synthesise_unit

_FIGURES = ("mapping", "area_um2", "nand2", "flip_flops", "delay_ns")


def main() -> None:
    for line in sys.stdin:
        threading.Thread(target=_answer, args=(json.loads(line),), daemon=True).start()
    os.killpg(0, signal.SIGKILL)


def _answer(spec: str) -> None:
    def progress(what: str, done: int, of: int) -> None:
        _say(state=UNDER_WAY, what=what, done=done, of=of)

    try:
        found = synthesise_unit(build(tomllib.loads(spec)), progress=progress)
    except MissingTool as error:
        return _say(state=REFUSED, says=error.what)
    except (ValueError, OSError) as error:
        return _say(state=REFUSED, says=str(error))
    estimates = [{name: getattr(estimate, name) for name in _FIGURES} for estimate in found.estimates]
    return _say(state=MEASURED, library=found.library, note=NOTE, estimates=estimates)


def _say(**record: Any) -> None:
    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
