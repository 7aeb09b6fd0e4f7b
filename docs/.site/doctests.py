"""For the documentation site: examples in docstrings become blocks of code."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Puts fences around every paragraph of a docstring that begins as an interpreter's session does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change an object's docstring."""
        if obj.docstring is not None:
            parts = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(
                f"```python\n{part}\n```" if part.lstrip().startswith(">>> ") else part for part in parts
            )
