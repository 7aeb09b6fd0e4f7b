"""Look-up of functions in third-party modules, by names `module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def named(name: str) -> Callable[..., Any]:
    """Load the function `module:function`, whose module may be in the current working directory."""
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise ValueError(f"{name!r} given; give module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise ValueError(f"{name}: importing {module} gives {type(error).__name__}: {error}; repair it") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name}: {module} has no {path}; name a function of it")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{name} is {type(found).__name__}, which cannot be called; name a function")
    function: Callable[..., Any] = found
    return function
