"""Command `fp9 cache`: show or clear the results that are cached between runs."""

from __future__ import annotations

import click

from fp9.cli.support import Command, show, table
from fp9.cli.words import Words
from fp9.system import cache as library


@click.command(cls=Command, page="reference/command-line.md")
@click.argument("kinds", metavar="[KIND]...", nargs=-1, type=Words(library.KINDS))
@click.option("--clear", is_flag=True, help="Remove the cached files; fp9 writes them again when needed.")
def cache(kinds: tuple[str, ...], clear: bool, as_json: bool) -> None:
    """Show or clear the cache.

    The cache is the folder ~/.cache/fp9, or $FP9_CACHE. KIND limits the command to one kind of results, such as
    generated Verilog (verilog), circuit measurements (synth) or compiled units (verilated). The cache holds at most
    $FP9_CACHE_MB megabytes, by default 1024. When the cache is full, fp9 removes the entries that were not used for the
    longest time.

    \b
      fp9 cache
      fp9 cache verilated --clear
    """
    for kind in kinds:
        if kind not in library.KINDS:
            raise ValueError(f"kind {kind!r} given; give {' or '.join(library.KINDS)}")
    chosen = kinds or tuple(library.KINDS)
    found = {kind: library.clear((kind,)) if clear else library.entries(kind) for kind in chosen}
    sums = {kind: {"entries": len(kept), "bytes": sum(e.size for e in kept)} for kind, kept in found.items()}
    record = {
        "folder": str(library.root()),
        "bound_bytes": library.bound(),
        "cleared": clear,
        "kinds": sums,
    }
    rows = [
        [kind, total["entries"], f"{total['bytes'] / (1 << 20):.1f}", library.KINDS[kind]]
        for kind, total in sums.items()
    ]
    columns = ["kind", "entries", "MB", "what"]
    title = f"{'Cleared from' if clear else 'Kept in'} {library.root()}, {library.bound() >> 20} MB at most"
    show(record, as_json, table(title, columns, rows, numbers=columns[1:3]))
