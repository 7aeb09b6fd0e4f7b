"""Sums of scaled blocks: against mmasim, against the oracle in fractions, and what does not fit."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.model.sums import mmasim_blocks as vectors
from tests.support.rosters import EVERY_FORMAT, GROUPED, INFINITE_SCALES, PRESETS, thinned

import fp9
from fp9.engines import Scaling
from fp9.formats import Format, Rounding
from fp9.formats.policy import CastPolicy
from fp9.oracle import casts as cast_oracle
from fp9.oracle import sums as dot_oracle
from fp9.units import Dot, Mac

FILE = Path(vectors.__file__).with_suffix(".npz")
FORMS = list(vectors.forms())
SCALES = [fmt.name for fmt in EVERY_FORMAT if not fmt.signed]


@pytest.mark.parametrize("kind", vectors.KINDS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_block_scaled_sums_are_the_committed_ones_of_mmasim(form: vectors.Form, kind: str) -> None:
    x, theirs = vectors.stored(FILE, form, kind)
    assert np.array_equal(vectors.with_one_nan(vectors.fp9_results(form, x)), vectors.with_one_nan(theirs))


def test_the_committed_results_are_those_of_the_manifest() -> None:
    manifest = json.loads(FILE.with_suffix(".json").read_text())
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == manifest["sha256"]
    assert set(manifest["forms"]) == {form.name for form in FORMS} and len(FORMS) == 8 + 25


@pytest.mark.skipif(importlib.util.find_spec("mmasim") is None, reason="mmasim is not installed")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_block_scaled_sums_are_those_of_mmasim(form: vectors.Form) -> None:
    compared, different = vectors.differing(form, 2000, seed=1)
    assert compared >= 2000 and different == 0


def scaled_problem(fmt: str, scale: str, block: int, seed: int, total: Format | str = "fp32") -> dict[str, Any]:
    """Two vectors of 72 codes, scales of their blocks, and an addend."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 1 << fp9.format(fmt).bits, (2, 1, 72))
    a[rng.random(a.shape) < 0.4] = 0
    scales = rng.integers(0, 1 << fp9.format(scale).bits, (2, 1, -(-72 // block)))
    c = rng.standard_normal(1) * 2.0 ** rng.integers(-20, 20)
    return {"a": a, "b": b, "scales": scales, "c": fp9.encode(c, total)}


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "name",
    [
        *GROUPED,
        "blackwell_nvfp4(K=20,group=4,zero_exponent=none)",
        "blackwell_nvfp4(G=32,truncation=jam)",
        "blackwell_nvfp4(result=fp16,overflow=saturate)",
    ],
)
def test_groups_are_those_of_the_oracle(name: str, scale: str) -> None:
    engine = fp9.engine(name)
    for seed in range(25):
        fmt = ("e2m1", "e1m2", "e2m1", "e2m3")[seed % 4]
        x = scaled_problem(fmt, scale, 16, seed, engine.addend_format)
        sa, sb = x["scales"]
        options = {"scale_a": sa, "scale_b": sb, "scale_format": scale, "block": 16}
        codes, flags = fp9.dot(x["a"], x["b"], fmt, fmt, engine, x["c"], flags=True, **options)
        terms = dot_oracle.product_terms(
            engine, x["a"][0].tolist(), x["b"][0].tolist(), fp9.format(fmt), fp9.format(fmt)
        )
        pairs = zip(np.repeat(sa[0], 16)[:72].tolist(), np.repeat(sb[0], 16)[:72].tolist(), strict=True)
        factors = [dot_oracle.scale_term(i, j, fp9.format(scale)) for i, j in pairs]
        addend = dot_oracle.code_term(int(x["c"][0]), engine.addend_format)
        code, raised = dot_oracle.dot(engine, terms, addend, factors)
        assert (int(codes[0]), int(flags[0])) == (code, int(raised))
        options["scale_b"] = sb.T
        assert fp9.matmul(x["a"], x["b"].T, fmt, fmt, engine, x["c"][None], **options).item() == code


@pytest.mark.parametrize("name", GROUPED)
def test_groups_without_scales_and_with_exponents_are_those_of_the_oracle(name: str) -> None:
    engine = fp9.engine(name)
    for seed in range(20):
        x = scaled_problem("e2m1", "e8m0", 16, seed)
        terms = dot_oracle.product_terms(
            engine, x["a"][0].tolist(), x["b"][0].tolist(), fp9.format("e2m1"), fp9.format("e2m1")
        )
        addend = dot_oracle.code_term(int(x["c"][0]), fp9.format("fp32"))
        for exponent in (None, 7, -60):
            code, flags = fp9.dot(x["a"], x["b"], "e2m1", "e2m1", engine, x["c"], flags=True, scale_a=exponent)
            scales = None if exponent is None else [exponent] * 72
            want = dot_oracle.dot(engine, terms, addend, scales)
            assert (int(code[0]), int(flags[0])) == (want[0], int(want[1]))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1", "mxint8"])
def test_mx_sums_a_block_exactly_and_rounds_once(fmt: str, scale: str) -> None:
    """One rounding to FP32 for each block: c + the exact sum of 32 products times both scales, in fractions."""
    element, shared, fp32 = fp9.format(fmt), fp9.format(scale), fp9.format("fp32")
    for seed in range(12):
        x = scaled_problem(fmt, scale, 32, seed)
        a, b, (sa, sb) = x["a"][0], x["b"][0], x["scales"]
        if scale == "e8m0":
            sa, sb = sa % 80 + 87, sb % 80 + 87  # no overflow
        special = np.isnan(element.table[a]).any() or np.isnan(element.table[b]).any()
        special |= np.isnan(shared.table[sa]).any() or np.isnan(shared.table[sb]).any()
        code = fp9.dot(a, b, fmt, fmt, "mx", x["c"][0], scale_a=sa[0], scale_b=sb[0], block=32, scale_format=scale)
        if special:
            assert np.isnan(fp9.decode(code, "fp32"))
            continue
        total = int(x["c"][0])
        for i in range(3):
            products = [element.value_of(int(p)) * element.value_of(int(q)) for p, q in zip(a, b, strict=True)]
            scales = shared.value_of(int(sa[0, i])) * shared.value_of(int(sb[0, i]))
            exact = fp32.value_of(total) + sum(products[32 * i : 32 * i + 32], Fraction(0)) * scales
            total, _ = cast_oracle.encode(cast_oracle.exact(exact), fp32, CastPolicy(Rounding.RNE))
        assert int(code) == total


def test_codes_of_e8m0_scale_as_their_exponents() -> None:
    rng = np.random.default_rng(12)
    a, b = rng.integers(0, 0x70, (5, 96)), rng.integers(0, 0x70, (96, 7))
    exponents_a, exponents_b = rng.integers(-20, 20, (5, 3)), rng.integers(-20, 20, (3, 7))
    for name in ("blackwell", "mx", "exact", "hopper(chunk=32)", "fma_fp32"):
        by_exponent = fp9.matmul(a, b, "e4m3", "e4m3", name, scale_a=exponents_a, scale_b=exponents_b, block=32)
        codes = {"scale_a": exponents_a + 127, "scale_b": exponents_b + 127, "scale_format": "e8m0", "block": 32}
        assert np.array_equal(fp9.matmul(a, b, "e4m3", "e4m3", name, **codes), by_exponent)
        codes["scale_a"][2, 1] = 255
        poisoned = fp9.decode(fp9.matmul(a, b, "e4m3", "e4m3", name, **codes), "fp32")
        assert np.isnan(poisoned[2]).all() and not np.isnan(poisoned[[0, 1, 3, 4]]).any()


def is_refused(name: str, scale: str) -> bool:
    """Whether an engine aligns products by their scales' exponents, and the scale has more than that."""
    engine = fp9.engine(name)
    aligned = engine.window.width is not None and engine.step.group is None and engine.step.scaling is Scaling.PRODUCTS
    return aligned and fp9.format(scale).precision > 1


SCALED = [*PRESETS, "hopper(chunk=32)", "fma_fp16(rounding=rup)", "exact(result=e4m3)"]


@pytest.mark.every(5)
@pytest.mark.parametrize(("name", "scale"), thinned(itertools.product(SCALED, SCALES)))
def test_scales_as_codes_are_those_of_the_oracle_in_every_engine(name: str, scale: str) -> None:
    """Elements are numbers; scales any codes, or near 1: zeros and NaN among them."""
    engine, shared, fmt, rng = fp9.engine(name), fp9.format(scale), fp9.format("e4m3"), np.random.default_rng(7)
    if is_refused(name, scale):
        with pytest.raises(ValueError, match="powers of two"):
            fp9.dot([0], [0], fmt, fmt, engine, scale_a=1, scale_format=scale)
        return
    one = int(fp9.encode(1.0, shared))
    blocks = engine.chunk.length or (32 if engine.step.scaling is Scaling.PRODUCTS or engine.step.exact else 72)
    for seed in range(8):
        a, b = (rng.integers(0, 0x7F, (1, 72)) | rng.integers(0, 2, (1, 72)) << 7 for _ in range(2))
        count = -(-72 // blocks)
        low, high = (0, 1 << shared.bits) if seed < 3 else (one - 9, one + 9)
        sa, sb = rng.integers(low, high, (2, 1, count))
        c = np.asarray(fp9.encode(rng.standard_normal(1), engine.addend_format))
        options: dict[str, Any] = {"scale_a": sa, "scale_b": sb, "scale_format": scale, "block": blocks}
        if blocks == 72 and engine.chunk.length is None:
            options |= {"scale_a": sa[:, 0], "scale_b": sb[:, 0], "block": None}
        pairs = zip(np.repeat(sa[0], blocks)[:72].tolist(), np.repeat(sb[0], blocks)[:72].tolist(), strict=True)
        terms = dot_oracle.product_terms(engine, a[0].tolist(), b[0].tolist(), fmt, fmt)
        factors = [dot_oracle.scale_term(i, j, shared) for i, j in pairs]
        want = dot_oracle.dot(engine, terms, dot_oracle.code_term(int(c[0]), engine.addend_format), factors)
        code, flags = fp9.dot(a, b, fmt, fmt, engine, c, flags=True, **options)
        assert (int(code[0]), int(flags[0])) == (want[0], int(want[1]))
        options["scale_b"] = options["scale_b"].T
        assert fp9.matmul(a, b.T, fmt, fmt, engine, c[None], **options).item() == want[0]


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
@pytest.mark.parametrize("name", ["fma_fp32", "fma_bf16", "arm_fdot2", "exact"])
def test_scales_with_a_fraction_lengthen_products_of_wide_operands(name: str, fmt: str) -> None:
    """The vector kernels of matrices, chosen by the products' bits, give what the general one gives of each dot."""
    rng = np.random.default_rng(5)
    a = np.asarray(fp9.encode(rng.standard_normal((6, 64)), fmt))
    b = np.asarray(fp9.encode(rng.standard_normal((64, 5)), fmt))
    sa, sb = rng.integers(0x30, 0x40, (6, 4)), rng.integers(0x30, 0x40, (4, 5))
    options: dict[str, Any] = {"scale_format": "ue4m3", "block": 16}
    codes = fp9.matmul(a, b, fmt, fmt, name, scale_a=sa, scale_b=sb, **options)
    rows = {"scale_a": sa[:, None], "scale_b": sb.T[None], **options}
    assert np.array_equal(codes, fp9.dot(a[:, None], b.T[None], fmt, fmt, name, **rows))


@pytest.mark.parametrize("name", ["blackwell_nvfp4", "mx"])
def test_batches_of_scaled_blocks_are_their_matrices_one_by_one(name: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 16, (2, 3, 4, 64)), rng.integers(0, 16, (3, 64, 5))
    sa, sb = rng.integers(0x20, 0x50, (2, 3, 4, 4)), rng.integers(0x20, 0x50, (3, 4, 5))
    x, options = fp9.operand(b, "e2m1"), {"scale_format": "ue4m3", "block": 16}
    codes = fp9.matmul(a, x, "e2m1", engine=name, scale_a=sa, scale_b=sb, **options)
    for i, j in np.ndindex(2, 3):
        own = {"scale_a": sa[i, j], "scale_b": sb[j], **options}
        assert np.array_equal(codes[i, j], fp9.matmul(a[i, j], b[j], "e2m1", "e2m1", name, **own))


@pytest.mark.parametrize("name", ["fma_fp32", "mx", "exact", "hopper"])
def test_an_infinity_times_a_scale_of_zero_is_an_invalid_operation(name: str) -> None:
    """As infinity times zero is (numerics.md, sums), whichever operand has the scale; a NaN operand is quiet."""
    options: dict[str, Any] = {"scale_a": 0, "scale_format": "ue4m3", "flags": True}
    for a, b, raised in ((0x7C, 0x3C, 16), (0x3C, 0x7C, 16), (0x7D, 0x3C, 0), (0x3C, 0x7D, 0)):
        code, flags = fp9.dot([a], [b], "e5m2", "e5m2", name, **options)
        assert (int(code), int(flags)) == (0x7FC00000, raised)


@pytest.mark.parametrize("scale", INFINITE_SCALES, ids=str)
def test_a_scale_with_infinity_is_refused(scale: Format) -> None:
    """MX and NVFP4 have NaN alone beside the numbers of a scale: no source says what an infinite scale gives."""
    words = f"scale={scale.name} given; give an unsigned format without infinity"
    with pytest.raises(ValueError, match=words):
        Dot("unit", *[(fp9.format("e4m3"),)] * 2, fp9.engine("mx(G=2)"), scale=scale)
    codes = np.zeros(2, dtype=np.uint8)
    with pytest.raises(ValueError, match=f"scale_format={scale.name} given"):
        fp9.dot(codes, codes, "e4m3", "e4m3", "mx", scale_a=codes[0], scale_format=scale)


def test_codes_given_as_exponents_are_refused() -> None:
    codes, scales = np.zeros((4, 32), dtype=np.uint8), np.full((4, 1), 127, dtype=np.uint8)
    for given in ({"scale_a": scales}, {"scale_b": scales.T}):
        with pytest.raises(TypeError, match="uint8 given, the type of codes; give signed exponents of two, or"):
            fp9.matmul(codes, codes.T, "e2m1", "e2m1", "blackwell", block=32, **given)
    with pytest.raises(TypeError, match="scale_a of float64 given"):
        fp9.dot(codes, codes, "e2m1", "e2m1", scale_a=0.5)


@pytest.mark.parametrize(
    ("kind", "elements", "name", "given", "words"),
    [
        (Dot, "e2m1", "blackwell_nvfp4", {}, "engine.step.group=16 given; give the format of scales as well"),
        (Dot, "e2m1", "mx(G=4)", {"block": 2}, "block of 2 given; give the format of scales as well"),
        (Dot, "e2m1", "mx(G=4)", {"block": 3, "scale": "ue4m3"}, "block of 3 given; give a divisor of the 4 products"),
        (Dot, "e2m1", "blackwell_nvfp4", {"block": 8, "scale": "ue4m3"}, "scales groups of 16; give a multiple"),
        (Dot, "e4m3", "blackwell_nvfp4", {"scale": "ue4m3"}, "give formats of numbers alone, such as e2m1"),
        (Dot, "e2m1", "blackwell", {"scale": "ue4m3"}, "for which scales are powers of two"),
        (Dot, "e4m3", "mx(G=4,zero_bypass=true)", {"scale": "e8m0"}, "scale=e8m0 given, and .* has zero_bypass"),
        (Mac, "e2m1", "exact(G=4)", {"scale": "e8m0"}, "keeps the exact sum; give one such as mx"),
        (Mac, "e2m1", "hopper(G=4)", {"scale": "e8m0"}, "scales the sums of chunks; give one such as mx"),
    ],
)
def test_scales_that_a_unit_does_not_take_are_refused(
    kind: type[Dot], elements: str, name: str, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=f"unit: .*{words}"):
        kind("unit", (fp9.format(elements),), (fp9.format(elements),), fp9.engine(name), **given)


BAD = [
    ({"scale_format": "e4m3", "scale_a": 1}, "without infinity, such as e8m0, ue4m3"),
    ({"scale_format": "ue4m3", "scale_a": 128}, "7 bits"),
    ({"scale_format": "ue4m3", "scale_a": 1, "engine": "blackwell"}, "powers of two"),
    ({"scale_format": "ue4m3", "scale_a": [1, 2], "block": 16}, r"shape \(2, 4\)"),
    ({"engine": "blackwell_nvfp4", "scale_a": 1, "block": 8}, "scales groups of 16"),
    ({"engine": "blackwell_nvfp4", "format_a": "e4m3"}, "numbers alone"),
    ({"engine": "blackwell_nvfp4", "format_a": "e3m2", "format_b": "e3m2"}, "narrower formats"),
    ({"engine": "blackwell_nvfp4(group=3)"}, "divisor of the 64 products"),
    ({"engine": "blackwell_nvfp4(chunk=128)"}, "no chunks"),
]


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_what_does_not_fit_is_said_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    arguments = {"a": np.zeros((2, 64), int), "b": np.zeros((64, 3), int), "format_a": "e2m1", "format_b": "e2m1"}
    if "block" in changes and "scale_a" in changes and changes["scale_a"] == 1:
        changes = changes | {"scale_a": np.ones((2, 8), int)}
    with pytest.raises(ValueError, match=words):
        fp9.matmul(**(arguments | {"engine": "mx"} | changes))
