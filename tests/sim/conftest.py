from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def build_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of builds for the whole session: the same design is built once."""
    return tmp_path_factory.mktemp("builds")
