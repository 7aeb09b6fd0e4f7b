"""Measure cost studies by name, and write their pages and the index, for `fp9 study`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fp9.names import unknown as unknown_name
from fp9.system.files import write_whole
from fp9.units import CATALOGUE
from fp9_rtl.studies import medians as study_medians
from fp9_rtl.studies import report as study_report
from fp9_rtl.studies import study
from fp9_rtl.studies import submodules as study_submodules
from fp9_rtl.studies.catalogue import STUDIES
from fp9_rtl.studies.medians import MEDIANS
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.run import Progress


def questions() -> dict[str, str]:
    return {name: question for name, _, question in listed()}


def listed() -> list[tuple[str, str, str]]:
    submodules = (study_submodules.NAME, study_submodules.TITLE, study_submodules.QUESTION)
    plain, medians = (
        [(s.name, s.title, s.question) for s in studies] for studies in (STUDIES.values(), MEDIANS.values())
    )
    return [*plain, submodules, *medians]


def check(names: Sequence[str]) -> None:
    known = questions()
    for name in names:
        if name not in known:
            raise ValueError(unknown_name("study", name, known, "`fp9 study --list` lists all"))


def run(
    names: Sequence[str],
    folder: Path,
    progress: Progress | None = None,
    libraries: Sequence[str | Library] = SIDE_BY_SIDE,
) -> dict[str, list[Path]]:
    """Measure the named studies, or all studies if none is named, and write their pages to a folder.

    Return the paths of the written files by study name. The page of a study compares the results in all libraries. The
    index page lists every study in the folder. Raises ValueError for an unknown study name before any measurement.
    Raises MissingTool if a library or Yosys is not installed, and OSError if the folder is not writable.
    """
    check(names)
    written = {}
    chosen = list(names or questions())
    done, steps = 0, sum(_steps(name, len(libraries)) for name in chosen)
    for name in chosen:
        written[name] = _one(name, folder, _shifted(progress, done, steps), libraries)
        done += _steps(name, len(libraries))
    present = [entry for entry in listed() if (folder / f"{entry[0]}.md").exists()]
    write_whole(folder / study_report.INDEX, study_report.index(present))
    return written


def _one(name: str, folder: Path, progress: Progress | None, libraries: Sequence[str | Library]) -> list[Path]:
    if name == study_submodules.NAME:
        return study_submodules.write(study_submodules.measure(libraries=libraries, progress=progress), folder)
    if name in MEDIANS:
        return study_medians.write(MEDIANS[name], study_medians.measure(MEDIANS[name], libraries, progress), folder)
    measured = []
    for number, cells in enumerate(libraries):
        here = _shifted(progress, number * len(STUDIES[name].variants), 0)
        measured.append(study.measure(STUDIES[name], library=cells, progress=here))
    return study_report.write(measured, folder)


def _steps(name: str, libraries: int) -> int:
    if name == study_submodules.NAME:
        return libraries * len(CATALOGUE)
    return len(MEDIANS[name].groups) if name in MEDIANS else libraries * len(STUDIES[name].variants)


def _shifted(progress: Progress | None, before: int, steps: int) -> Progress | None:
    if progress is None:
        return None
    return lambda what, done, _: progress(what, before + done, steps)
