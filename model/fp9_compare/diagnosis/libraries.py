"""List of the casts and decoding functions of the installed Python libraries."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fp9.casts.arrays import decode_native
from fp9.formats import ALIASES, NAMED, FixedFormat, Format, fixed_format, format
from fp9.formats.dtypes import as_dtype
from fp9.formats.host import BINARY32
from fp9.system.missing import MissingTool
from fp9_compare.diagnosis.software import Answer, Function, check_cast, check_decode


@dataclass(frozen=True)
class Row:
    """Cast or decoding function of a Python library."""

    library: str
    name: str
    format: Format
    direction: str
    # Format of a cast's input numbers, or "-" for a decoding function.
    source: str
    function: Function

    def check(self) -> Answer:
        if self.direction == "decode":
            return check_decode(self.function, self.format)
        return check_cast(self.function, self.format, self.source)


SOURCES = ("fp32", "fp16", "bf16")


def _typed(library: str) -> Iterator[Row]:
    module = importlib.import_module(library)
    for alias, name in ALIASES.items():
        fmt = NAMED[name]
        if not hasattr(module, alias) or fmt.bits > 8 or not (fmt.signed and fmt.has_zero):
            continue
        kind = np.dtype(getattr(module, alias))
        yield Row(library, alias, fmt, "decode", "-", functools.partial(_numbers_of, kind))
        for source in SOURCES:
            if _casts(source, kind):
                yield Row(library, alias, fmt, "cast", source, functools.partial(_codes_of, kind))


def _casts(source: str, kind: Any) -> bool:
    try:
        decode_native(np.zeros(1, dtype=np.uint32), fixed_format(source)).astype(kind)
    except TypeError:
        return False
    return True


def _numbers_of(kind: Any, codes: Any) -> Any:
    return codes.view(kind).astype(np.float32)


def _codes_of(kind: Any, numbers: Any) -> Any:
    return numbers.astype(kind).view(np.uint8)


def _ml_dtypes() -> Iterator[Row]:
    yield from _typed("ml_dtypes")


def _en_dtypes() -> Iterator[Row]:
    own = [row for row in _typed("en_dtypes") if not hasattr(importlib.import_module("ml_dtypes"), row.name)]
    yield from own


def _torch() -> Iterator[Row]:
    torch = importlib.import_module("torch")
    for alias, name in ALIASES.items():
        fmt, kind = NAMED[name], getattr(torch, alias, None)
        if kind is None or fmt.bits != 8 or not (fmt.signed and fmt.has_zero):
            continue
        yield Row("torch", alias, fmt, "decode", "-", functools.partial(_from_torch, torch, fmt))
        for source in SOURCES:
            yield Row("torch", alias, fmt, "cast", source, functools.partial(_of_torch, torch, kind))


def _from_torch(torch: Any, fmt: Format, codes: Any) -> Any:
    return as_dtype(codes, fmt, "torch").to(torch.float32)


def _of_torch(torch: Any, kind: Any, numbers: Any) -> Any:
    if numbers.dtype.name == "bfloat16":
        tensor = torch.from_numpy(numbers.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(np.ascontiguousarray(numbers))
    return tensor.to(kind).view(torch.uint8).numpy()


_GFLOAT = {
    "format_info_ocp_e4m3": "e4m3",
    "format_info_ocp_e5m2": "e5m2",
    "format_info_ocp_e2m1": "e2m1",
    "format_info_ocp_e2m3": "e2m3",
    "format_info_ocp_e3m2": "e3m2",
}


def _gfloat() -> Iterator[Row]:
    gfloat, infos = importlib.import_module("gfloat"), importlib.import_module("gfloat.formats")
    for name, ours in _GFLOAT.items():
        info, fmt = getattr(infos, name), format(ours)
        yield Row("gfloat", info.name, fmt, "decode", "-", functools.partial(gfloat.decode_ndarray, info))
        for sat in (False, True) if fmt.has_nan else (True,):
            function = functools.partial(_of_gfloat, gfloat, info, sat, fmt.has_nan)
            yield Row("gfloat", f"{info.name}{', sat' * sat}", fmt, "cast", "fp32", function)


def _of_gfloat(gfloat: Any, info: Any, sat: bool, has_nan: bool, numbers: Any) -> Any:
    wide = np.asarray(numbers, dtype=np.float64)
    wide = wide if has_nan else np.where(np.isnan(wide), 0.0, wide)
    return gfloat.encode_ndarray(info, gfloat.round_ndarray(info, wide, sat=sat)).astype(np.uint8)


_ONNX = {
    "FLOAT8E4M3FN": "e4m3",
    "FLOAT8E5M2": "e5m2",
    "FLOAT8E4M3FNUZ": "e4m3fnuz",
    "FLOAT8E5M2FNUZ": "e5m2fnuz",
    "FLOAT6E2M3": "e2m3",
    "FLOAT6E3M2": "e3m2",
    "FLOAT4E2M1": "e2m1",
}


def _onnx() -> Iterator[Row]:
    # The option `saturate` of ONNX's Cast operator applies only to 8-bit types.
    onnx = importlib.import_module("onnx")
    types = {"fp32": onnx.TensorProto.FLOAT, "fp16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16}
    for name, ours in _ONNX.items():
        kind, fmt = getattr(onnx.TensorProto, name), format(ours)
        yield Row("onnx", name, fmt, "decode", "-", functools.partial(_from_onnx, onnx, kind))
        for source, sat in itertools.product(SOURCES, (0, 1) if fmt.bits == 8 else (1,)):
            function = functools.partial(_of_onnx, onnx, types[source], kind, sat)
            yield Row("onnx", f"{name}{', saturate=0' * (not sat)}", fmt, "cast", source, function)


def _from_onnx(onnx: Any, kind: int, codes: Any) -> Any:
    typed = codes.view(onnx.helper.tensor_dtype_to_np_dtype(kind))
    return _cast_by_onnx(onnx, kind, onnx.TensorProto.FLOAT, 1, typed)


def _of_onnx(onnx: Any, source: int, kind: int, saturate: int, numbers: Any) -> Any:
    return _cast_by_onnx(onnx, source, kind, saturate, numbers).view(np.uint8)


def _cast_by_onnx(onnx: Any, source: int, kind: int, saturate: int, x: Any) -> Any:
    helper, evaluator = onnx.helper, importlib.import_module("onnx.reference").ReferenceEvaluator
    node = helper.make_node("Cast", ["x"], ["y"], to=kind, saturate=saturate)
    ends = [helper.make_tensor_value_info(name, type_, [None]) for name, type_ in (("x", source), ("y", kind))]
    model = helper.make_model(helper.make_graph([node], "cast", ends[:1], ends[1:]))
    return np.asarray(evaluator(model).run(None, {"x": x})[0])


_APYTYPES = ("float8_e5m2", "float8_e4m3", "float8_e3m4")
_QUANTIZATIONS = ("TIES_EVEN", "TIES_AWAY", "TO_ZERO", "TO_POS", "TO_NEG")


def _apytypes() -> Iterator[Row]:
    # APyTypes has only formats in the style of IEEE 754.
    apytypes = importlib.import_module("apytypes")
    for alias in _APYTYPES:
        fmt = fixed_format(alias)
        yield Row("apytypes", alias, fmt, "decode", "-", functools.partial(_from_apytypes, apytypes, fmt))
        for mode in _QUANTIZATIONS:
            function = functools.partial(_of_apytypes, apytypes, fmt, getattr(apytypes.QuantizationMode, mode))
            yield Row("apytypes", f"{alias}, {mode}", fmt, "cast", "fp32", function)


def _from_apytypes(apytypes: Any, fmt: FixedFormat, codes: Any) -> Any:
    made = apytypes.APyFloatArray.from_bits(codes, fmt.exponent_bits, fmt.fraction_bits, fmt.bias)
    return made.to_numpy()


def _of_apytypes(apytypes: Any, fmt: FixedFormat, mode: Any, numbers: Any) -> Any:
    exact = apytypes.APyFloatArray.from_array(numbers, BINARY32.exponent_bits, BINARY32.fraction_bits)
    made = exact.cast(fmt.exponent_bits, fmt.fraction_bits, fmt.bias, mode)
    return np.asarray(made.to_bits(), dtype=np.uint8)


LIBRARIES: dict[str, Callable[[], Iterator[Row]]] = {
    "ml_dtypes": _ml_dtypes,
    "en_dtypes": _en_dtypes,
    "torch": _torch,
    "gfloat": _gfloat,
    "apytypes": _apytypes,
    "onnx": _onnx,
}


def rows(library: str) -> list[Row]:
    if library not in LIBRARIES:
        raise ValueError(f"library {library!r} given; give one of {', '.join(LIBRARIES)}, or module:function")
    if importlib.util.find_spec(library) is None:
        raise MissingTool(f"{library} is not installed; install it with: pip install {library}")
    return list(LIBRARIES[library]())


def installed() -> list[str]:
    return [library for library in LIBRARIES if importlib.util.find_spec(library) is not None]


def version(library: str) -> str:
    return importlib.metadata.version(library)
