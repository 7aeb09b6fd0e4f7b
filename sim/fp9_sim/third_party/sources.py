"""Combine the user's source files into one Verilog text with line markers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fp9.system.missing import MissingTool

_INCLUDE = re.compile(r'^[ \t]*`include[ \t]+"([^"]+)".*$', re.MULTILINE)
VHDL = (".vhd", ".vhdl")


def text_of(path: Path, top: str, files: Sequence[str], include: Sequence[str], defines: Mapping[str, object]) -> str:
    """Return the text of all source files of a mapping, with VHDL converted to Verilog by GHDL."""
    # File paths are relative to the folder of the mapping file `path`. A file name with * or ? stands for all matching
    # files, in alphabetical order.
    found = [file for name in files for file in _matching(path, name)]
    vhdl = [file for file in found if file.suffix.lower() in VHDL]
    texts = [_defined(path, name, value) for name, value in defines.items() if value is not False]
    if vhdl:
        texts.append(_converted(path, top, vhdl))
    texts += [_source(path, file, include) for file in found if file not in vhdl]
    return "\n".join(texts)


def source_text(files: Sequence[Path], top: str) -> str:
    """Return the text of source files whose paths are relative to the current folder."""
    return text_of(Path("files"), top, [str(file.absolute()) for file in files], [], {})


def _defined(path: Path, name: str, value: object) -> str:
    if not isinstance(value, bool | int | str):
        raise ValueError(f"{path}: defines.{name} = {value!r} given; give a number, a text, or true for none")
    return f"`define {name} {'' if value is True else value}"


def _matching(path: Path, name: str) -> Iterator[Path]:
    if not any(mark in name for mark in "*?["):
        yield path.parent / name
        return
    found = sorted(path.parent.glob(name))
    if not found:
        raise ValueError(f"{path}: files has {name!r}, and no file matches")
    yield from found


def _source(path: Path, file: Path, include: Sequence[str], within: tuple[Path, ...] = ()) -> str:
    """Return the text of a source file with its include files inserted."""
    if file in within:
        raise ValueError(f"{file} includes itself; remove the cyclic include")
    text = read(file)

    def included(found: re.Match[str]) -> str:
        folders = [file.parent, *(path.parent / folder for folder in include)]
        header = next((folder / found[1] for folder in folders if (folder / found[1]).is_file()), None)
        # The include line stays in the text, because a macro may disable the line.
        if header is None:
            return found[0]
        after = text.count("\n", 0, found.end()) + 2
        return f"{_source(path, header, include, (*within, file))}\n{_line(after, file)}"

    return f"{_line(1, file)}\n{_INCLUDE.sub(included, text)}"


def read(file: Path) -> str:
    """Return the text of a file, decoded as UTF-8, or as Latin-1 if the file is not valid UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return file.read_text(encoding="latin-1")


def _line(number: int, file: Path) -> str:
    return f"`line {number} {json.dumps(str(file))} 0"


def _converted(path: Path, top: str, files: Sequence[Path]) -> str:
    program = shutil.which("ghdl")
    if program is None:
        raise MissingTool(
            f"{path}: VHDL is converted by GHDL, which is not installed; install it with: apt-get install ghdl"
        )
    sources = [str(file.absolute()) for file in files]
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "--synth", "--std=08", "--out=verilog", *sources, "-e", top]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "no message")
        raise ValueError(f"ghdl cannot convert {top}: {said}")
    return done.stdout
