"""Generate the documentation page that compares claims of papers with measured values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fp9_ml.experiments.catalogue import CLAIMS, NOT_REPRODUCED

HEAD = """# Claims of papers, measured

Papers on 8-bit formats make claims about casts, biases, scales, sums and training. This page repeats their experiments
on small networks, with bit-exact casts and sums. Each table has a limit, which was set on networks with other seeds,
and the values of three new seeds.

In the tables, "A over B" is the value of A divided by that of B, and "A less B" is the difference. Formats are named by
the bits of sign, exponent and fraction: 1-4-3 is HFP8's forward format.

`fp9 recipes --reproduce NAME` measures one claim. `python -m fp9_ml.experiments.reproduce --out records/recipes` writes
all records; this page and its charts are built from them. A run that was stopped continues.

The character model learned Python's help on its language for 400 steps. A model trained five times as long misses
three limits. The search of exponents gains less, HFP8's 1-5-2 keeps more of the gradients, and subtracting the maximum
does not quite halve the error of the logits.
"""

TWICE = "A bar with a spread is twice the largest value of ten seeds, rounded up to two decimals."


def page(folder: Path) -> str:
    parts = [HEAD]
    for name in CLAIMS:
        parts.append(_section(json.loads((folder / f"{name}.json").read_text())))
    parts.append("## Not reproduced\n\n| claim | why not |\n|---|---|\n")
    parts[-1] += "".join(f"| {claim} | {reason} |\n" for claim, reason in NOT_REPRODUCED.items())
    return "\n".join(parts)


def _section(record: dict[str, Any]) -> str:
    runs = record["runs"]
    seeds = " | ".join(f"seed {run['seed']}" for run in runs)
    lines = [f"## {record['name']}", "", f"**Claim.** {record['claim']}", "", f"**Source.** {record['source']}.", ""]
    lines += [
        f"**Experiment.** {record['setup']}",
        "",
        f"**Values.** {record['quantity'][0].upper()}{record['quantity'][1:]}.",
        "",
    ]
    lines += [f"| | limit | {seeds} |", "|---|---|" + "---|" * len(runs)]
    for place, bar in enumerate(runs[0]["bars"]):
        limit = next(f"{side} {bar[side]:g}" for side in ("at least", "at most") if side in bar)
        cells = [
            f"{run['bars'][place]['measured']:.3g}{'' if run['bars'][place]['holds'] else ' **no**'}" for run in runs
        ]
        lines.append(f"| {bar['text']} | {limit} | {' | '.join(cells)} |")
    spreads = [f"{bar['text']}, {bar['spread']}" for bar in runs[0]["bars"] if "spread" in bar]
    if spreads:
        lines += ["", f"{TWICE} {'; '.join(spreads)}."]
    return "\n".join([*lines, "", f"![{record['name']}]({record['name']}.svg)", ""])
