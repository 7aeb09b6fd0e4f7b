"""Without PyTorch the import says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest


def test_the_import_without_pytorch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "fp9_ml.torch" or name.startswith("fp9_ml.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs PyTorch and xxhash; install them with: pip install .*\[torch\]'$"):
        importlib.import_module("fp9_ml.torch")
