"""Skip tests whose standard cell libraries are not installed."""

from __future__ import annotations

import pytest

from fp9_rtl.synthesis.libraries import LIBRARIES


def needs_cells(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if the Liberty file of a named library is missing."""
    missing = [LIBRARIES[name].file for name in names if not LIBRARIES[name].file.path().is_file()]
    reason = "; ".join(f"{file.path().name} is missing: {file.install}" for file in missing)
    return pytest.mark.skipif(bool(missing), reason=reason)
