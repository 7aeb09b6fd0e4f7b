"""Documentation page of reproduced claims, generated from the records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fp9_ml.experiments.catalogue import CLAIMS, NOT_REPRODUCED

HEAD = """# Claims of the formats in use, measured

What the papers claim of casts, biases, scales, sums and training, on small networks with bit-exact casts. A bar was set
on networks of other seeds than those below. `fp9 recipes --reproduce NAME` measures one claim again; with `--out`, one
that was stopped goes on where it was. This page and the records beside it are made by
`python -m fp9_ml.experiments.reproduce --out docs/recipes`.

The character model learnt Python's help on its language for 400 steps, and the bars are about such a model. One that
learns five times as long has larger activations and logits, and misses three of them: the search of exponents
gains less, HFP8's 1-5-2 keeps more of the gradients, and subtracting the maximum does not quite halve the error of the
logits.
"""


def page(folder: Path) -> str:
    """Return the page of the records in a folder; raise OSError if a record is missing."""
    parts = [HEAD]
    for name in CLAIMS:
        parts.append(_section(json.loads((folder / f"{name}.json").read_text())))
    parts.append("## Not reproduced\n\n| claim | why not |\n|---|---|\n")
    parts[-1] += "".join(f"| {claim} | {reason} |\n" for claim, reason in NOT_REPRODUCED.items())
    return "\n".join(parts)


def _section(record: dict[str, Any]) -> str:
    runs = record["runs"]
    seeds = " | ".join(f"seed {run['seed']}" for run in runs)
    lines = [f"## {record['name']}", "", f"Claim: {record['claim']} ({record['source']}).", ""]
    lines += [f"Measured: {record['setup']}; {record['quantity']}.", ""]
    lines += [f"| | bar | {seeds} |", "|---|---|" + "---|" * len(runs)]
    for place, bar in enumerate(runs[0]["bars"]):
        limit = next(f"{side} {bar[side]:g}" for side in ("at least", "at most") if side in bar)
        cells = [
            f"{run['bars'][place]['measured']:.3g}{'' if run['bars'][place]['holds'] else ' **no**'}" for run in runs
        ]
        lines.append(f"| {bar['text']} | {limit} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"![{record['name']}]({record['name']}.svg)", ""])
