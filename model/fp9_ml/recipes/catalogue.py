"""The named training recipes, and functions that find, read and write a recipe."""

# Sources: HFP8 is Sun et al. (NeurIPS 2019), Wang18 is Wang et al. (NeurIPS 2018), HiF8 is Luo et al. (arXiv
# 2409.16626), GC is Noune et al. (arXiv 2206.02915), and TE is Transformer Engine.

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fp9.engines import ENGINES, engine
from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9_ml.recipes import spelling
from fp9_ml.recipes.fields import READERS
from fp9_ml.recipes.loss import Backoff, Constant
from fp9_ml.recipes.recipe import Recipe
from fp9_ml.recipes.scaling import Current, Delayed, Periodic

_R, _INF = Rounding, Overflow.INF
_FP32, _HIF8, _FP16, _DLFLOAT16 = ENGINES["fma_fp32"], format("hif8"), format("fp16"), format("dlfloat16")


def _sums(name: str) -> dict[str, Any]:
    return dict.fromkeys(("forward", "dgrad", "wgrad"), engine(name))


def _operands(activations: str, weights: str, gradients: str) -> dict[str, Any]:
    return {"activations": format(activations), "weights": format(weights), "gradients": format(gradients)}


_HFP8 = _operands("hfp8_143", "hfp8_143", "hfp8_152")
_OCP = _operands("e4m3", "e4m3", "e5m2")
_IBM: dict[str, Any] = {"first": _DLFLOAT16, "last": _DLFLOAT16, "output": _DLFLOAT16, "gradient_overflow": _INF}
_APEX = Backoff(largest=2.0**24)
_ASCEND: dict[str, Any] = {
    **_operands("hif8", "hif8", "hif8"),
    "rounding": _R.RNA,
    "backward_rounding": _R.RNA,
    "gradient_overflow": _INF,
    "loss": Backoff(),
    "last": _FP16,
}

RECIPES: dict[str, Recipe] = {
    r.name: r
    for r in (
        Recipe("hfp8", **_HFP8, **_sums("dlfloat"), **_IBM, loss=_APEX, depthwise=_DLFLOAT16, source="HFP8"),
        Recipe(
            "hfp8_chunked", **_HFP8, **_sums("chunked"), **_IBM, loss=_APEX, depthwise=_DLFLOAT16, source="HFP8, Wang18"
        ),
        Recipe(
            "fp8_e5m2",
            **_operands("hfp8_152", "hfp8_152", "hfp8_152"),
            **_sums("chunked"),
            **_IBM,
            loss=Constant(1000.0),
            source="Wang18",
        ),
        Recipe("te_delayed", **_OCP, scale=Delayed(power_of_two=False), source="TE"),
        Recipe("te_current", **_OCP, scale=Current(), source="TE"),
        Recipe("hif8", **_ASCEND, source="HiF8"),
        Recipe("hif8_pts", **_ASCEND, scale=Periodic(), source="HiF8"),
        Recipe(
            "graphcore",
            **_operands("f143(bias=10)", "f143(bias=14)", "f152(bias=32)"),
            weight_gradients=format("f152(bias=32)"),
            first=_FP16,
            source="GC",
        ),
        Recipe("fp32", forward=None, dgrad=None, wgrad=None, source="the host's own"),
    )
}

_NAME = re.compile(r"[a-z][a-z0-9_]*", re.IGNORECASE)


def recipe(name: str | Recipe | Path) -> Recipe:
    """Return the training recipe with the given name, or the training recipe in a TOML file.

    A name may be followed by changed fields in parentheses, such as `hfp8(first=none)`. A `Recipe` is returned
    unchanged.

    >>> recipe("hfp8(weights=f143(bias=14),wgrad=chunked(L=128),loss=backoff(window=1000))").wgrad.chunk.length
    128

    Raises ValueError for unknown names, and for fields that contradict each other. Raises TypeError if `name` is not a
    string, path or Recipe, and OSError for a file that cannot be read.
    """
    if isinstance(name, Recipe):
        return name
    if isinstance(name, Path) or (isinstance(name, str) and name.endswith(".toml")):
        return loads(_read(Path(name)), str(name))
    if not isinstance(name, str):
        raise TypeError(f"a recipe is named by a string, a path or a Recipe; {type(name).__name__} given")
    base, settings = spelling.call(name, "recipe")
    if base not in RECIPES:
        raise ValueError(
            f"unknown recipe {base!r}; known: {', '.join(RECIPES)}, one of them with fields, or a .toml file"
        )
    _check_fields(settings, f"recipe {base}")
    return _changed(RECIPES[base], settings)


def _changed(base: Recipe, settings: Mapping[str, str]) -> Recipe:
    values = {field: READERS[field](text, f"recipe {base.name}: {field}") for field, text in settings.items()}
    changed = {field: value for field, value in values.items() if getattr(base, field) != value}
    if not changed:
        return base
    fitted = replace(base, **changed)
    said = fitted.spelled()
    return replace(fitted, name=f"{base.name}({','.join(f'{field}={said[field]}' for field in changed)})")


def _check_fields(given: Mapping[str, object], where: str, also: tuple[str, ...] = ()) -> None:
    known = (*READERS, *also)
    for field in given:
        if field not in known:
            raise ValueError(f"{where} has no field {field!r}; its fields are {', '.join(known)}")


# --- TOML -----------------------------------------------------------------------------------------------------------


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file; give a TOML file that describes a recipe") from None


def loads(text: str, where: str = "recipe") -> Recipe:
    """Read a recipe from TOML text.

    All fields are TOML strings. Missing fields have their defaults.

    Raises ValueError for text that is not TOML, unknown fields, and inconsistent fields.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where} is not a TOML file: {error}") from None
    _check_fields(table, where, also=("name", "source"))
    for field, value in table.items():
        if not isinstance(value, str):
            raise ValueError(f'{where}: {field} = {value!r} given; give a text, as in {field} = "{value}"')
    if not _NAME.fullmatch(table.get("name", "")):
        raise ValueError(
            f"{where}: name {table.get('name', '')!r} given; give letters, digits and underscores, a letter first"
        )
    return Recipe(**table)


def dumps(spec: Recipe) -> str:
    """Return a recipe as TOML text that `loads` can read.

    The key `name` holds only the name of the original recipe, such as `hfp8` for the recipe `hfp8(weights=e4m3)`.
    Raises ValueError for an accumulator model that cannot be written as text.
    """
    for product in ("forward", "dgrad", "wgrad"):
        chosen = getattr(spec, product)
        if chosen is not None and not _is_spelled(chosen.name, chosen):
            raise ValueError(
                f"recipe {spec.name}: the engine of {product}, {chosen.name}, is no preset with parameters; name one, "
                "as in 'fmma(K=20)'"
            )
    said = spec.spelled() | {"name": spec.name.partition("(")[0]}
    default = {field.name: field.default for field in fields(Recipe)}
    shown = [f for f in said if getattr(spec, f) != default[f]]
    return "".join(f"{field} = {json.dumps(said[field])}\n" for field in shown)


def _is_spelled(name: str, chosen: object) -> bool:
    try:
        return engine(name) == chosen
    except ValueError:
        return False
