"""Command `fp9 check-python`: checks casts and decoding functions of Python libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from fp9.cli.support import Command, show, table
from fp9.cli.words import FORMAT, Words


def _libraries() -> Iterable[str]:
    from fp9_compare.diagnosis.libraries import LIBRARIES  # slow to load

    return LIBRARIES


@click.command("check-python", cls=Command, page="how-to/check-your-rtl.md")
@click.argument("subject", type=Words(_libraries))
@click.option(
    "--format",
    "fmt",
    metavar="FORMAT",
    type=FORMAT,
    help="Expected format; required with MODULE:FUNCTION.",
)
@click.option("--decode", is_flag=True, help="With MODULE:FUNCTION: check a decoding function, not a cast.")
@click.option("--source", type=click.Choice(["fp32", "fp16", "bf16"]), default="fp32", show_default=True)
def check_python(subject: str, fmt: str | None, decode: bool, source: str, as_json: bool) -> None:
    """Check the casts and decoding functions of a Python library.

    SUBJECT is a function (MODULE:FUNCTION) or a library: ml_dtypes, en_dtypes, torch, gfloat, apytypes, onnx. A cast
    takes an array of numbers and returns codes or rounded numbers. A decoding function takes codes and returns numbers.
    Decoding functions are checked for all codes. Casts are checked for all FP16 or all BF16 source numbers, or for a
    stratified sample of FP32 source numbers. The exit code is 1 if a difference from fp9 is not explained.

    \b
      fp9 check-python ml_dtypes
      fp9 check-python my_quantiser:to_e4m3 --format e4m3
    """
    from fp9.formats import format  # slow to load
    from fp9.system.callables import named  # slow to load
    from fp9_compare.diagnosis import libraries, software  # slow to load

    if ":" not in subject:
        chosen = None if fmt is None else format(fmt)
        found = [row for row in libraries.rows(subject) if chosen in (None, row.format)]
        if not found:
            raise click.UsageError(f"{subject} has no functions for {fmt}; leave --format out to list its formats")
        answers = [(row.name, row.check()) for row in found]
        title = f"{subject} {libraries.version(subject)}"
    else:
        if fmt is None:
            raise click.UsageError("no --format given; name the format that the function should have")
        function, target, title = named(subject), format(fmt), subject
        answer = software.check_decode(function, target) if decode else software.check_cast(function, target, source)
        answers = [(subject.rpartition(":")[2], answer)]
    records = [_record(name, answer) for name, answer in answers]
    columns = ["function", "direction", "from", "checked", "unexplained", "what it does"]
    fields = ("name", "direction", "source", "checked", "unexplained", "says")
    lines = [[record[field] for field in fields] for record in records]
    left = [first for _, answer in answers if answer.explained.unexplained for first in answer.first]
    show(records, as_json, table(title, columns, lines, numbers=["checked", "unexplained"]), *left)
    if left:
        raise SystemExit(1)


def _record(name: str, answer: Any) -> dict[str, Any]:
    return {
        "name": name,
        "format": answer.format.name,
        "direction": answer.direction,
        "source": answer.source,
        "checked": answer.checked,
        "mismatches": answer.explained.mismatches,
        "unexplained": answer.explained.unexplained,
        "says": answer.says,
        "first": list(answer.first),
    }
