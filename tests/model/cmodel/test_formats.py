"""The C functions of formats give the model's codes, numbers, flags, classes and neighbours."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.compilers import GCC, write
from tests.support.rosters import EVERY_FORMAT, UNUSUAL

import fp9
from fp9.casts.order import classify, nextafter
from fp9.cmodel import library_header
from fp9.cmodel.text import NAN_SIGNS, OVERFLOWS, ROUNDINGS, identifier
from fp9.formats import Format, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Hybrid, NanSign, Overflow, Payload, Rounding

FORMATS = [*EVERY_FORMAT, *UNUSUAL]
_Codes = NDArray[np.uint32]

_LOOPS = """\
#include "fp9_formats.h"
#define LOOP(NAME) \\
    void loop_##NAME(const uint32_t *x, uint32_t *y, long n) \\
    { \\
        long i; \\
        for (i = 0; i < n; ++i) y[i] = (uint32_t)fp9_@_##NAME(x[i]); \\
    }
LOOP(to_f32)
LOOP(class)
LOOP(next_up)
LOOP(next_down)

void loop_from_f32(
    const uint32_t *x, const uint32_t *random, const int *choice, int64_t nan, uint32_t *y, uint32_t *flags, long n)
{
    long i;
    fp9_policy p = fp9_policy_of(choice[0], choice[1]);
    p.nan_to_zero = choice[2];
    p.inf_clip = choice[3];
    p.nan_sign = choice[4];
    p.payload = choice[5];
    p.random_bits = choice[6];
    p.strict = choice[7];
    p.doc_overflow = choice[8];
    p.flush_source = choice[9];
    p.nan = nan;
    for (i = 0; i < n; ++i) {
        p.random = random[i];
        y[i] = fp9_@_from_f32(x[i], p, &flags[i]);
    }
}
"""

_MADE: dict[str, ctypes.CDLL] = {}


@pytest.fixture
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Format], ctypes.CDLL]:
    """The C functions of a format over arrays, built once."""

    def made(fmt: Format) -> ctypes.CDLL:
        if fmt.name not in _MADE:
            folder = tmp_path_factory.mktemp("library")
            write(folder, {"fp9_formats.h": library_header([fmt]), "loops.c": _LOOPS.replace("@", identifier(fmt))})
            GCC.build(folder / "loops.c", folder / "loops.so", "-shared", "-fPIC", "-O2")
            _MADE[fmt.name] = ctypes.CDLL(str(folder / "loops.so"))
        return _MADE[fmt.name]

    return made


def mapped(library: ctypes.CDLL, name: str, codes: _Codes) -> _Codes:
    """A function of one code over an array."""
    results = np.empty_like(codes)
    getattr(library, f"loop_{name}")(_pointer(codes), _pointer(results), ctypes.c_long(codes.size))
    return results


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def every_code(fmt: Format) -> _Codes:
    """All codes of at most 16 bits; of more a sample with all exponents."""
    if fmt.bits <= 16:
        return np.arange(1 << fmt.bits, dtype=np.uint32)
    random = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    edges = np.arange(1 << 12, dtype=np.uint32) << np.uint32(20)
    found = np.concatenate([random, edges, edges - np.uint32(1), edges + np.uint32(1)])
    return np.unique(found & np.uint32((1 << fmt.bits) - (1 << fmt.padding)))


@pytest.mark.every(6)
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_codes_decode_as_in_the_model(fmt: Format, library: Callable[[Format], ctypes.CDLL]) -> None:
    codes = every_code(fmt)
    found = mapped(library(fmt), "to_f32", codes).view(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        expected = fp9.decode(codes.astype(fmt.dtype), fmt).astype(np.float32)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])
    assert np.array_equal(mapped(library(fmt), "class", codes), classify(codes.astype(fmt.dtype), fmt))


@pytest.mark.every(6)
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_neighbours_are_those_of_the_model(fmt: Format, library: Callable[[Format], ctypes.CDLL]) -> None:
    codes = every_code(fmt)
    if fmt.twos_complement:  # no cast gives the lowest integer
        codes = codes[codes != 0x80]
    top = fmt.max_code if fmt.inf_code(False) is None else fmt.inf_code(False)
    bottom = fmt.smallest_code if not fmt.signed else fmt.code_of(fmt.max_magnitude, True)
    bottom = fmt.inf_code(True) if fmt.signed and fmt.has_inf else 0 if not fmt.signed else bottom
    for name, end in (("next_up", top), ("next_down", bottom)):
        expected = nextafter(codes.astype(fmt.dtype), np.array(end, dtype=fmt.dtype), fmt)
        found = mapped(library(fmt), name, codes)
        ends = codes == end
        assert np.array_equal(found[~ends], expected[~ends]), name
        assert set(found[ends].tolist()) <= {end}


# --- encode ---------------------------------------------------------------------------------------------------------


def boundaries(fmt: Format) -> _Codes:
    """FP32 numbers where a result changes: numbers, midpoints and quarters of the format with their neighbours; all
    exponents; infinities, NaN; and random ones."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = fp9.decode(every_code(fmt)[: 1 << 16].astype(fmt.dtype), fmt).astype(np.float64)
        numbers = np.unique(np.abs(numbers[np.isfinite(numbers)]))
        between = [numbers, *((numbers[:-1] * (4 - k) + numbers[1:] * k) / 4 for k in (1, 2, 3)), numbers * 1.25]
        found = np.concatenate(between).astype(np.float32).view(np.uint32)
    edges = np.arange(256, dtype=np.uint32) << np.uint32(23)
    random = np.random.default_rng(2).integers(0, 1 << 31, 1 << 14, dtype=np.uint32)
    middle = np.concatenate([found[:: 1 + found.size // 6000], edges, edges | np.uint32(0x4567)])
    magnitudes = np.concatenate([middle - np.uint32(1), middle, middle + np.uint32(1), random]) & np.uint32(0x7FFFFFFF)
    return np.concatenate([magnitudes, magnitudes | np.uint32(0x80000000)])


def encoded(
    library: ctypes.CDLL, bits: _Codes, policy: CastPolicy, fmt: Format, random: _Codes, width: int, hybrid: Hybrid
) -> tuple[_Codes, _Codes]:
    """Codes and flags of the C function."""
    words = [ROUNDINGS, OVERFLOWS, NAN_SIGNS]
    rounding, overflow, sign = (
        [*table].index(value)
        for table, value in zip(words, (policy.rounding_for(fmt), policy.overflow, policy.nan_sign), strict=True)
    )
    payload = [*Payload].index(policy.payload)
    switches = (policy.nan_to_zero, policy.inf_clip, sign, payload, width, hybrid.strict, hybrid.doc_overflow)
    choice = np.array([rounding, overflow, *switches, policy.flush_source], dtype=np.int32)
    codes, flags = np.empty_like(bits), np.empty_like(bits)
    nan = ctypes.c_int64(-1 if policy.nan is None else policy.nan)
    pointers = [_pointer(array) for array in (bits, random, choice)]
    library.loop_from_f32(*pointers, nan, _pointer(codes), _pointer(flags), ctypes.c_long(bits.size))
    return codes, flags


def agrees(library: ctypes.CDLL, fmt: Format, policy: CastPolicy, bits: _Codes, hybrid: Hybrid | None = None) -> None:
    """Compare codes and flags; random bits of 16 bits and of a width that is longer than what is dropped."""
    mode, hybrid = policy.rounding_for(fmt), hybrid or Hybrid()
    for width in (3, 23) if mode.needs_bits else (16,):
        random = np.random.default_rng(3).integers(0, 1 << width, bits.size, dtype=np.uint32)
        given = {"random_bits": random, "random_width": width} if mode.needs_bits else {}
        expected, flags = fp9.encode(
            bits.view(np.float32),
            fmt,
            mode,
            policy.overflow,
            policy.nan_to_zero,
            inf_clip=policy.inf_clip,
            nan_sign=policy.nan_sign,
            nan=policy.nan,
            payload=policy.payload,
            flush_source=policy.flush_source,
            hybrid=hybrid if mode is Rounding.HYBRID else None,
            flags=True,
            **given,
        )
        found, raised = encoded(library, bits, policy, fmt, random, width, hybrid)
        wrong = np.flatnonzero((found != expected) | (raised != flags))
        shown = [(hex(bits[i]), random[i], found[i], expected[i], raised[i], flags[i]) for i in wrong[:3]]
        assert not wrong.size, (fmt.name, policy, shown)


def policies(fmt: Format) -> list[CastPolicy]:
    """Every rounding, every overflow policy, and each of the other choices where the format takes it."""
    overflow = list(Overflow) if fmt.has_inf or fmt.has_nan else [Overflow.SATURATE]
    modes = [mode for mode in Rounding if fmt.offers(mode)]
    no_nan = not fmt.has_nan
    found = [CastPolicy(mode, beyond, nan_to_zero=no_nan) for mode, beyond in itertools.product(modes, overflow)]
    others: list[dict[str, Any]] = [{"nan_to_zero": True}, {"inf_clip": True}, {"flush_source": True}]
    others += [{"nan_sign": sign, "overflow": Overflow.INF} for sign in NanSign]
    others += [{"payload": payload} for payload in Payload]
    for choice in others:
        policy = CastPolicy(fmt.default_rounding, **({"nan_to_zero": no_nan} | choice))
        try:
            policy.check(fmt)
        except ValueError:
            continue
        found.append(policy)
    return found


@pytest.mark.every(8)
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_fp32_numbers_encode_as_in_the_model(fmt: Format, library: Callable[[Format], ctypes.CDLL]) -> None:
    for policy in policies(fmt):
        agrees(library(fmt), fmt, policy, boundaries(fmt))


def test_switches_of_hybrid_rounding(library: Callable[[Format], ctypes.CDLL]) -> None:
    fmt = format("hif8")
    for strict, doc in itertools.product((False, True), repeat=2):
        agrees(library(fmt), fmt, CastPolicy(Rounding.HYBRID), boundaries(fmt), Hybrid(strict, doc))


def test_a_code_of_nan_may_be_chosen(library: Callable[[Format], ctypes.CDLL]) -> None:
    fmt = format("e5m2")
    agrees(library(fmt), fmt, CastPolicy(nan=0x7E, nan_sign=NanSign.OVERFLOW), boundaries(fmt))


@pytest.mark.long
@pytest.mark.parametrize("mode", [mode for mode in Rounding if not mode.needs_bits and not mode.reads_source], ids=str)
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "hif8", "hfp8_152", "e4m3fnuz"])
def test_every_fp32_number(name: str, mode: Rounding, library: Callable[[Format], ctypes.CDLL], tmp_path: Path) -> None:
    fmt = format(name)
    for first in range(0, 1 << 32, 1 << 24):
        agrees(library(fmt), fmt, CastPolicy(mode, Overflow.INF), np.arange(first, first + (1 << 24), dtype=np.uint32))
