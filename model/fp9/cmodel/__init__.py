"""The golden model as C: one freestanding header for a unit, generated from the records."""

from fp9.cmodel.bench import bench
from fp9.cmodel.headers import unit_header
from fp9.units import Unit


def files(unit: Unit) -> dict[str, str]:
    """The C files of a unit by name: the header of its golden model, and a bench that reads vectors.

    Raises ValueError for a unit that has no C model.
    """
    return {f"fp9_{unit.name}.h": unit_header(unit), f"{unit.name}_bench.c": bench(unit)}


__all__ = ["bench", "files", "unit_header"]
