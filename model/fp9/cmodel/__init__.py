"""Generator of the golden model in C, as freestanding headers."""

from fp9.cmodel import dpi
from fp9.cmodel.bench import bench
from fp9.cmodel.headers import unit_header
from fp9.cmodel.library import library_header
from fp9.engines import engine
from fp9.formats import BLOCK_NAMES, format
from fp9.formats.blocks import block_format
from fp9.units import Unit
from fp9.units.base import check_name
from fp9.units.toml import names_in


def files(unit: Unit) -> dict[str, str]:
    """Return a unit's C files by name: golden model, test bench for vectors, and DPI-C import.

    A unit that computes several operations in one call has no DPI-C import. Raises ValueError for a unit without a C
    model.
    """
    made = {f"fp9_{unit.name}.h": unit_header(unit), f"{unit.name}_bench.c": bench(unit)}
    if unit.group > 1:
        return made
    return made | {f"{unit.name}_dpi.c": dpi.source(unit), f"{unit.name}_dpi.sv": dpi.imports(unit)}


def library_files(formats: str, engines: str, name: str) -> dict[str, str]:
    """Return a dictionary from a file name to the text of a C header for formats and accumulator models (engines).

    `formats` and `engines` are strings of names that are separated by commas. Raises ValueError for unknown names, and
    if `name` is not a C identifier.
    """
    check_name(name)
    names = names_in(formats)
    found = [format(text) for text in names if not BLOCK_NAMES.find(text)]
    blocks = [block_format(text) for text in names if BLOCK_NAMES.find(text)]
    accumulators = [engine(text) for text in names_in(engines)] if engines else []
    return {f"fp9_{name}.h": library_header(found, accumulators, name, blocks)}


__all__ = ["bench", "dpi", "files", "library_files", "library_header", "unit_header"]
