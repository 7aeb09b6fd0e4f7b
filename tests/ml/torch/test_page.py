"""The example of the page on PyTorch runs, and trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-with-pytorch.md"


def test_the_example_of_the_page_runs() -> None:
    example, *_ = [part.split("```")[0] for part in PAGE.read_text().split("```python\n")[1:]]
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    exec(compile(example, str(PAGE), "exec"), names)
    assert names["step"] == 9 and torch.isfinite(names["loss"])
    assert type(names["model"][0]).__module__ == "fp9_ml.torch.layers"
