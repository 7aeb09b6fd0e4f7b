"""The work of `fp9 study`: measures studies by name and writes their pages and the index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fp9.names import unknown as unknown_name
from fp9.system.files import write_whole
from fp9.units import CATALOGUE
from fp9_rtl.studies import report as study_report
from fp9_rtl.studies import study
from fp9_rtl.studies import submodules as study_submodules
from fp9_rtl.studies.catalogue import STUDIES
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.run import Progress


def questions() -> dict[str, str]:
    """Name and question of every study."""
    return {name: s.question for name, s in STUDIES.items()} | {study_submodules.NAME: study_submodules.QUESTION}


def run(
    names: Sequence[str],
    folder: Path,
    progress: Progress | None = None,
    libraries: Sequence[str | Library] = SIDE_BY_SIDE,
) -> dict[str, list[Path]]:
    """Measure the studies named, all when there is none, into a folder; what was written, by study.

    Libraries stand side by side; that of areas by submodule is in the first.

    The index lists every study that the folder then holds. Raises ValueError for an unknown name, before anything is
    measured, MissingTool where a library or Yosys is missing, OSError where the folder does not take files.
    """
    known = questions()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(unknown_name("study", unknown[0], known, "`fp9 study --list` lists all"))
    written = {}
    chosen = list(names or known)
    done, steps = 0, sum(_steps(name, len(libraries)) for name in chosen)
    for name in chosen:
        if name == study_submodules.NAME:
            parts = study_submodules.measure(library=libraries[0], progress=_shifted(progress, done, steps))
            written[name] = study_submodules.write(parts, folder)
        else:
            outcomes = []
            for number, cells in enumerate(libraries):
                here = _shifted(progress, done + number * len(STUDIES[name].variants), steps)
                outcomes.append(study.measure(STUDIES[name], library=cells, progress=here))
            written[name] = study_report.write(outcomes, folder)
        done += _steps(name, len(libraries))
    listed = [(s.name, s.title, s.question) for s in STUDIES.values()]
    listed.append((study_submodules.NAME, study_submodules.TITLE, study_submodules.QUESTION))
    present = [entry for entry in listed if (folder / f"{entry[0]}.md").exists()]
    write_whole(folder / study_report.INDEX, study_report.index(present))
    return written


def _steps(name: str, libraries: int) -> int:
    """Units that a study measures, in each library."""
    return len(CATALOGUE) if name == study_submodules.NAME else libraries * len(STUDIES[name].variants)


def _shifted(progress: Progress | None, before: int, steps: int) -> Progress | None:
    """The progress of one study as part of all of them."""
    if progress is None:
        return None
    return lambda what, done, _: progress(what, before + done, steps)
