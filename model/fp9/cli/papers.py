"""Option `fp9 formats --papers`: figures printed in papers, beside computed figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fp9.cli.support import extra, show, table


def show_papers(pictures: Path | None, as_json: bool) -> None:
    """Print tables that compare numbers from papers about formats with numbers that fp9 computes."""
    from fp9.studies import papers as paper_tables  # slow to load

    if pictures is not None:
        with extra("rtl"):
            from fp9.studies.pictures import draw  # slow to load

            draw(pictures)
    found = paper_tables.figures()
    rows = [[f.table, f.row, f.quantity, f.computed, f.printed, "equal" if f.agrees else "DIFFERENT"] for f in found]
    columns = ["table", "row", "quantity", "computed", "printed", ""]
    records = [asdict(figure) | {"agrees": figure.agrees} for figure in found]
    show(records, as_json, table("Printed figures", columns, rows, numbers=["computed", "printed"]))
