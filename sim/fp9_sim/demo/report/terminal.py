"""Format the results of the demonstration as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fp9.cli.output import table

Summary = Mapping[str, Any]

MAPPINGS = ("area-optimised", "delay-balanced")
# Hexadecimal digits that a report shows of a digest.
DIGITS = 12


def nearest_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def relative_error(error: float) -> str:
    return f"{error:.2e}" if error else "0"


def scales(row: Summary) -> str:
    # For a block format: the number of elements that share a scale.
    return f"2^{row['scale_a']}, 2^{row['scale_b']}" if row["block"] is None else f"each {row['block']}"


def summary_tables(summary: Summary) -> list[RenderableType]:
    """Return the results of the demonstration as tables for the terminal."""
    title = f"fp9 {summary['fp9']}: one layer from its formats to gates, in {summary['seconds']:.0f} s"
    parts: list[RenderableType] = [Text(title, style="bold"), _accuracy(summary), _layer(summary), _units(summary)]
    parts += _kept(summary)
    if summary["ratios"]:
        parts.append(_ratios(summary))
    if summary["recipes"]:
        parts.append(_recipes(summary))
    parts += [*_broken(summary), *(Text(f"Skipped: {reason}", style="yellow") for reason in summary["skipped"])]
    parts.append(Text(f"Files: {summary['folder']}/ report.html, report.json, rtl/, vectors/, waves/"))
    return parts


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], texts: int) -> Table:
    names = list(columns)
    return table(title, names, rows, numbers=names[texts:])


def _accuracy(summary: Summary) -> Table:
    shares = {(r["engine"], r["format"]): nearest_percent(r["accuracy"]) for r in summary["accuracy"]}
    engines = dict.fromkeys(engine for engine, _ in shares)
    formats = dict.fromkeys(fmt for _, fmt in shares)
    rows = [[engine, *(shares.get((engine, fmt), "") for fmt in formats)] for engine in engines]
    title = f"Test digits right, of {summary['network']['test']}"
    return _table(title, ["accumulator", *formats], rows, texts=1)


def _layer(summary: Summary) -> Table:
    rows = [
        [
            row["direction"],
            f"{row['a']} x {row['b']}",
            row["result"],
            scales(row),
            *(relative_error(row[f"{kind}_error"]) for kind in ("quantisation", "accumulation", "total")),
        ]
        for row in summary["layer"]
    ]
    columns = ["product", "formats", "accumulator", "scales", "quantisation", "accumulation", "total"]
    return _table("The layer's products, relative error against float64", columns, rows, texts=3)


def _units(summary: Summary) -> Table:
    simulators = list(dict.fromkeys(name for unit in summary["units"] for name in unit["simulation"]))
    checked = [column for name in simulators for column in (name, "mismatches")]
    columns = ["unit", "vectors", "of layer", *checked, *(f"{m}: um2 @ ns" for m in MAPPINGS)]
    rows = [
        [
            unit["unit"],
            f"{unit['operations']:,}",
            f"{unit['of_layer']:,}",
            *(cell for name in simulators for cell in _run(unit["simulation"].get(name))),
            *(_estimate(unit["synthesis"], mapping) for mapping in MAPPINGS),
        ]
        for unit in summary["units"]
    ]
    return _table("Verilog against golden vectors, and its area and delay (osu018)", columns, rows, texts=1)


def _kept(summary: Summary) -> list[Text]:
    kept: dict[str, list[str]] = {}
    for unit in summary["units"]:
        for simulator, run in unit["simulation"].items():
            if run["kept"]:
                kept.setdefault(simulator, []).append(f"{unit['unit']} {run['kept'][:DIGITS]}")
    return [
        Text(f"From the cache, by digest, as nothing changed since they passed on {simulator}: {', '.join(runs)}")
        for simulator, runs in kept.items()
    ]


def _run(run: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("skipped", "") if run is None else (f"{run['checked']:,}", str(run["mismatches"]))


def _estimate(synthesis: Mapping[str, Any] | None, mapping: str) -> str:
    if synthesis is None:
        return "skipped"
    estimate = next(e for e in synthesis["estimates"] if e["mapping"] == mapping)
    return f"{estimate['area_um2']:,.0f} @ {estimate['delay_ns']:.1f}"


def _ratios(summary: Summary) -> Table:
    rows = [
        [r["numerator"], r["denominator"], r["result"], r["mapping"], f"{r['area']:.3f}", f"{r['delay']:.3f}"]
        for r in summary["ratios"]
    ]
    columns = ["two formats", "1-5-2 alone", "result", "mapping", "area ratio", "delay ratio"]
    return _table("What the second format costs", columns, rows, texts=4)


def _recipes(summary: Summary) -> Table:
    rows = [
        [
            row["name"],
            row["unit"],
            f"{row['training']:+.3f}",
            f"{row['conversion']:.4f}",
            *(_estimate(row["synthesis"], mapping) for mapping in MAPPINGS),
            f"{row['energy']['total_fj'] / 1000:.1f}",
        ]
        for row in summary["recipes"]
    ]
    areas = (f"{m}: um2 @ ns" for m in MAPPINGS)
    columns = ["recipe", "unit", "training", "conversion", *areas, f"{summary['recipes'][0]['energy']['mapping']}: pJ"]
    return _table(
        "Accuracy against silicon: increase in loss over float32, in nats per character", columns, rows, texts=2
    )


def _broken(summary: Summary) -> list[Text]:
    return [
        Text.assemble(
            f"Vector {b['broken']} of {b['unit']} broken on purpose, {b['simulator']}: ",
            ("caught", "green") if b["caught"] else ("MISSED", "bold red"),
            *(f"\n  {line}" for line in b["report"]),
        )
        for b in summary["broken"]
    ]
