"""NumPy's functions, methods and protocols of arrays that know their format."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import EVERY_FORMAT

import fp9
from fp9.arrays.array import OF_NUMBERS
from fp9.arrays.functions import JOINING, MOVING, SUMMING
from fp9.blocks import BLOCK_FORMATS

CODES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)

MOVES: dict[str, Callable[[Any], Any]] = {
    "broadcast_to": lambda x: np.broadcast_to(x, (5, *x.shape)),
    "copy": np.copy,
    "delete": lambda x: np.delete(x, 1, axis=1),
    "diagonal": np.diagonal,
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "flip": np.flip,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "ravel": np.ravel,
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "reshape": lambda x: np.reshape(x, (4, 6)),
    "resize": lambda x: np.resize(x, (3, 10)),
    "roll": lambda x: np.roll(x, 2, axis=-1),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "rot90": np.rot90,
    "squeeze": lambda x: np.squeeze(x[:, :1], 1),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "take": lambda x: np.take(x, [1, 0, 1], axis=2),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((2, 1, 4), np.intp), axis=1),
    "tile": lambda x: np.tile(x, 2),
    "transpose": lambda x: np.transpose(x, (2, 0, 1)),
    "matrix_transpose": np.matrix_transpose,
    "unstack": lambda x: np.unstack(x, axis=1),
    "array_split": lambda x: np.array_split(x, 2, axis=1),
    "split": lambda x: np.split(x, 2, axis=2),
    "hsplit": lambda x: np.hsplit(x, 3),
    "vsplit": lambda x: np.vsplit(x, 2),
    "dsplit": lambda x: np.dsplit(x, 2),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
}
METHODS: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: x.reshape(6, -1),
    "reshape tuple": lambda x: x.reshape((4, 6)),
    "transpose": lambda x: x.transpose(1, 0, 2),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "squeeze": lambda x: x[:1].squeeze(),
    "mask": lambda x: x[np.asarray(x) > 0.01],
    "index": lambda x: x[..., [0, 2], None],
    "row": lambda x: x[1, 2],
}
HELD = {
    "plain": fp9.Array(CODES, "e4m3"),
    "scaled": fp9.Array(CODES, "e4m3", scales=np.arange(2).reshape(2, 1, 1)),
    "one scale": fp9.Array(CODES, "hif8", scales=-3),
}


def test_every_function_that_moves_elements_is_tried() -> None:
    assert {f.__name__ for f in MOVING} == MOVES.keys()


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("name", [*MOVES, *METHODS])
def test_what_moves_elements_keeps_format_scales_and_accumulator(name: str, kind: str) -> None:
    held = fp9.Array(HELD[kind].codes, HELD[kind].format, scales=HELD[kind].scales, accumulator="hopper")
    move = MOVES.get(name) or METHODS[name]
    found, wanted = move(held), move(held.numbers())
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, list | tuple) else [(found, wanted)]
    for one, numbers in pairs:
        assert type(one) is fp9.Array and one.format == held.format and one.accumulator is held.accumulator
        assert one.shape == numbers.shape and np.array_equal(np.asarray(one), numbers)


@pytest.mark.parametrize("name", sorted(f.__name__ for f in JOINING))
def test_what_joins_arrays_of_a_format_keeps_it(name: str) -> None:
    join = getattr(np, name)
    for kind, held in HELD.items():
        other = fp9.Array(CODES, held.format, scales=1) if kind == "one scale" else held
        found = join([held, other])
        assert type(found) is fp9.Array and found.format == held.format
        assert np.array_equal(np.asarray(found), join([held.numbers(), other.numbers()]))
    with pytest.raises(ValueError, match=f"arrays of e4m3 and hif8 given to {name}"):
        join([HELD["plain"], HELD["one scale"]])
    assert type(join([HELD["plain"], CODES])) is np.ndarray


@pytest.mark.parametrize("fmt", [fmt for fmt in EVERY_FORMAT if fmt.bits <= 8], ids=str)
def test_what_computes_gives_numbers(fmt: fp9.Format) -> None:
    held = fp9.Array(np.arange(1 << fmt.bits, dtype=fmt.dtype), fmt)
    numbers = held.numbers()
    with np.errstate(all="ignore"):
        for function in (
            np.abs,
            np.isfinite,
            np.nanmax,
            np.nansum,
            lambda x: np.where(x > 0, x, 0),
            np.sort,
            np.unique,
        ):
            found = function(held)
            assert type(found) is not fp9.Array and np.array_equal(found, function(numbers), equal_nan=True)
        assert np.array_equal(held + 1 == 1 + numbers, numbers + 1 == numbers + 1)


def test_methods_of_numpy_are_those_of_the_numbers() -> None:
    held = HELD["scaled"]
    assert held.sum() == held.numbers().sum() and held.max() == held.numbers().max()
    assert np.array_equal(held.mean(axis=1), held.numbers().mean(axis=1)) and held[0, 0, 1].item() == 2.0**-9
    assert set(dir(held)) >= OF_NUMBERS
    with pytest.raises(AttributeError, match="Array has no 'itemset'"):
        held.itemset(3)


def test_results_go_into_an_array_rounded_once() -> None:
    x = fp9.array([1.0, 2.0], "e4m3")
    x += 0.07
    assert x.tolist() == [1.125, 2.0] and x.format.name == "e4m3"
    scaled = fp9.Array(np.zeros(2, np.uint8), "e4m3", scales=[3, 0])
    scaled[:] = [9.0, 9.0]
    assert scaled.tolist() == [9.0, 9.0] and scaled.codes.tolist() == fp9.encode([9.0 / 8, 9.0], "e4m3").tolist()


def test_other_packages_take_the_numbers() -> None:
    for held in HELD.values():
        assert np.array_equal(np.from_dlpack(held), held.numbers())
        assert np.asarray(held).dtype == held.dtype == held.numbers().dtype
        assert np.asarray(held, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="read the codes, or allow a copy"):
        np.asarray(HELD["plain"], copy=False)
    pyplot = pytest.importorskip("matplotlib.figure")
    lines = pyplot.Figure().subplots().plot(fp9.array([1.0, 3.0], "e4m3"))
    assert lines[0].get_ydata().tolist() == [1.0, 3.0]


def test_torch_takes_the_numbers() -> None:
    torch = pytest.importorskip("torch")
    for held in HELD.values():
        assert np.array_equal(torch.as_tensor(held).numpy(), held.numbers())
        assert np.array_equal(torch.from_dlpack(held).numpy(), held.numbers())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_are_the_same_array(again: Callable[[Any], Any]) -> None:
    for held in (*HELD.values(), fp9.quantise(np.ones((2, 32)), "nvfp4", tensor_scale=0.5, accumulator="mx")):
        other = again(held)
        assert type(other) is type(held) and other.format == held.format and other.accumulator == held.accumulator
        assert np.array_equal(other.codes, held.codes) and np.array_equal(other.numbers(), held.numbers())


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_blocks_stay_whole(name: str) -> None:
    length = BLOCK_FORMATS[name].length
    x = np.random.default_rng(3).standard_normal((3, 2, 2 * length + 3)).astype(np.float32)
    held = fp9.quantise(x, name)
    numbers = held.numbers()
    for move in (
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.swapaxes(0, 2),
        lambda x: np.transpose(x, (1, 2, 0)),
        lambda x: np.moveaxis(x, 2, 0),
        lambda x: x.reshape(6, -1),
        lambda x: x.reshape((1, 6, x.shape[2])),
        lambda x: x[1],
        lambda x: x[:, 1, length:],
        lambda x: x[..., : 2 * length],
        lambda x: x[::2, None, -1, length : 2 * length],
        lambda x: x.mT[:, length:, 0],
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.concatenate([x[..., :length], x], axis=-1),
        lambda x: np.stack([x, x]),
        lambda x: np.stack([x, x, x], axis=-1),
        lambda x: x[..., : 2 * length].reshape(12, length),
        lambda x: x[..., : 2 * length].ravel(),
        lambda x: x[..., length : 2 * length].flatten(),
    ):
        found = move(held)
        assert type(found) is fp9.BlockArray and found.shape == move(numbers).shape
        assert np.array_equal(found.numbers(), move(numbers))
    for where in ((..., 1), (0, 0, 0), (slice(None), 1, -1), (None, 2, ..., 3)):
        assert np.array_equal(held[where], numbers[where]) and not isinstance(held[where], fp9.Array)
    assert [float(x) for x in held[0, 0]] == numbers[0, 0].tolist() and sum(1 for _ in held.T) == numbers.shape[2]
    for wrong, error in (
        (lambda: held[..., : length + 1], IndexError),
        (lambda: held[..., ::2], IndexError),
        (lambda: held[np.array([0])], IndexError),
        (lambda: held[0, 0, 0, 0], IndexError),
        (lambda: held.reshape(-1), ValueError),
        (lambda: held.flatten(), ValueError),
        (lambda: held[..., :length].reshape(-1, length // 2), ValueError),
        (lambda: np.roll(held, 1), TypeError),
        (lambda: np.concatenate([held, held], axis=2), ValueError),
        (lambda: np.vstack([held, held]), ValueError),
        (lambda: held.__setitem__(0, 1.0), TypeError),
        (lambda: fp9.BlockArray(held.codes, held.scales[:1], name), ValueError),
    ):
        with pytest.raises(error):
            wrong()


@pytest.mark.parametrize("kind", [*HELD, *BLOCK_FORMATS])
def test_matplotlib_draws_the_numbers(kind: str) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    held: Any = HELD[kind] if kind in HELD else fp9.quantise(np.ones((2, 64)), kind)
    axes = figures.Figure().subplots()
    row = held
    while row.ndim > 1:
        row = row[0]
    (line,) = axes.plot(row)
    assert np.array_equal(line.get_ydata(), np.asarray(row))
    counts, *_ = axes.hist(row.ravel())
    assert sum(counts) == row.size


def test_square_blocks_are_transposed_and_cut_whole() -> None:
    x = np.random.default_rng(4).standard_normal((40, 70)).astype(np.float32)
    held = fp9.quantise(x, "nvfp4", square=True)
    for move in (
        lambda x: x.T,
        lambda x: x[16:],
        lambda x: x[:32, 16:48],
        lambda x: x.mT[:16],
        lambda x: np.stack([x, x]),
    ):
        assert np.array_equal(move(held).numbers(), move(held.numbers()))
    assert np.array_equal(held[3], held.numbers()[3])
    with pytest.raises(ValueError, match="give axis=0"):
        np.stack([held, held], axis=1)
    with pytest.raises(ValueError, match="square blocks"):
        fp9.quantise(x[None], "nvfp4", square=True).transpose(1, 0, 2)


@pytest.mark.parametrize("function", sorted(f.__name__ for f in SUMMING))
def test_products_in_an_order_that_nobody_defines_are_refused(function: str) -> None:
    x = fp9.array(np.eye(2), "e4m3")
    called = np.linalg.multi_dot if function == "multi_dot" else getattr(np, function)
    arguments: Any = ("ij,jk", x, x) if function == "einsum" else ([x, x],) if function == "multi_dot" else (x, x)
    with fp9.accumulator("hopper"), pytest.raises(TypeError, match=r"call fp9\.matmul or fp9\.dot"):
        called(*arguments)
