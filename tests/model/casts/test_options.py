"""Scale, stochastic presets, other packages' arrays, threads, flags and refusals of casts."""

from __future__ import annotations

import functools
import inspect
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import en_dtypes
import ml_dtypes
import numpy as np
import pytest
from tests.support.rosters import DETERMINISTIC, TABLED, TARGETS, policy_of, thinned

import fp9
from fp9.casts.arrays import as_codes
from fp9.casts.halves import TABLE_PAYS
from fp9.casts.plans import encoder
from fp9.casts.request import NOTHING, Request, universal
from fp9.casts.sources import Hybrid
from fp9.formats import dtypes as interop
from fp9.formats.rounding import Rounding


def numbers(size: int = 4000, dtype: type = np.float32) -> np.ndarray:
    generator = np.random.default_rng(0)
    return (generator.choice([-1, 1], size) * 2.0 ** generator.uniform(-40, 20, size)).astype(dtype)


# --- scale --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0, 5, -9])
@pytest.mark.parametrize("fmt", TARGETS, ids=str)
def test_scale_is_a_factor_on_the_exponent(fmt: fp9.Format, scale: int) -> None:
    x = numbers()
    whole = fp9.encode(np.ldexp(x.astype(np.float64), scale), fmt)
    assert np.array_equal(fp9.encode(x, fmt, scale=-scale), whole)
    assert np.array_equal(fp9.encode(x.astype(np.float64), fmt, scale=-scale), whole)
    assert np.array_equal(fp9.encode(x, fmt, scale=np.full((x.size,), -scale)), whole)


def test_scale_broadcasts_and_decode_undoes_it() -> None:
    x = np.float32([[1.0, 2.0], [3.0, 4.0]])
    codes = fp9.encode(x, "e4m3", scale=[[-1], [2]])
    assert fp9.decode(codes, "e4m3").tolist() == [[2.0, 4.0], [0.75, 1.0]]
    assert np.array_equal(fp9.decode(codes, "e4m3", scale=[[-1], [2]]), x)


def test_scale_is_exact_beyond_the_range_of_float64() -> None:
    tiny = np.float64([5e-324, -5e-324])
    assert fp9.decode(fp9.encode(tiny, "e4m3", scale=-1074), "e4m3").tolist() == [1.0, -1.0]
    assert fp9.encode(np.float64([1e300]), "e4m3", overflow="inf", scale=-4000).tolist() == [0x7F]
    assert fp9.encode(np.float64([1e300]), "e4m3", "rup", scale=4000).tolist() == [1]


# --- stochastic rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", TABLED, ids=str)
def test_stochastic_rounding_never_moves_exact_values(fmt: fp9.Format) -> None:
    values = fmt.table[fmt.ordered_magnitudes()].astype(np.float32)
    codes = fp9.encode(values, fmt, "sr", random_bits=np.full(values.shape, (1 << 16) - 1))
    assert np.array_equal(fp9.decode(codes, fmt), values)


STOCHASTIC_CALLS: dict[str, Callable[[Any, int], Any]] = {
    "encode": lambda bits, n: fp9.encode(np.full(n, 0.3), "e4m3", "sr", random_bits=bits),
    "cast": lambda bits, n: fp9.cast(np.full(n, 0x3EAA0000), "fp32", "e4m3", "sr", random_bits=bits),
    "array": lambda bits, n: fp9.array(np.full(n, 0.3), "e4m3", rounding="sr", random_bits=bits).__array__(),
    "astype": lambda bits, n: (
        fp9.array(np.full(n, 0.3), "fp16").astype("e4m3", rounding="sr", random_bits=bits).__array__()
    ),
    "fake_quantise": lambda bits, n: fp9.fake_quantise(np.full(n, 0.3), "e4m3", rounding="sr", random_bits=bits),
    "quantise": lambda bits, n: fp9.quantise(np.full(n, 0.25), "mxfp8_e4m3", rounding="sr", random_bits=bits).codes,
    "dot": lambda bits, n: fp9.dot(np.full((n, 1), 0x39), [0x39], "e4m3", "e4m3", SR_ENGINE, random_bits=bits),
    "matmul": lambda bits, n: fp9.matmul(np.full((n, 1), 0x39), [[0x39]], "e4m3", "e4m3", SR_ENGINE, random_bits=bits),
}
SR_ENGINE = "fma_fp16(rounding=sr)"


@pytest.mark.parametrize("call", STOCHASTIC_CALLS)
def test_elements_share_no_random_bits(call: str) -> None:
    """One integer for many elements moves all of them the same way: their mean is wrong."""
    of = STOCHASTIC_CALLS[call]
    with pytest.raises(ValueError, match=r"^random_bits=42 given; give integers of shape \(4"):
        of(42, 4)
    with pytest.raises(TypeError, match="random_bits of float64 given"):
        of(np.full(4, 42.0), 4)
    assert of(42, 1).size == 1


def test_a_generator_gives_the_same_bits_for_the_same_seed_and_the_mean_is_right() -> None:
    x = np.full(1 << 16, 1 + 0.125 * 0.3, dtype=np.float32)
    one, two = (fp9.encode(x, "e4m3", "sr", rng=np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, two)
    assert abs((one == 0x39).mean() - 0.3) < 0.01


def test_nvidia_rs_shares_a_word_between_four_elements() -> None:
    """numerics.md: f and b take the halves, e and a the same halves bit-reversed; memory order is f, e, b, a."""
    word = np.array([0x8000_0001], dtype=np.uint32)
    halves = [0x0001, 0x8000, 0x8000, 0x0001]
    x = np.full(4, 1.07, dtype=np.float32)
    got = fp9.encode(x, "e4m3", "sr", random_bits=word, stochastic="nvidia_rs")
    assert np.array_equal(got, fp9.encode(x, "e4m3", "sr", random_bits=np.array(halves)))


@pytest.mark.parametrize(("name", "bits"), [("e4m3", 20), ("e5m2", 21)])
def test_amd_sr_takes_the_top_of_the_seed(name: str, bits: int) -> None:
    seeds = np.random.default_rng(0).integers(0, 1 << 32, 4000, dtype=np.uint32)
    got = fp9.encode(numbers(), name, "sr", random_bits=seeds, stochastic="amd_sr")
    want = fp9.encode(numbers(), name, "sr", random_bits=seeds >> np.uint32(32 - bits), random_width=bits)
    assert np.array_equal(got, want)


def test_intel_bias_is_eight_bits() -> None:
    bits = np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8)
    got = fp9.encode(numbers(), "e5m2", "sr", random_bits=bits, stochastic="intel_bias")
    assert np.array_equal(got, fp9.encode(numbers(), "e5m2", "sr", random_bits=bits, random_width=8))


# --- other packages' arrays ---------------------------------------------------------------------------------


def test_arrays_of_other_packages_are_codes_without_a_copy() -> None:
    codes = np.arange(256, dtype=np.uint8)
    for dtype, name in ((ml_dtypes.float8_e4m3fn, "e4m3"), (en_dtypes.hifloat8, "hif8"), (ml_dtypes.bfloat16, "bf16")):
        given = codes.view(dtype)
        assert np.shares_memory(as_codes(given, fp9.format(name)), codes)
    assert np.shares_memory(interop.as_dtype(codes, "e4m3"), codes)
    for dtype in (ml_dtypes.float8_e4m3fn, np.dtype(ml_dtypes.float8_e4m3fn)):
        found = fp9.Array(codes, "e4m3").view(dtype)
        assert found.dtype == dtype and np.shares_memory(found, codes)
    assert fp9.Array(codes, "hif8").view(en_dtypes.hifloat8).dtype == np.dtype(en_dtypes.hifloat8)
    with pytest.raises(ValueError, match="float8_e5m2 given to view an array of e4m3; call astype first"):
        fp9.Array(codes, "e4m3").view(ml_dtypes.float8_e5m2)
    assert interop.as_dtype(codes, "hif8", "en_dtypes").dtype == np.dtype(en_dtypes.hifloat8)


def test_an_array_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="float8_e5m2 given as codes of e4m3"):
        fp9.decode(np.zeros(3, dtype=ml_dtypes.float8_e5m2), "e4m3")
    with pytest.raises(ValueError, match="ml_dtypes has no type for hif8"):
        interop.as_dtype(np.zeros(3, dtype=np.uint8), "hif8")


def test_torch_tensors_are_codes_and_numbers_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1.0, -448.0]).to(torch.float8_e4m3fn)
    assert fp9.decode(tensor, "e4m3").tolist() == [1.0, -448.0]
    assert fp9.encode(torch.tensor([1.5], dtype=torch.bfloat16), torch.float8_e5m2).tolist() == [0x3E]
    with pytest.raises(ValueError, match="float8_e4m3fn given as codes of e5m2"):
        fp9.decode(tensor, "e5m2")


# --- routes, threads, output --------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32])
@pytest.mark.parametrize("fmt", thinned(TARGETS), ids=str)
def test_every_route_gives_the_universal_kernels_codes(fmt: fp9.Format, dtype: type) -> None:
    patterns = np.random.default_rng(2).integers(0, 1 << 32, TABLE_PAYS * 3 // 4, dtype=np.uint32)
    with np.errstate(all="ignore"):
        x = np.concatenate([patterns.view(np.float32), numbers(TABLE_PAYS // 4)]).astype(dtype)
    for mode in DETERMINISTIC:
        request = Request(fmt, policy_of(fmt, mode), Hybrid(), 3)
        plain = np.empty(x.size, dtype=fmt.dtype)
        universal(request, x.dtype).encode(NOTHING, slice(0, x.size), x, plain, np.empty(0, np.uint8))
        assert np.array_equal(fp9.encode(x, fmt, mode, nan_to_zero=not fmt.has_nan, scale=-3), plain), mode


@pytest.mark.every(4)
@pytest.mark.parametrize("scale", [0, 120])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("fmt", thinned(TARGETS), ids=str)
def test_every_route_gives_the_universal_kernels_flags(fmt: fp9.Format, dtype: type, scale: int) -> None:
    patterns = np.random.default_rng(2).integers(0, 1 << 32, TABLE_PAYS // 4, dtype=np.uint32)
    # Subnormal float32, and numbers just beside those of bfloat16.
    patterns = np.concatenate([patterns, patterns & 0x807FFFFF, (patterns & 0xFFFF0000) + (patterns & 1)])
    with np.errstate(all="ignore"):
        x = np.concatenate([patterns.view(np.float32), numbers(TABLE_PAYS // 4)]).astype(dtype)
        if dtype is np.float64:
            x = np.concatenate([x, np.nextafter(x[::4], 0), np.frombuffer(np.random.default_rng(3).bytes(1 << 15))])
    for mode in DETERMINISTIC:
        request = Request(fmt, policy_of(fmt, mode), Hybrid(), scale, flags=True)
        plain, flags = np.empty(x.size, dtype=fmt.dtype), np.empty(x.size, dtype=np.uint8)
        universal(request, x.dtype).encode(NOTHING, slice(0, x.size), x, plain, flags)
        codes, raised = fp9.encode(x, fmt, mode, nan_to_zero=not fmt.has_nan, scale=-scale, flags=True)
        assert np.array_equal(codes, plain) and np.array_equal(raised, flags), mode
        assert np.array_equal(fp9.encode(x, fmt, mode, nan_to_zero=not fmt.has_nan, scale=-scale), plain), mode


@pytest.mark.parametrize("flags", [False, True])
def test_small_arrays_together_pay_for_a_table(flags: bool) -> None:
    request = Request(fp9.format("hif8"), policy_of(fp9.format("hif8"), Rounding.RNA), Hybrid(), 2, flags=flags)
    x = numbers(1000).astype(np.float32)
    plans = [encoder(request, x.dtype, TABLE_PAYS // 4) for _ in range(5)]
    assert len({id(plan.encode) for plan in plans[:3]}) == 1 and plans[3] is plans[4] and plans[3] is not plans[2]
    found = np.empty((2, x.size), np.uint8), np.empty((2, x.size * flags), np.uint8)
    for plan, codes, raised in zip(plans[2:4], *found, strict=True):
        plan.encode(NOTHING, slice(0, x.size), x, codes, raised)
    assert all(np.array_equal(*both) for both in found)


def test_threads_and_out_change_nothing() -> None:
    x = np.tile(numbers(), 700)
    out = np.empty(x.size, dtype=np.uint8)
    one = fp9.encode(x, "hif8", threads=1)
    assert fp9.encode(x, "hif8", threads=2, out=out) is not None and np.array_equal(out, one)
    back = np.empty(x.size, dtype=np.float32)
    assert np.array_equal(fp9.decode(one, "hif8", threads=2, out=back), fp9.decode(one, "hif8", threads=1))


def test_strided_and_empty_arrays_are_taken() -> None:
    x = numbers(40).reshape(4, 10)
    assert np.array_equal(fp9.encode(x[:, ::3], "e4m3"), fp9.encode(x, "e4m3")[:, ::3])
    assert fp9.encode(np.empty((0, 3), np.float32), "hif8").shape == (0, 3)
    assert fp9.encode(x.astype(">f4"), "e4m3").tolist() == fp9.encode(x, "e4m3").tolist()


@pytest.mark.slow
def test_kernels_are_compiled_once_for_arrays_that_may_be_written_to_and_others() -> None:
    """To Numba they are two types; a caller's array is only read."""
    program = """import inspect, itertools, numpy as np, fp9
from fp9.kernels import round32, wide
x = np.linspace(-60000, 60000, 3000)
for dtype, flags in itertools.product((np.float32, np.float64, np.float16), (False, True)):
    codes = fp9.encode(x.astype(dtype), "fp16", flags=flags)
    fp9.decode(codes[0] if flags else codes, "fp16")
kernels = {**dict.fromkeys(wide.ENCODE_WIDE.values(), "numbers"), round32.look_up: "codes"}
read = [types[[*inspect.signature(kernel.py_func).parameters].index(name)]
        for kernel, name in kernels.items() for types in kernel.signatures]
print(len(read) > 2, any(array.mutable for array in read))"""  # in a process that has not met the types of other tests
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_import_is_light() -> None:
    code = "import sys, fp9; sys.exit(any(m in sys.modules for m in ('numba', 'torch', 'ml_dtypes')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rounding": "up"}, ValueError, "choose rup"),
        ({"rounding": "upward"}, ValueError, "choose one of"),
        ({"rounding": "sr"}, ValueError, "needs random bits"),
        ({"random_bits": [1]}, ValueError, "sr, srb, src and bias take random bits"),
        ({"rounding": "sr", "random_bits": [70000]}, ValueError, "outside"),
        ({"rounding": "sr", "random_bits": [1, 2, 3]}, ValueError, r"shape \(1,\)"),
        ({"rounding": "sr", "random_bits": [1], "random_width": 40}, ValueError, "1 to 32"),
        ({"rounding": "sr", "random_bits": [1], "stochastic": "nvidia_rs"}, ValueError, "four elements"),
        ({"scale": 0.5}, TypeError, "integer exponent"),
        ({"scale": 10**30}, ValueError, "scale exponent outside -4096..4096"),
        ({"scale": [1, 2]}, ValueError, "broadcast"),
        ({"threads": 0}, ValueError, "1 or more"),
        ({"out": np.empty(2, np.uint8)}, ValueError, "give a contiguous array"),
    ],
)
def test_bad_options_are_explained(options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fp9.encode(np.float32([1.0]), "e4m3", **options)


def switches(function: Any) -> list[str]:
    """Parameters that are True or False."""
    return [name for name, given in inspect.signature(function).parameters.items() if isinstance(given.default, bool)]


def test_what_is_neither_true_nor_false_is_one_sentence() -> None:
    """An array where a switch belongs was an unhashable type, or an ambiguous truth value."""
    codes = np.full((32, 32), 0x38, np.uint8)
    operands = (codes, codes, "e4m3", "e4m3")
    calls = {
        "encode": (np.float32([1.0]), "e4m3"),
        "cast": (codes, "e4m3", "e5m2"),
        "dot": operands,
        "matmul": operands,
        "scaled_mm": (fp9.array([[1.0]], "e4m3"), fp9.array([[1.0]], "e4m3"), 1.0, 1.0),
        "blocks.quantise": (np.ones((32, 32), np.float32), "mxfp8_e4m3"),
        "blocks.dequantise": (codes, np.full((32, 1), 127, np.uint8), "mxfp8_e4m3"),
    }
    keywords = {"scaled_mm": {"profile": "h100", "split_k": 1}}
    for name, arguments in calls.items():
        function = functools.partial(operator.attrgetter(name)(fp9), **keywords.get(name, {}))
        for switch in switches(function):
            for wrong in (np.array([True]), np.array([True, False]), "yes", None, 2):
                with pytest.raises(TypeError, match=f"^{switch} of type .* given; give True or False$"):
                    function(*arguments, **{switch: wrong})
            function(*arguments, **{switch: np.False_})
    public = [getattr(fp9, name) for name in fp9.__all__]
    functions = [x for x in public if inspect.isfunction(x) and x.__module__.startswith("fp9.")]
    assert {x.__name__ for x in functions if switches(x)} <= {name.rpartition(".")[2] for name in calls}


def test_complex_numbers_and_texts_are_no_source() -> None:
    for x in (np.array([1j]), np.array(["1"])):
        with pytest.raises(TypeError, match="give float64"):
            fp9.encode(x, "e4m3")


def test_codes_given_as_exponents_are_refused() -> None:
    """E8M0 codes stand for 2**(code - 127) (OCP MX section 5.4.1): taken as exponents they would be 127 too large."""
    codes = fp9.encode([1.0, 2.0], "e8m0")
    for given in (codes, codes.astype(np.uint16), np.uint8(127)):
        with pytest.raises(TypeError, match="the codes minus 127"):
            fp9.encode([1.0, 2.0], "e4m3", scale=given)
        with pytest.raises(TypeError, match="the codes minus 127"):
            fp9.decode(np.uint8([1, 2]), "e4m3", scale=given)
    assert fp9.encode([1.0, 2.0], "e4m3", scale=codes.astype(int) - 127).tolist() == [0x38, 0x38]


def test_codes_of_a_narrower_format_are_refused() -> None:
    """0x3C00 is 1.0 in FP16 and 2.15e-41 in FP32: the array's type tells them apart."""
    half = fp9.encode([1.0], "fp16")
    one = fp9.encode([[1.0]], "e4m3")
    with pytest.raises(TypeError, match="uint16 given as codes of fp32"):
        fp9.decode(half, "fp32")
    with pytest.raises(TypeError, match="uint16 given as codes of fp32"):
        fp9.matmul(one, one, "e4m3", "e4m3", "fma_fp32", half.reshape(1, 1))
    with pytest.raises(TypeError, match="uint8 given as codes of fp16"):
        fp9.matmul(one, one, "fp16", "e4m3")
    assert fp9.decode([0x3F800000], "fp32").tolist() == [1.0]  # a list says nothing of its width
