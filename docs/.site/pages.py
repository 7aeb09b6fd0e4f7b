"""Builds the pages of results from the records, when the documentation is built."""

from __future__ import annotations

from pathlib import Path

import mkdocs_gen_files

from fp9_sim.evidence import site

for path, text in site.built(Path("records")):
    with mkdocs_gen_files.open(path, "w") as file:
        file.write(text)
