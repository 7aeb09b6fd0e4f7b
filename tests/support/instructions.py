"""Compare the model with the references of instruction sets, and write the record:

    FP9_REFERENCES=FOLDER python -m tests.support.instructions records/accumulators/instructions.json

FOLDER holds `isa` (see `tests.support.outside`). The first row that differs ends the program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fp9.system.files import write_whole
from tests.model.casts import test_instruction_sets as casts
from tests.model.casts import test_p3109 as p3109
from tests.model.sums import test_instruction_sets as sums


def _of_sums(rows: Callable[[], Iterator[tuple[str, int]]], *presets: str) -> Callable[[], Iterator[int]]:
    return lambda: (count for name, count in rows() if not presets or name in presets)


class Operation(NamedTuple):
    """An operation of an instruction set, its reference, the comparison, and what the comparison leaves out."""

    instructions: str
    name: str
    reference: str
    compare: Callable[[], Iterator[int]]
    left_out: str = "none"


_SPIKE, _ARM, _BOCHS = "Spike", "Arm's pseudo-code", "Bochs' rules"
_NO_FORMAT, _NAN = "codes that name no format", "an addend that is NaN (disputed)"
_DOUBTFUL = "FP32 in [480, 512) to e4m3, saturating (doubtful)"
OPERATIONS = (
    Operation("RISC-V", "Zvfofp8min to FP8, from FP32, BF16, FP16", _SPIKE, casts.riscv_rows),
    Operation("RISC-V", "Zvfofp8min from FP8", _SPIKE, casts.riscv_widening_rows),
    Operation("RISC-V", "RVBNA dot products of 4 to 32", _SPIKE, _of_sums(sums.rvbna_rows)),
    Operation("Arm", "FPConvertFP8", _ARM, casts.arm_rows, _NO_FORMAT),
    Operation("Arm", "F1CVT, BF1CVT", _ARM, casts.arm_widening_rows, _NO_FORMAT),
    Operation("Arm", "FP8DotAddFP of 1, 2, 4, 8", _ARM, _of_sums(sums.arm_rows), _NO_FORMAT),
    Operation("x86", "AMX-FP8", _BOCHS, _of_sums(sums.x86_rows, "amx_fp8")),
    Operation("x86", "ACE TOP4MX", _BOCHS, _of_sums(sums.x86_rows, "ace_top4mx"), _NAN),
    Operation("x86", "AVX10.2 and ACE to FP8", _BOCHS, casts.x86_rows),
    Operation("x86", "the same with a bias", _BOCHS, casts.x86_bias_rows, _DOUBTFUL),
    Operation("x86", "AVX10.2 from FP8 to FP16", _BOCHS, casts.x86_widening_rows),
    Operation("P3109", "projections of v4.0", "the report's rules", p3109.projection_rows),
)


def compared() -> list[list[Any]]:
    """Return all operations with the number of equal rows."""
    return [[one.instructions, one.name, one.reference, sum(one.compare()), one.left_out] for one in OPERATIONS]


def main(record: Path) -> None:
    write_whole(record, json.dumps(compared(), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
