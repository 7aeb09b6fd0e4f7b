"""Write a GTKWave save file that shows codes at a unit's ports as numbers and names."""

from __future__ import annotations

from pathlib import Path

from fp9.system.files import write_whole
from fp9.units import Port, Unit
from fp9_sim.trace.terms import number_text

_MOST = 1 << 16
"""Largest number of codes in a translation file. Wider formats are shown in hexadecimal."""

_HEX, _TRANSLATED = "@22", "@2022"


def save_file(unit: Unit, waves: Path) -> list[Path]:
    """Write a GTKWave save file and its translation files, and return their paths, the save file first.

    If a port has several formats, GTKWave shows the port's codes as numbers of the first format.
    """
    path = waves.with_suffix(".gtkw")
    lines = [f'[dumpfile] "{waves.name}"', "[timestart] 0"]
    written = []
    for port in (*unit.control_ports, *unit.inputs, *unit.outputs):
        words = _words(port)
        if words:
            translation = waves.with_name(f"{waves.stem}.{port.name}.txt")
            write_whole(translation, "".join(f"{code:0{(port.width + 3) // 4}x} {word}\n" for code, word in words))
            written.append(translation)
            lines += [_TRANSLATED, f"^1 {translation.name}"]
        else:
            lines.append(_HEX)
        lines.append(f"{unit.name}.{port.name}{f'[{port.width - 1}:0]' if port.width > 1 else ''}")
    write_whole(path, "\n".join([*lines, ""]))
    return [path, *written]


def _words(port: Port) -> list[tuple[int, str]]:
    if port.formats and 1 << port.formats[0].bits <= _MOST:
        fmt = port.formats[0]
        return [(code, number_text(fmt, code).replace(" ", "_")) for code in range(1 << fmt.bits)]
    return list(enumerate(port.choices))
