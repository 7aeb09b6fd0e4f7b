"""Sums of products: the kernels against the oracle in exact fractions, and against the host's own FPU."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rosters import FACTORS, PRESETS, TABLED, of_each_kernel, thinned

import fp9
from fp9.engines import ENGINES, Engine, Scaling
from fp9.formats import format
from fp9.oracle import sums as dot_oracle
from fp9.oracle.casts import RandomBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

NARROW = [fmt.name for fmt in FACTORS]
WIDE = [fmt.name for fmt in TABLED if fmt.bits > 8]
VARIANTS = [
    "fmma(K=10)",
    "fmma(K=20,addend=outside)",
    "fma_fp16(products=3)",
    "fma_bf16(products=2,rounding=rdn)",
    "fma_fp16(rounding=rup)",
    "fma_fp16(rounding=rtz)",
    "dlfloat(rounding=rne)",
    "dlfloat(zero_bypass=true)",
    "chunked(L=3)",
    "hopper(truncation=floor)",
    "hopper(chunk=32)",
    "blackwell(G=4,K=9,addend=aligned)",
    "cdna3(G=4,chunk=16)",
    "deepseek(chunk=32,G=8)",
    "fma_fp16(K=3,G=2,rounding=rtz)",
    "dlfloat(K=6,G=4)",
    "hopper(truncation=jam,K=9)",
    "fmma(K=5,addend=aligned,truncation=jam)",
    "fma_fp16(G=2,L=8,interleave=1,overflow=saturate)",
    "fma_fp16(flush_result=true,flush_addend=true)",
    "fma_fp16(G=3,L=6,flush_result=true,flush_addend=true,nan=0xfe00,invalid_nan=0x7c01)",
    "fma_fp16(G=5,infinity_run=2,invalid_nan=0xfe00)",
    "fma_fp16(K=6,G=4,flush_result=true,flush_addend=true,rounding=rup)",
    "exact(result=e5m2,flush_result=true,flush_addend=true,infinity_run=3)",
    "exact(result=e4m3)",
    "exact(result=dlfloat16,rounding=rna)",
]
ENGINES_TESTED = [*PRESETS, *VARIANTS]

Outcome = list[tuple[int, int]]


def by_oracle(
    engine: Engine,
    a: NDArray[Any],
    b: NDArray[Any],
    formats: tuple[str, str],
    c: NDArray[Any],
    scales: list[int] | None = None,
    random: NDArray[Any] | None = None,
) -> Outcome:
    """Codes and flags of every row."""
    outcome = []
    for i in range(len(a)):
        terms = dot_oracle.product_terms(engine, a[i].tolist(), b[i].tolist(), format(formats[0]), format(formats[1]))
        bits = iter(RandomBits(int(r), 16) for r in random[i]) if random is not None else None
        addend = dot_oracle.code_term(int(c[i]), engine.addend_format)
        code, flags = dot_oracle.dot(engine, terms, addend, scales, bits)
        outcome.append((code, int(flags)))
    return outcome


def by_model(
    engine: Engine, a: NDArray[Any], b: NDArray[Any], formats: tuple[str, str], c: NDArray[Any], **options: Any
) -> Outcome:
    """Codes and flags of every row; a second look at the codes by `matmul`, whose kernels are others."""
    codes, flags = fp9.dot(a, b, *formats, engine, c, flags=True, **options)
    if not options:
        for i in range(len(a)):
            product = fp9.matmul(a[i : i + 1], b.T, *formats, engine, np.broadcast_to(c[i], (1, len(b))), threads=1)
            assert product[0, i] == codes[i]
    return list(zip(codes.tolist(), flags.tolist(), strict=True))


def finite(fmt: str) -> NDArray[np.intp]:
    return np.flatnonzero(np.isfinite(format(fmt).table))


def negated(codes: NDArray[Any], fmt: str) -> NDArray[Any]:
    return np.asarray(fp9.encode(-fp9.decode(codes, fmt), fmt))


# --- one product ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formats", "engine"),
    thinned([(("e4m3", "e5m2"), "fma_fp32"), (("hif8", "hfp8_143"), "dlfloat"), (("e5m2", "hfp8_152"), "hopper")]),
    ids=str,
)
def test_all_65536_products_are_those_of_the_oracle(formats: tuple[str, str], engine: str) -> None:
    """The slow oracle gives every third, in which each code of both operands occurs; both kernels give all."""
    a, b = (x.reshape(-1, 1) for x in np.divmod(np.arange(1 << 16), 256))
    c = np.zeros(1 << 16, dtype=np.int64)
    codes, flags = fp9.dot(a, b, *formats, engine, c, flags=True)
    third = slice(None, None, 3)
    want = by_oracle(fp9.engine(engine), a[third], b[third], formats, c[third])
    assert list(zip(codes[third].tolist(), flags[third].tolist(), strict=True)) == want
    every = np.arange(256)
    product = fp9.matmul(every[:, None], every[None], *formats, engine)
    assert np.array_equal(product.reshape(-1), codes)


@pytest.mark.every(11)
@pytest.mark.parametrize("first", thinned(NARROW))
def test_every_format_meets_every_format(first: str) -> None:
    rng = np.random.default_rng(0)
    for second in NARROW:
        formats = first, second
        a, b = (rng.integers(0, 1 << format(fmt).bits, (8, 1)) for fmt in formats)
        c = rng.integers(0, 1 << 16, 8)
        for name in ("fma_fp16", "hopper"):
            engine = fp9.engine(name)
            addend = c << (16 if name == "hopper" else 0)
            assert by_model(engine, a, b, formats, addend) == by_oracle(engine, a, b, formats, addend), second


def test_a_lone_hfp8_product_loses_no_bit_in_dlfloat16_but_may_overflow() -> None:
    a, b = (x.reshape(-1, 1) for x in np.divmod(np.arange(1 << 16), 256))
    for formats in itertools.product(("hfp8_143", "hfp8_152"), repeat=2):
        codes, flags = fp9.dot(a, b, *formats, "dlfloat", flags=True)
        product = format(formats[0]).table[a[:, 0]] * format(formats[1]).table[b[:, 0]]
        small = np.abs(product) <= format("dlfloat16").max
        lowest = np.abs(product) < format("dlfloat16").smallest
        kept = small & (~lowest | (product == 0))
        assert np.array_equal(fp9.decode(codes[kept], "dlfloat16"), product[kept].astype(np.float32))
        assert not flags[kept].any()
        assert small.sum() + np.isnan(product).sum() == len(product) or formats == ("hfp8_152", "hfp8_152")


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES_TESTED)
def test_a_sum_of_no_products_is_c_with_the_nan_of_the_engine(name: str) -> None:
    """Every entry point gives what the oracle gives: `dot`, `matmul` and a batch of matrix products."""
    engine = fp9.engine(name)
    c = addends(engine, 64, "any", np.random.default_rng(0))
    shown = engine.addend_format.nan_code(True), engine.addend_format.inf_code(True)
    c[:2] = [code or 0 for code in shown]
    nothing = np.zeros((64, 0), dtype=np.uint8)
    formats = "e2m1", "e2m1"
    want = by_oracle(engine, nothing, nothing, formats, c)
    assert by_model(engine, nothing, nothing, formats, c) == want
    codes, flags = fp9.matmul(
        nothing.reshape(4, 16, 0)[:, :4],
        nothing.reshape(4, 0, 16)[..., :4],
        *formats,
        engine,
        c.reshape(4, 4, 4),
        flags=True,
    )
    assert list(zip(codes.reshape(-1).tolist(), flags.reshape(-1).tolist(), strict=True)) == want
    is_nan = np.isnan(fp9.decode(c, engine.addend_format))
    nan = engine.output.nan_code(False) if engine.nan.code is None else engine.nan.code
    assert is_nan.any()
    assert {want[i][0] for i in np.flatnonzero(is_nan)} == {nan}


def operands(fmt: str, shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> NDArray[Any]:
    """Codes: near 1, of all sizes, small ones, or any code."""
    if kind == "near 1":
        return np.asarray(fp9.encode(rng.standard_normal(shape), fmt))
    if kind == "small":
        return rng.choice(finite(fmt)[:16], shape)
    return rng.choice(finite(fmt), shape) if kind == "finite" else rng.integers(0, 1 << format(fmt).bits, shape)


def addends(engine: Engine, count: int, kind: str, rng: np.random.Generator) -> NDArray[Any]:
    if kind == "any":
        return rng.integers(0, 1 << engine.addend_format.bits, count)
    numbers = rng.standard_normal(count) * 2.0 ** rng.integers(-30, 30, count)
    return np.asarray(fp9.encode(numbers, engine.addend_format)) * (kind != "zero")


@st.composite
def problems(draw: st.DrawFn, wide: list[str]) -> tuple[tuple[str, str], int, str, str, bool, int]:
    formats = draw(st.sampled_from(NARROW + wide)), draw(st.sampled_from(NARROW + wide))
    depth = draw(st.integers(0, 70))
    kind = draw(st.sampled_from(["near 1", "finite", "small", "any"]))
    addend = draw(st.sampled_from(["zero", "any", "normal"]))
    return formats, depth, kind, addend, draw(st.booleans()), draw(st.integers(0, 1 << 32))


@pytest.mark.every(13)
@pytest.mark.parametrize("name", ENGINES_TESTED)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_sums_are_those_of_the_oracle(name: str, data: st.DataObject) -> None:
    engine = fp9.engine(name)
    wide = [] if engine.window.width is not None else WIDE
    formats, depth, kind, addend, cancels, seed = data.draw(problems(wide))
    rng = np.random.default_rng(seed)
    a, b = (operands(fmt, (3, depth), kind, rng) for fmt in formats)
    half = depth // 2
    if cancels and kind != "any" and half:
        a[:, half : 2 * half] = a[:, :half]
        b[:, half : 2 * half] = negated(b[:, :half], formats[1])
    c = addends(engine, 3, addend, rng)
    if (
        engine.chunk.interleave
        and depth % (engine.chunk.length or 1)
        and not any(format(fmt).has_zero for fmt in formats)
    ):
        with pytest.raises(ValueError, match="neither has a zero that fills the chunks"):
            by_model(engine, a, b, formats, c)
        return
    assert by_model(engine, a, b, formats, c) == by_oracle(engine, a, b, formats, c)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", thinned([*PRESETS, "fmma(K=6)", "fma_bf16(products=2)", "chunked(L=1)"]))
def test_ties_and_alignment_at_every_distance(name: str) -> None:
    """Two products whose exponents differ by every distance to 29 (a sparse ruler), beside an addend at each."""
    engine = fp9.engine(name)
    exponents = np.array([0, 1, 2, 14, 18, 21, 24, 27, 29]) - 14.0
    large, small, c = (x.reshape(-1) for x in np.meshgrid(exponents, exponents, exponents))
    rng = np.random.default_rng(1)
    signs = rng.choice([-1.0, 1.0], (3, large.size))
    a = fp9.encode(np.stack([signs[0] * 1.5 * 2**large, signs[1] * 2**small], axis=1), "e5m2")
    b = fp9.encode(np.broadcast_to([1.75, 1.0], a.shape), "e4m3")
    addend = fp9.encode(signs[2] * 1.25 * 2**c, engine.addend_format)
    codes, flags = fp9.dot(a, b, "e5m2", "e4m3", engine, addend, flags=True)
    want = by_oracle(engine, a, b, ("e5m2", "e4m3"), addend)
    assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == want


@pytest.mark.parametrize(
    "formats", [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("hif8", "hif8"), ("fp16", "fp16")], ids="x".join
)
def test_fma_fp32_is_the_hosts_addition_of_exact_products(formats: tuple[str, str]) -> None:
    rng = np.random.default_rng(2)
    a, b = operands(formats[0], (50, 300), "any", rng), operands(formats[1], (300, 40), "near 1", rng)
    b[:, 0] = operands(formats[1], (300,), "any", rng)
    x, y = format(formats[0]).table[a].astype(np.float32), format(formats[1]).table[b].astype(np.float32)
    total = np.zeros((50, 40), dtype=np.float32)
    with np.errstate(all="ignore"):
        for k in range(300):
            total = total + x[:, k : k + 1] * y[k]
    patterns = np.where(np.isnan(total), np.uint32(0x7FC00000), total.view(np.uint32))
    assert np.array_equal(fp9.matmul(a, b, *formats, "fma_fp32"), patterns)


@pytest.mark.parametrize(
    "formats", [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("hif8", "hif8"), ("bf16", "fp16")], ids="x".join
)
def test_exact_sums_do_not_depend_on_order(formats: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    a, b = operands(formats[0], (8, 500), "finite", rng), operands(formats[1], (500, 9), "finite", rng)
    order = rng.permutation(500)
    ours = fp9.matmul(a, b, *formats, "exact")
    assert np.array_equal(ours, fp9.matmul(a[:, order], b[order], *formats, "exact"))
    assert np.array_equal(ours, fp9.matmul(a, b, *formats, "exact", flags=True)[0])


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.every(14)
@pytest.mark.parametrize("name", ENGINES_TESTED)
def test_scales_enter_where_the_engine_says(name: str) -> None:
    engine = fp9.engine(name)
    rng = np.random.default_rng(4)
    formats = "e4m3", "e5m2"
    a, b = (operands(fmt, (5, 48), "near 1", rng) for fmt in formats)
    c = addends(engine, 5, "normal", rng)
    for scale_a, scale_b in ((3, -7), (-60, -60), (100, 27)):
        want = by_oracle(engine, a, b, formats, c, [scale_a + scale_b] * 48)
        assert by_model(engine, a, b, formats, c, scale_a=scale_a, scale_b=scale_b) == want
        product = fp9.matmul(a, b.T, *formats, engine, np.tile(c[:, None], 5), scale_a=[scale_a] * 5, scale_b=scale_b)
        assert np.diag(product).tolist() == [code for code, _ in want]


SCALED_PRODUCTS = [name for name in PRESETS if ENGINES[name].step.scaling is Scaling.PRODUCTS]


@pytest.mark.parametrize("name", [*SCALED_PRODUCTS, "hopper(chunk=32)", "deepseek(chunk=32)"])
def test_blocks_of_32_have_their_own_scales(name: str) -> None:
    engine = fp9.engine(name)
    rng = np.random.default_rng(5)
    formats = "e4m3", "e4m3"
    a, b = (operands(fmt, (4, 96), "near 1", rng) for fmt in formats)
    c = addends(engine, 4, "normal", rng)
    scale_a, scale_b = rng.integers(-9, 9, (2, 4, 3))
    for i in range(4):
        spread = np.repeat(scale_a[i] + scale_b[i], 32).tolist()
        want = by_oracle(engine, a[i : i + 1], b[i : i + 1], formats, c[i : i + 1], spread)
        scales = {"scale_a": scale_a[i : i + 1], "scale_b": scale_b[i : i + 1], "block": 32}
        assert by_model(engine, a[i : i + 1], b[i : i + 1], formats, c[i : i + 1], **scales) == want
        product = fp9.matmul(
            a, b.T, *formats, engine, np.tile(c[:, None], 4), scale_a=scale_a, scale_b=scale_b.T, block=32
        )
        assert product[i, i] == want[0][0]


@pytest.mark.parametrize("name", [*PRESETS, "chunked(L=4)"])
def test_stochastic_rounding_takes_a_number_for_every_rounding(name: str) -> None:
    engine = fp9.engine(f"{name.rstrip(')')}{',' if '(' in name else '('}rounding=sr)")
    rng = np.random.default_rng(6)
    formats = "e4m3", "e5m2"
    a, b = (operands(fmt, (6, 20), "near 1", rng) for fmt in formats)
    c = addends(engine, 6, "normal", rng)
    bits = rng.integers(0, 1 << 16, (6, engine.steps(20)))
    assert by_model(engine, a, b, formats, c, random_bits=bits) == by_oracle(engine, a, b, formats, c, None, bits)


def test_zero_times_nan_inf_passes_the_addend_where_it_is_bypassed() -> None:
    one = int(fp9.encode(1.0, "dlfloat16"))
    dot = lambda engine: int(fp9.dot([0], [0x7F], "hfp8_143", "hfp8_143", engine, one))  # noqa: E731
    assert (dot("dlfloat"), dot("dlfloat(zero_bypass=true)")) == (0x7FFF, one)


def test_a_nan_operand_is_quiet_and_an_invalid_sum_is_not() -> None:
    inf, zero, nan = 0x7C, 0x00, 0x7F
    for a, b, flag in (([nan], [zero], 0), ([inf], [zero], 16), ([inf, inf], [0x3C, 0xBC], 16)):
        for engine in ("fma_fp32", "fma_fp16", "hopper", "exact", "fmma(result=fp16,rounding=rne)"):
            code, flags = fp9.dot(a, b, "e5m2", "e5m2", engine, flags=True)
            assert (int(code), int(flags)) == (fp9.engine(engine).output.nan_code(False), flag)


def test_an_empty_sum_is_the_addend() -> None:
    assert fp9.dot(np.zeros((2, 0), int), np.zeros((2, 0), int), "e4m3", "e4m3", c=[1, 2]).tolist() == [1, 2]
    assert fp9.matmul(np.zeros((2, 0), int), np.zeros((0, 3), int), "e4m3", "e4m3", "hopper").shape == (2, 3)
    assert fp9.matmul(np.zeros((0, 4), int), np.zeros((4, 3), int), "e4m3", "e4m3", "hopper").shape == (0, 3)


@pytest.mark.parametrize("name", of_each_kernel(PRESETS))
def test_a_product_with_one_column_has_the_sums_of_its_column(name: str) -> None:
    """Several sums with NaN or an overflow are recomputed, with one row of b."""
    a = np.array([[0x7E, 0x7E, 0x38], [0x7F, 0x38, 0x7E], [0x38, 0x7E, 0x7F], [0x7E, 0xFE, 0x7E]], np.uint8)
    column = np.array([[0x7E], [0x7E], [0x38]], np.uint8)
    codes, flags = fp9.matmul(a, column, "e4m3", "e4m3", name, flags=True)
    expected = fp9.dot(a, column.T, "e4m3", "e4m3", name, flags=True)
    assert np.array_equal(codes[:, 0], expected[0])
    assert np.array_equal(flags[:, 0], expected[1])
    of_columns = fp9.matmul(a, np.repeat(column, 2, axis=1), "e4m3", "e4m3", name, flags=True)
    assert np.array_equal(codes[:, 0], of_columns[0][:, 1])
    assert np.array_equal(flags[:, 0], of_columns[1][:, 1])


def test_shapes_broadcast_as_numpy_does() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 100, (3, 1, 7)), rng.integers(0, 100, (4, 7))
    codes = fp9.dot(a, b, "e4m3", "e4m3")
    assert codes.shape == (3, 4)
    assert np.array_equal(codes, fp9.matmul(a[:, 0], b.T, "e4m3", "e4m3"))


@pytest.mark.slow
def test_threads_do_not_change_a_bit_and_progress_rises_to_1() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 100, (300, 256)), rng.integers(0, 100, (256, 400))
    seen: list[float] = []
    one = fp9.matmul(a, b, "e4m3", "e4m3", "hopper(truncation=floor)", threads=1, progress=seen.append)
    assert np.array_equal(one, fp9.matmul(a, b, "e4m3", "e4m3", "hopper(truncation=floor)", threads=2))
    assert seen == sorted(seen) and seen[-1] == 1 and len(seen) > 1


def errors() -> Iterator[tuple[dict[str, Any], type[Exception], str]]:
    """Arguments beside codes of (2, 4) and (4, 3), and what is said."""
    yield {"a": np.zeros((2, 5), int)}, ValueError, r"give \(M, K\) and \(K, N\)"
    yield {"c": [1]}, ValueError, r"give codes of fp32 of shape \(2, 3\)"
    yield {"a": np.zeros((2, 4))}, TypeError, "unsigned integers"
    yield {"format_a": "fp32"}, ValueError, "at most 19 bits"
    yield {"engine": "abacus"}, ValueError, "unknown engine"
    yield {"threads": 0}, ValueError, "give 1 or more"
    yield {"scale_a": 0.5}, TypeError, "exponents of two"
    yield {"scale_a": 200}, ValueError, "outside -127..127"
    yield {"scale_b": [1, 2]}, ValueError, r"shape \(3,\)"
    yield {"scale_b": [1] * 3, "block": 0}, ValueError, "1 or more"
    yield {"engine": "hopper", "scale_a": 1, "block": 32}, ValueError, "chunk=32"
    yield {"random_bits": 3}, ValueError, "give sr"
    yield {"engine": "fma_fp16(rounding=sr)"}, ValueError, "needs random bits"
    yield {"engine": "fma_fp16(rounding=sr)", "random_bits": 3, "random_width": 50}, ValueError, "give 1 to"
    yield {"engine": "fma_fp16(rounding=sr)", "random_bits": [1, 2]}, ValueError, r"shape \(2, 3, 4\)"


@pytest.mark.parametrize(("changes", "error", "words"), list(errors()), ids=lambda x: str(x)[:30])
def test_what_does_not_fit_is_said_in_a_sentence(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    arguments = {"a": np.zeros((2, 4), int), "b": np.zeros((4, 3), int), "format_a": "e4m3", "format_b": "e4m3"}
    with pytest.raises(error, match=words):
        fp9.matmul(**(arguments | changes))


@pytest.mark.slow
def test_the_general_kernel_is_compiled_once_whatever_may_be_written_to_and_whatever_the_result_is() -> None:
    """It takes seconds: sums into 16 and 32 bits, with a window, scaled, of rows that stand for all, are one type."""
    program = """import numpy as np, fp9, fp9.kernels.engine_steps as steps
codes = np.arange(24, dtype=np.uint8).reshape(4, 6)
for engine in ("fma_fp32", "dlfloat", "hopper"):
    for a, options in ((codes, {}), (codes[0], {}), (codes, {"scale_a": np.arange(4), "scale_b": 1})):
        fp9.dot(a, codes, "e4m3", "e5m2", engine, flags=True, **options)
print(len(steps.sum_rows.overloads))"""  # in a process of its own, which has not met the types of other tests
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
