"""Wrong inputs of every public function: TypeError or ValueError in fp9's own words, which name the argument."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fp9

NUMBERS, CODES = np.ones((4, 32), np.float32), np.full((4, 32), 0x38, np.uint8)
HELD = fp9.Array(CODES, "e4m3")
SCALES, ONES = np.full((4, 2), 0x38, np.uint8), np.full((4, 1), 127, np.uint8)
FORMAT = "format"

WRONG: dict[str, tuple[str, list[Any]]] = {
    "x": ("number|array of", ["a", None, object(), [[1], [1, 2]], 1j, {}]),
    "codes": ("code", ["a", None, [1.5], 999, 1j]),
    "fmt": (FORMAT, [None, 3, "nope", 1.5, [], np.ones(2)]),
    "block_name": ("block", [None, 3, "nope", [], "e4m3"]),
    "rounding": ("rounding", [3, 1.5, [], "nope", np.ones(2), "floor"]),
    "overflow": ("overflow", [None, 3, "nope"]),
    "nan_to_zero": ("nan_to_zero", [None, 1, "yes"]),
    "inf_clip": ("inf_clip", [1, "x"]),
    "nan_sign": ("nan_sign|sign of NaN", [None, 3, "x"]),
    "nan": ("nan", ["x", 1.5, 999, True]),
    "payload": ("payload", [None, 3, "x"]),
    "flush_source": ("flush_source", [1, None]),
    "hybrid": ("hybrid", [3, "x", True]),
    "random_width": ("random_width", [1.5, "16", 0, 33, None, True]),
    "random_bits": ("random_bits", ["x", [1.5], 42]),
    "rng": ("rng", ["x", 1.5, -1, None]),
    "stochastic": ("stochastic", [3, "x"]),
    "scale": ("scale", [1.5, "x", None, [1, 2, 3], 9999]),
    "flags": ("flags", [1, "x", None]),
    "counts": ("counts", [1, None]),
    "threads": ("threads", [1.5, "2", 0, True]),
    "progress": ("progress", [3, "x"]),
    "out": ("out", [3, "x", np.ones(3), [1, 2]]),
    "axis": ("axis", [1.5, "x", 9, True]),
    "rule": ("rule", [3, "x", 1.5]),
    "tensor_scale": ("tensor_scale", [0, "x", -1.0, [1, 2]]),
    "square": ("square", [1, None, "x"]),
    "per": ("per|block of", [1.5, "x", 0, -1, True]),
    "engine": ("engine|accumulator", [3, "x", 1.5, [], "h100"]),
    "c": (" c |codes", ["x", [1.5], np.ones(2)]),
    "scale_a": ("scale_a", [1.5, "x", [1, 2, 3], 999]),
    "block": ("block", [1.5, "x", 0, True]),
    "scale_format": (FORMAT, [3, "x"]),
    "package": ("package", [3, "x"]),
    "scale_b": ("scale_b", ["x", [1, 2, 3], None]),
    "bias": ("bias", ["x", [1, 2, 3], 1j]),
    "scale_result": ("scale_result", ["x", [1, 2]]),
    "out_dtype": (FORMAT, [3, "nope", []]),
    "use_fast_accum": ("use_fast_accum", [1, None, "x"]),
    "profile": ("profile", [3, "x", None]),
    "split_k": ("split_k", [1.5, "x", 0, -1, True]),
    "split": ("split", [3, "x"]),
    "scale_order": ("scale_order", [3, "x"]),
}
RENAMED = {"format_a": "fmt", "format_c": "scale_format", "accumulator": "engine", "scales": "scale"}


def _sr(**given: Any) -> Any:
    return fp9.encode(NUMBERS, "e4m3", "sr", **({} if "random_bits" in given else {"rng": 1}) | given)


def _scaled(**given: Any) -> Any:
    options: Any = {"block": 32, "scale_format": "e8m0", "scale_a": ONES} | given
    return fp9.matmul(CODES, CODES.T, "e4m3", "e4m3", "mx", **options)


def _with(function: Callable[..., Any], **usual: Any) -> Callable[..., Any]:
    return lambda **given: function(**usual | given)


_PRODUCT = "codes format_a engine c flags scale_a block threads progress format_c out"
_CAST = "rounding overflow nan_to_zero inf_clip nan_sign nan payload flush_source hybrid scale flags counts threads out"
CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "encode": (_with(fp9.encode, x=NUMBERS, fmt="e4m3"), f"x fmt {_CAST}"),
    "encode sr": (_sr, "random_width random_bits rng stochastic"),
    "decode": (_with(fp9.decode, codes=CODES, fmt="e4m3"), "codes fmt scale threads out"),
    "cast": (_with(fp9.cast, codes=CODES, source="e4m3", target="e5m2"), f"codes {_CAST}"),
    "array": (_with(fp9.array, x=NUMBERS, fmt="e4m3"), f"x fmt accumulator {_CAST.replace('flags counts ', '')}"),
    "Array": (_with(fp9.Array, codes=CODES, fmt="e4m3"), "codes accumulator scales"),
    "quantise": (
        _with(fp9.quantise, x=NUMBERS, fmt="nvfp4"),
        "x fmt axis rule rounding tensor_scale square threads accumulator",
    ),
    "quantise per": (_with(fp9.quantise, x=NUMBERS, fmt="e4m3", per=16), "x per axis rule rounding square"),
    "fake_quantise": (_with(fp9.fake_quantise, x=NUMBERS, fmt="e4m3"), "x fmt rounding scale threads"),
    "dequantise": (
        lambda **given: fp9.dequantise(given.pop("codes", CODES & 15), SCALES, "nvfp4", **given),
        "codes axis tensor_scale square",
    ),
    "matmul": (
        lambda **given: fp9.matmul(given.pop("codes", CODES), CODES.T, format_b="e4m3", **{"format_a": "e4m3"} | given),
        _PRODUCT,
    ),
    "dot": (
        lambda **given: fp9.dot(given.pop("codes", CODES), CODES, format_b="e4m3", **{"format_a": "e4m3"} | given),
        _PRODUCT,
    ),
    "scaled_mm": (
        _with(fp9.scaled_mm, a=HELD, b=HELD.T, scale_a=1.0, scale_b=1.0, out_dtype="bf16", profile="h100", split_k=1),
        "scale_b bias scale_result out_dtype use_fast_accum profile split_k split scale_order",
    ),
    "matmul of blocks": (_scaled, "block scale_format"),
    "format": (lambda fmt: fp9.format(fmt), "fmt"),
    "finfo": (lambda fmt: fp9.finfo(fmt), "fmt"),
    "block_format": (lambda block_name: fp9.block_format(block_name), "block_name"),
    "engine": (lambda engine: fp9.engine(engine), "engine"),
    "accumulator": (lambda engine: fp9.accumulator(engine), "engine"),
    "operand": (_with(fp9.operand, codes=CODES, fmt="e4m3"), "codes"),
    "amax_scale": (_with(fp9.amax_scale, x=NUMBERS, fmt="e4m3"), "x fmt axis"),
    "sqnr": (_with(fp9.sqnr, x=NUMBERS, y=NUMBERS), "x axis"),
    "view": (HELD.view, "package"),
    "astype": (lambda **given: HELD.astype(given.pop("fmt", "e5m2"), **given), "fmt rounding scale threads"),
}
ELSEWHERE = {"unit", "accumulators", "block_formats", "formats", "BlockArray", "regress", "verilog", "write_verilog"}
"""Functions without arguments of this kind, and those that other tests give wrong inputs."""


def cases() -> Iterator[tuple[str, str, Any]]:
    for call, (_, names) in CALLS.items():
        for name in names.split():
            for value in WRONG[RENAMED.get(name, name)][1]:
                if (name, value is None) not in (("scales", True), ("accumulator", True)):
                    yield call, name, value


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_a_wrong_input_works(call: str) -> None:
    if call not in ("format", "finfo", "block_format", "engine", "accumulator", "view"):
        CALLS[call][0]()


@pytest.mark.parametrize(("call", "name", "value"), list(cases()), ids=lambda one: str(one)[:16].replace("\n", " "))
def test_a_wrong_input_is_refused_in_own_words(call: str, name: str, value: Any) -> None:
    words, _ = WRONG[RENAMED.get(name, name)]
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[call][0](**{name: value})
    raised, message = traceback.extract_tb(caught.tb)[-1].filename, str(caught.value)
    assert Path(fp9.__file__).parent in Path(raised).parents, f"raised in {raised}: {message}"
    assert any(word in f" {message.lower()}" for word in words.lower().split("|")), message
    assert "\n" not in message and any(w in message for w in (";", "give ")), message


TEXT = "rule rounding overflow nan_sign payload stochastic split scale_order"
INTEGER = "axis threads random_width split_k block nan"
TYPES: dict[str, Any] = dict.fromkeys(TEXT.split(), str) | dict.fromkeys(INTEGER.split(), int)
TYPES |= {"per": (int, str), "tensor_scale": (int, float, str), "package": str, "fmt": str, "engine": str}


@pytest.mark.parametrize(("call", "name", "value"), list(cases()), ids=lambda one: str(one)[:16].replace("\n", " "))
def test_an_error_of_a_type_is_a_type_error(call: str, name: str, value: Any) -> None:
    usual = TYPES.get(RENAMED.get(name, name))
    if usual is None or value is None or (isinstance(value, usual) and not isinstance(value, bool)):
        return
    with pytest.raises(TypeError):
        CALLS[call][0](**{name: value})


def test_a_unit_of_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unit of type int given"):
        fp9.unit(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("verilog", "amaranth", "rtl"), ("regress", "cocotb_tools", "sim")]
)
def test_a_missing_extra_is_named(name: str, package: str, extra: str) -> None:
    text = f"import sys; sys.modules[{package!r}] = None; import fp9; fp9.{name}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines()[-1]
    assert f"fp9.{name} needs {package}, which is not installed; run: pip install" in said and f"[{extra}]" in said


def test_every_public_function_is_tried() -> None:
    functions = {name for name in fp9.__all__ if callable(getattr(fp9, name)) and name[0].islower()}
    tried = {call.split()[0] for call in CALLS} | ELSEWHERE
    assert {name.replace("quantize", "quantise") for name in functions} <= tried
