"""Collect a design's source files from folders, file lists (`.f`) and FuseSoC cores."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fp9_sim.third_party.sources import VHDL, read

_SOURCES = (".v", ".sv", *VHDL)
_HEADERS = (".vh", ".svh")


@dataclass
class Collected:
    """A design's source files in compilation order, the folders of included files, and the macro definitions."""

    files: list[Path] = field(default_factory=list)
    include: list[Path] = field(default_factory=list)
    defines: dict[str, int | str | bool] = field(default_factory=dict)

    def add(self, other: Collected) -> None:
        self.files += [file for file in other.files if file not in self.files]
        self.include += [folder for folder in other.include if folder not in self.include]
        self.defines |= other.defines


def collect(given: Sequence[Path | str]) -> Collected:
    """Return the absolute paths of the sources in the given files, folders, file lists and cores."""
    # A folder stands for all source files in the folder and its subfolders. SystemVerilog packages come before the
    # files that use the packages.
    found = Collected()
    for one in given:
        path = Path(one).resolve()
        if path.is_dir():
            found.add(_folder(path))
        elif not path.is_file():
            raise ValueError(f"{one}: no such file; give sources, a folder, a list (.f) or a core (.core)")
        else:
            found.add(_LISTS.get(path.suffix, _single)(path))
    return found


def _single(path: Path) -> Collected:
    return Collected([path])


def _folder(folder: Path) -> Collected:
    every = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [path for path in every if path.suffix.lower() in _SOURCES]
    if not files:
        raise ValueError(f"{folder} has no Verilog or VHDL file; give the folder of the sources")
    headers = {path.parent: None for path in every if path.suffix.lower() in _HEADERS}
    return Collected(_in_order(files), [*headers])


_PACKAGE = re.compile(r"^\s*package\s+(?:automatic\s+)?(\w+)", re.MULTILINE)
_USED = re.compile(r"\b(\w+)::")


def _in_order(files: Sequence[Path]) -> list[Path]:
    texts = {file: read(file) for file in files}
    homes = {name: file for file in files for name in _PACKAGE.findall(texts[file])}
    ordered: dict[Path, None] = {}

    def place(file: Path, above: tuple[Path, ...]) -> None:
        for name in _USED.findall(texts[file]):
            home = homes.get(name)
            if home is not None and home not in (*above, file):
                place(home, (*above, file))
        ordered.setdefault(file)

    for file in files:
        place(file, ())
    return [*ordered]


# --- file lists ------------------------------------------------------------------------------------------------------


def _list(path: Path) -> Collected:
    found = Collected()
    text = re.sub(r"(//|#).*", "", read(path))
    words = iter(shlex.split(text))
    for word in words:
        if word in ("-f", "-F"):
            found.add(_list(path.parent / _after(path, word, words)))
        elif word in ("-I", "-incdir"):
            found.include.append((path.parent / _after(path, word, words)).resolve())
        elif word.startswith("+incdir+"):
            found.include += [(path.parent / each).resolve() for each in word.split("+")[2:] if each]
        elif word.startswith("-I"):
            found.include.append((path.parent / word[2:]).resolve())
        elif word.startswith(("+define+", "-D")):
            found.defines |= dict(defined(each) for each in re.sub(r"^(\+define\+|-D)", "", word).split("+") if each)
        elif word.startswith(("+", "-")):
            raise ValueError(f"{path}: {word} is not understood; give files, -f, +incdir+ and +define+")
        else:
            found.add(collect([path.parent / word]))
    return found


def _after(path: Path, word: str, words: Iterator[str]) -> str:
    following = next(words, None)
    if following is None:
        raise ValueError(f"{path}: nothing follows {word}; give a path after it")
    return following


def defined(text: str) -> tuple[str, int | str | bool]:
    name, equals, value = text.partition("=")
    if not equals:
        return name, True
    return name, int(value) if value.lstrip("-").isdigit() else value


# --- FuseSoC cores ---------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"([\w./-]+\.(?:svh|sv|vhdl|vhd|vh|v))\b(?:\s*:\s*\{([^}]*)\})?")
_FILESET = re.compile(r"^  (\w+)\s*:", re.MULTILINE)


def _core(path: Path) -> Collected:
    """Return a FuseSoC core's source files."""
    sections = _sections(read(path))
    filesets = _blocks(sections.get("filesets", ""))
    default = _blocks(sections.get("targets", "")).get("default", "")
    # Files come from the default target, or else from all filesets.
    named = [name for name in filesets if re.search(rf"filesets.*\b{name}\b", default, re.DOTALL)] or [*filesets]
    if depends := [name for name in named if re.search(r"^\s+depend\s*:", filesets[name], re.MULTILINE)]:
        raise ValueError(f"{path}: fileset {depends[0]} depends on other cores; give their files, too, in place of it")
    found = Collected()
    for name in named:
        for file, attributes in _ITEM.findall(filesets[name]):
            place = (path.parent / file).resolve()
            if "is_include_file" in attributes or place.suffix in _HEADERS:
                found.include += [place.parent] if place.parent not in found.include else []
            else:
                found.add(collect([place]))
    if not found.files:
        raise ValueError(f"{path} names no Verilog or VHDL file in its filesets; give the files")
    return found


def _sections(text: str) -> Mapping[str, str]:
    parts = re.split(r"^(\w+)\s*:", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=False))


def _blocks(text: str) -> dict[str, str]:
    parts = _FILESET.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=False))


_LISTS = {".f": _list, ".core": _core}
