"""File formats of golden vectors, for test benches and other programs.

| name      | contents                                                          | not meaningful |
|-----------|-------------------------------------------------------------------|----------------|
| `vec`     | a line of blank-separated hex for each operation (TestFloat)      | `x`            |
| `memh`    | the same digits as one word, `_` between columns (`$readmemh`)    | `x`            |
| `csv`     | a heading and decimal numbers                                     | empty          |
| `npz`     | NumPy arrays by port, and `care_PORT` masks                       | mask false     |
| `parquet` | columns by port; needs `fp9[parquet]`                             | null           |

In every file format, equal vectors give byte-identical files. In the masked NumPy arrays of a vector set, a masked
element stands for an undefined output.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fp9.system.missing import install_hint
from fp9.units import Port

if TYPE_CHECKING:
    from types import ModuleType

Columns = Mapping[str, "np.ma.MaskedArray[Any, Any]"]
"""A masked array of shape (n,) for each port, in which masked outputs are undefined."""


@dataclass(frozen=True)
class FileFormat:
    """File format for golden vectors."""

    suffix: str
    # Returns a description of the file's structure, such as the separator, for the manifest.
    layout: Callable[[tuple[Port, ...]], dict[str, Any]]
    encode: Callable[[str, tuple[Port, ...], Columns], bytes]
    # Raises ValueError if the bytes are not in the file format.
    decode: Callable[[bytes, tuple[Port, ...]], Columns]


def port_dtype(port: Port) -> np.dtype[Any]:
    return np.dtype(
        np.uint8 if port.width <= 8 else np.uint16 if port.width <= 16 else np.uint32 if port.width <= 32 else np.uint64
    )


# --- lines of hex ---------------------------------------------------------------------------------------------------


def _lines(title: str, ports: tuple[Port, ...], columns: Columns, comment: str, separator: str) -> bytes:
    heading = f"{comment} fp9 golden vectors of {title}\n{comment} {_widths(ports)}\n"
    parts = []
    for port in ports:
        digits = _digits(port, columns[port.name])
        end = "\n" if port is ports[-1] else separator
        parts += [digits, np.full((len(digits), 1), ord(end), np.uint8)]
    return heading.encode() + np.hstack(parts).tobytes()


def _widths(ports: tuple[Port, ...]) -> str:
    return " ".join(f"{port.name}[{port.width}]" for port in ports)


def hex_digits(port: Port) -> int:
    return (port.width + 3) // 4


def word_places(ports: tuple[Port, ...]) -> dict[str, int]:
    # The first port is in the highest bits of the memory word, and each port takes whole hex digits.
    places, above = {}, 4 * sum(map(hex_digits, ports))
    for port in ports:
        above -= 4 * hex_digits(port)
        places[port.name] = above
    return places


def _line_layout(ports: tuple[Port, ...]) -> dict[str, Any]:
    return {
        "form": "vec",
        "operation": "a line, a cell for each column",
        "base": 16,
        "separator": " ",
        "comment": "#",
        "padding": "zeros to whole hex digits",
        "digits": {port.name: hex_digits(port) for port in ports},
        "without_meaning": "x in every digit",
    }


def _word_layout(ports: tuple[Port, ...]) -> dict[str, Any]:
    return _line_layout(ports) | {
        "form": "memh",
        "operation": "a word for $readmemh, the first column in its highest bits",
        "separator": "_",
        "comment": "//",
        "word_bits": 4 * sum(map(hex_digits, ports)),
        "lowest_bits": word_places(ports),
    }


def _table_layout(form: str, operation: str, without_meaning: str) -> Callable[[tuple[Port, ...]], dict[str, Any]]:
    return lambda ports: {"form": form, "operation": operation, "without_meaning": without_meaning}


_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def _digits(port: Port, column: np.ma.MaskedArray[Any, Any]) -> NDArray[np.uint8]:
    """Return the ASCII characters of a column, with one row for each operation."""
    shifts = np.arange(4 * hex_digits(port), dtype=np.uint64)[-4::-4]
    digits = column.data.astype(np.uint64)[:, None] >> shifts & np.uint64(15)
    return np.where(np.ma.getmaskarray(column)[:, None], np.uint8(ord("x")), _HEX[digits])


def _from_lines(data: bytes, ports: tuple[Port, ...], comment: str, separator: str | None) -> Columns:
    lines = enumerate(_text(data).splitlines(), start=1)
    rows = {number: line.split(separator) for number, line in lines if line.strip() and not line.startswith(comment)}
    return hex_columns(rows, ports)


def hex_columns(rows: Mapping[int, list[str]], ports: tuple[Port, ...]) -> Columns:
    """Convert rows of hex values to one column of numbers per port. The value `x` is an undefined output."""
    # The keys of `rows` are line numbers for error messages.
    return _from_cells(rows, ports, lambda cell: int(cell, 16), lambda cell: set(cell) == {"x"})


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None


def _from_cells(
    rows: Mapping[int, list[str]], ports: tuple[Port, ...], number: Callable[[str], int], empty: Callable[[str], bool]
) -> Columns:
    if not rows:
        raise ValueError(f"it has no line of {len(ports)} columns")
    for line, row in rows.items():
        if len(row) != len(ports):
            names = " ".join(port.name for port in ports)
            raise ValueError(f"line {line} has {len(row)} columns; give {len(ports)}: {names}")
    columns = {}
    for port, cells in zip(ports, zip(*rows.values(), strict=True), strict=True):
        mask = [empty(cell) for cell in cells]
        values = [
            0 if masked else _cell(port, cell, number, line)
            for line, cell, masked in zip(rows, cells, mask, strict=True)
        ]
        columns[port.name] = _column(port, values, mask)
    return columns


def _cell(port: Port, cell: str, number: Callable[[str], int], line: int) -> int:
    try:
        value = number(cell)
    except ValueError:
        raise ValueError(f"line {line} has {cell!r} in column {port.name}, which is no number") from None
    if value < 0 or value >> port.width:
        raise ValueError(f"line {line} has {cell} in column {port.name}, which does not fit its {port.width} bits")
    return value


def _column(port: Port, values: list[int], mask: list[bool]) -> np.ma.MaskedArray[Any, Any]:
    if min(values) < 0 or max(values) >> port.width:
        raise ValueError(f"column {port.name} holds a value that does not fit its {port.width} bits")
    return np.ma.masked_array(np.array(values, dtype=port_dtype(port)), mask if any(mask) else np.ma.nomask)


# --- tables ---------------------------------------------------------------------------------------------------------


def _to_csv(title: str, ports: tuple[Port, ...], columns: Columns) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([port.name for port in ports])
    filled = [["" if v is None else v for v in columns[port.name].tolist()] for port in ports]
    writer.writerows(zip(*filled, strict=True))
    return out.getvalue().encode()


def _from_csv(data: bytes, ports: tuple[Port, ...]) -> Columns:
    heading, *rows = [*csv.reader(io.StringIO(_text(data)))] or [[]]
    if heading != [port.name for port in ports]:
        raise ValueError(f"its heading must be {','.join(port.name for port in ports)}")
    return _from_cells(dict(enumerate(rows, start=2)), ports, int, lambda cell: not cell)


# A constant date makes equal columns give equal bytes.
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def _to_npz(title: str, ports: tuple[Port, ...], columns: Columns) -> bytes:
    arrays = {port.name: columns[port.name].data for port in ports}
    masks = {port.name: np.ma.getmaskarray(columns[port.name]) for port in ports}
    arrays |= {f"care_{name}": ~mask for name, mask in masks.items() if mask.any()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            information = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
            information.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(information, member.getvalue())
    return out.getvalue()


# Exceptions that a damaged archive can raise, for example for an unknown or encrypted member.
_DAMAGED = (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, KeyError)


def _from_npz(data: bytes, ports: tuple[Port, ...]) -> Columns:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except _DAMAGED:
        raise ValueError("it is not an archive of NumPy arrays") from None
    return _from_arrays(arrays, ports)


def _from_arrays(arrays: Mapping[str, np.ndarray[Any, Any]], ports: tuple[Port, ...]) -> Columns:
    missing = [port.name for port in ports if port.name not in arrays]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    if len({arrays[port.name].shape for port in ports}) != 1 or arrays[ports[0].name].ndim != 1:
        raise ValueError("its columns differ in length")
    columns = {}
    for port in ports:
        array = arrays[port.name]
        if array.dtype.kind not in "iu" or not array.size:
            raise ValueError(f"column {port.name} holds no integers")
        care = arrays.get(f"care_{port.name}", np.ones(array.size, dtype=np.bool_))
        columns[port.name] = _column(port, array.tolist(), (~care.astype(np.bool_)).tolist())
    return columns


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow  # optional
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ValueError(f"parquet files need pyarrow; run: {install_hint('parquet')}") from None
    return pyarrow, pyarrow.parquet


def _to_parquet(title: str, ports: tuple[Port, ...], columns: Columns) -> bytes:
    arrow, parquet = _pyarrow()
    masks = {port.name: np.ma.getmaskarray(columns[port.name]) for port in ports}
    table = arrow.table({p.name: arrow.array(columns[p.name].data, mask=masks[p.name]) for p in ports})
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def _from_parquet(data: bytes, ports: tuple[Port, ...]) -> Columns:
    arrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(io.BytesIO(data))
    except arrow.ArrowException:
        raise ValueError("it is not a Parquet file") from None
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name in table.column_names:
        column = table[name]
        arrays[f"care_{name}"] = column.is_valid().to_numpy()
        arrays[name] = column.fill_null(0).to_numpy()
    return _from_arrays(arrays, ports)


FILE_FORMATS: dict[str, FileFormat] = {
    "vec": FileFormat(
        ".vec",
        _line_layout,
        lambda title, ports, columns: _lines(title, ports, columns, "#", " "),
        lambda data, ports: _from_lines(data, ports, "#", None),
    ),
    "memh": FileFormat(
        ".memh",
        _word_layout,
        lambda title, ports, columns: _lines(title, ports, columns, "//", "_"),
        lambda data, ports: _from_lines(data, ports, "//", "_"),
    ),
    "csv": FileFormat(
        ".csv",
        _table_layout("csv", "a row of decimal numbers under a heading of port names", "an empty cell"),
        _to_csv,
        _from_csv,
    ),
    "npz": FileFormat(
        ".npz",
        _table_layout("npz", "an element of each array; arrays are named as the ports", "false in care_PORT"),
        _to_npz,
        _from_npz,
    ),
    "parquet": FileFormat(
        ".parquet",
        _table_layout("parquet", "a row; columns are named as the ports", "null"),
        _to_parquet,
        _from_parquet,
    ),
}
