"""Standard cells that tests need: without one they are skipped, and say what installs it."""

from __future__ import annotations

import pytest

from fp9_rtl.synthesis.libraries import LIBRARIES


def needs_cells(*names: str) -> pytest.MarkDecorator:
    """The mark of tests that read the Liberty files of libraries, by their names in the catalogue."""
    missing = [LIBRARIES[name].file for name in names if not LIBRARIES[name].file.path().is_file()]
    reason = "; ".join(f"{file.path().name} is missing: {file.install}" for file in missing)
    return pytest.mark.skipif(bool(missing), reason=reason)
