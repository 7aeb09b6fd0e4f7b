"""Products of arrays: by the stated accumulator, with scales, as the functions of plain codes compute them."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import PRESETS, of_each_kernel

import fp9
from fp9.blocks import BLOCK_FORMATS, tensor_scale


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("engine", of_each_kernel(PRESETS))
def test_an_operator_is_the_product_of_the_codes(engine: str) -> None:
    a, b = fp9.array(numbers(3, 40), "e4m3"), fp9.array(numbers(40, 2, seed=1), "e5m2")
    plain = fp9.matmul(a.codes, b.codes, "e4m3", "e5m2", engine)
    with fp9.accumulator(engine) as stated:
        found = a @ b
        assert stated is fp9.engine(engine) and found.format == stated.output and np.array_equal(found.codes, plain)
        for same in (np.matmul(a, b), np.dot(a, b), fp9.matmul(a, b)):
            assert np.array_equal(same.codes, plain)
        vector = fp9.dot(a.codes[0], b.codes[:, 1], "e4m3", "e5m2", engine)
        for same in (a[0] @ b[:, 1], fp9.dot(a[0], b[:, 1]), np.dot(a[0], b[:, 1])):
            assert np.array_equal(same.codes, vector)
        assert np.array_equal((a[1] @ b).codes, plain[1]) and np.array_equal((a @ b[:, 0]).codes, plain[:, 0])
    owner = fp9.array(numbers(3, 40), "e4m3", accumulator=engine)
    assert np.array_equal((owner @ b).codes, plain) and (owner @ b).accumulator is stated
    assert np.array_equal(fp9.matmul(a, b, engine=engine).codes, plain)


def test_without_an_accumulator_an_operator_is_refused_and_a_function_has_its_default() -> None:
    a = fp9.array(np.eye(2), "e4m3")
    with pytest.raises(ValueError, match=r'state one, as in `with fp9.accumulator\("hopper"\): a @ b`'):
        a @ a
    assert fp9.matmul(a, a).format.name == "fp32"


def test_a_context_ends_nests_and_belongs_to_its_thread() -> None:
    a = fp9.array([[448.0, 2.0**-7]], "e4m3")
    found = []
    with fp9.accumulator("exact"):
        with fp9.accumulator("h100 wgmma"):
            assert (a @ a.T).format.name == "e8m13"
        assert (a @ a.T).format.name == "fp32"
        thread = threading.Thread(target=lambda: found.append(contextvars.copy_context().get(_variable())))
        thread.start()
        thread.join()
    assert found == [None]
    with pytest.raises(ValueError, match="without an accumulator"):
        a @ a.T
    with pytest.raises(ValueError, match="choose h100 wgmma"):
        fp9.accumulator("h100")
    with pytest.raises(TypeError, match="an engine is named by"):
        fp9.accumulator(3)  # type: ignore[arg-type]


def _variable() -> Any:
    from fp9.arrays import stated  # the variable itself is private

    return stated._STATED


def test_arrays_with_different_accumulators_are_refused() -> None:
    a, b = (fp9.array(np.eye(2), "e4m3", accumulator=name) for name in ("hopper", "ada"))
    with pytest.raises(ValueError, match="the accumulators hopper and ada given"):
        a @ b
    assert fp9.matmul(a, b, engine="exact").tolist() == np.eye(2).tolist()


def test_one_factor_without_a_format_is_refused() -> None:
    a = fp9.array(np.eye(2), "e4m3")
    with fp9.accumulator("hopper"):
        for product in (lambda: a @ np.eye(2), lambda: np.eye(2) @ a, lambda: np.matmul(a, [[1.0], [2.0]])):
            with pytest.raises(TypeError, match="factor of a product of fp9 arrays"):
                product()


ENGINE_OF = {"e8m0": "mx", "ue4m3": "b200 mxf4nvf4"}


@pytest.mark.parametrize("name", [name for name, block in BLOCK_FORMATS.items() if not block.levels])
@pytest.mark.parametrize("depth", [64, 70])
def test_blocks_multiply_with_their_scales(name: str, depth: int) -> None:
    block = BLOCK_FORMATS[name]
    x, y = numbers(3, depth).astype(np.float32), numbers(depth, 2, seed=1).astype(np.float32)
    a, b = fp9.quantise(x, name), fp9.quantise(y, name, axis=0)
    engine, element = ENGINE_OF[block.scale.name], block.element.name
    options: Any = {"scale_a": a.scales, "scale_b": b.scales, "scale_format": block.scale, "block": block.length}
    plain = fp9.matmul(a.codes, b.codes, element, element, engine, **options)
    with fp9.accumulator(engine):
        assert np.array_equal((a @ b).codes, plain)
        assert np.array_equal((b.T @ a.T).codes, plain.T)
        assert np.array_equal((a[1] @ b[:, 1]).codes, plain[1, 1])
    exact = fp9.matmul(a, b, engine="exact").numbers()
    assert np.allclose(exact, a.numbers() @ b.numbers(), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"quantise with axis=-2"):
        fp9.matmul(a, fp9.quantise(y, name), engine=engine)


def test_a_scale_of_the_whole_array_multiplies_the_sum_with_one_rounding() -> None:
    x, y = numbers(5, 128).astype(np.float32), numbers(128, 4, seed=1).astype(np.float32)
    t, u = tensor_scale(x), tensor_scale(y)
    a, b = fp9.quantise(x, "nvfp4", tensor_scale="amax"), fp9.quantise(y, "nvfp4", axis=0, tensor_scale=u)
    assert a.tensor_scale == t and b.tensor_scale == u
    options: Any = {"scale_a": a.scales, "scale_b": b.scales, "scale_format": "ue4m3", "block": 16}
    sums = fp9.decode(fp9.matmul(a.codes, b.codes, "e2m1", "e2m1", "blackwell_nvfp4", **options), "fp32")
    alpha = np.float32(np.float64(t) * np.float64(u))
    wanted = (sums.astype(np.float64) * np.float64(alpha)).astype(np.float32)
    with fp9.accumulator("blackwell_nvfp4"):
        assert np.array_equal((a @ b).numbers(), wanted)
    found, flags = fp9.matmul(a, b, engine="blackwell_nvfp4", flags=True)
    assert np.array_equal(found.numbers(), wanted) and flags.shape == wanted.shape
    with pytest.raises(ValueError, match="add it to the product afterwards"):
        fp9.matmul(a, b, engine="blackwell_nvfp4", c=found)


@pytest.mark.parametrize(("one", "other"), [("row", "column"), ("tensor", "tensor"), ("row", "tensor")])
def test_scales_of_rows_and_columns_multiply_the_sums(one: str, other: str) -> None:
    x, y = numbers(3, 40) * [[1e3], [1.0], [1e-3]], numbers(40, 2, seed=1) * [1e-5, 1e5]
    a, b = fp9.quantise(x, "e4m3", per=one), fp9.quantise(y, "e5m2", per=other)
    found = fp9.matmul(a, b, engine="exact").numbers()
    assert np.allclose(found, a.numbers().astype(np.float64) @ b.numbers().astype(np.float64), rtol=1e-6, atol=0)
    with fp9.accumulator("exact"):
        assert np.array_equal((a[1] @ b).numbers(), found[1])


def test_squares_multiply_from_both_sides() -> None:
    x, y = numbers(40, 50).astype(np.float32), numbers(50, 20, seed=1).astype(np.float32)
    a, b = fp9.quantise(x, "nvfp4", square=True), fp9.quantise(y, "nvfp4", square=True)
    found = fp9.matmul(a, b, engine="exact").numbers()
    assert np.allclose(found, a.numbers() @ b.numbers(), rtol=1e-6, atol=1e-6)


def test_blocks_of_any_length_multiply_as_deepseek_has_them() -> None:
    x, y = numbers(3, 256), numbers(256, 2, seed=1)
    a, b = fp9.quantise(x, "e4m3", per=128), fp9.quantise(y, "e4m3", axis=0, per=128)
    options: Any = {"scale_a": a.scales, "scale_b": b.scales, "scale_format": "e8m0", "block": 128}
    plain = fp9.matmul(a.codes, b.codes, "e4m3", "e4m3", "deepseek", **options)
    assert np.array_equal(fp9.matmul(a, b, engine="deepseek").codes, plain)


def test_scales_that_no_accumulator_takes_are_refused() -> None:
    a, b = numbers(4, 64), numbers(64, 4, seed=1)
    rows, columns = fp9.quantise(a, "e4m3", per="row"), fp9.quantise(b, "e4m3", per="column")
    mx, wide = fp9.quantise(a, "mxfp4"), fp9.quantise(b, "mxfp4", axis=0)
    for product, words in (
        (lambda: fp9.matmul(fp9.quantise(a, "e4m3", per="column"), columns), "differ along the summed axis"),
        (lambda: fp9.matmul(mx, columns, engine="mx"), "quantise both factors alike"),
        (lambda: fp9.matmul(mx, fp9.quantise(b, "nvfp4", axis=0), engine="mx"), "quantise both factors alike"),
        (lambda: fp9.matmul(fp9.quantise(a, "hif4"), fp9.quantise(b, "hif4", axis=0)), "levels of scales"),
        (lambda: fp9.matmul(rows, columns, scale_a=1), "scale_a given with an array that has scales"),
        (lambda: fp9.matmul(mx, wide, "e2m1", engine="mx"), "leave it out"),
        (lambda: fp9.matmul(rows, columns, "e5m2"), "leave the format out"),
    ):
        with pytest.raises(ValueError, match=words):
            product()
    assert fp9.matmul(mx, fp9.array(b, "e2m1"), engine="mx").shape == (4, 4)
