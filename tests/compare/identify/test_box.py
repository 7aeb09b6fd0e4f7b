"""Units that are asked: functions, libraries; each way to be wrong is one sentence."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from fp9.cli import main
from fp9.formats import fixed_format, format
from fp9_compare.identify import Box, Interface, fit, load_box

FP32 = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 4)

MODULE = """
import itertools
import numpy as np
import fp9

turn = itertools.count()


def unit(a, b, c):
    return fp9.dot(a, b, "e4m3", "e4m3", "hopper", c)


def numbers(a, b, c):
    assert a.dtype == b.dtype == c.dtype == np.float32
    products = (a.astype(np.float64) * b).sum(axis=1)
    return (products + c).astype(np.float32)


def fails(a, b, c):
    raise RuntimeError("no power")


def short(a, b, c):
    return c[:-1]


def floats(a, b, c):
    return c.astype(np.float32)


def fickle(a, b, c):
    return unit(a, b, c) ^ np.uint32(next(turn) % 2)


NUMBER = 3
"""

C_UNIT = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* INT8 operands, whose products are float32 numbers: one after the other is added. */
void unit_dot(size_t n, size_t k, const uint8_t *a, const uint8_t *b, const uint32_t *c, uint32_t *d) {
    for (size_t i = 0; i < n; i++) {
        float sum, term;
        memcpy(&sum, c + i, 4);
        for (size_t j = 0; j < k; j++) {
            term = (float)(int8_t)a[i * k + j] * (float)(int8_t)b[i * k + j];
            sum += term;
        }
        memcpy(d + i, &sum, 4);
    }
}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "strangers_unit.py").write_text(MODULE)
    return lambda *arguments: CliRunner().invoke(main, ["identify", *arguments])


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("strangers_unit:fails", "strangers_unit:fails raises RuntimeError: no power; give a unit that answers"),
        ("strangers_unit:short", "gives an array of shape"),
        ("strangers_unit:floats", "gives float32; expected codes, unsigned integers"),
        ("strangers_unit:fickle", "gives different results for the same sum"),
        ("strangers_unit:NUMBER", "is int, which cannot be called"),
        ("strangers_unit:nothing", "strangers_unit has no nothing"),
        ("nowhere_at_all:unit", "importing nowhere_at_all gives ModuleNotFoundError"),
        ("strangers_unit", "'strangers_unit' given, which is no file here; give module:function"),
        ("measured.rows", "'measured.rows' given, which is no file here"),
        ("nothing.so:unit", "nothing.so cannot be loaded"),
    ],
)
def test_a_wrong_unit_is_one_sentence(run: Callable[..., Result], target: str, sentence: str) -> None:
    said = run(target, "--depth", "4")
    assert said.exit_code == 2
    assert sentence in said.stderr
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no TARGET given"),
        (("--a", "e8m0"), "e8m0 given as operand"),
        (
            ("mine:dot", "--program", "cuda", "--out", "unit.cu"),
            "TARGET mine:dot given with --program; give one of them",
        ),
        (
            ("--program", "cuda", "--out", "unit.cu", "--a", "hif8"),
            "hif8 given as operand; the instruction takes e4m3, e5m2",
        ),
        (("--program", "cuda", "--out", "unit.cu", "--depth", "33"), "33 products given; the instruction sums 32"),
        (
            ("--program", "hip", "--out", "unit.hip", "--result", "fp16"),
            "fp16 given as result; the instruction takes fp32",
        ),
    ],
)
def test_wrong_arguments_are_one_sentence(
    run: Callable[..., Result], tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    said = run(*arguments)
    assert said.exit_code == 2
    assert sentence in said.stderr
    assert not list(tmp_path.glob("unit.*"))


@pytest.mark.slow
def test_a_python_function_is_fitted(run: Callable[..., Result]) -> None:
    said = run("strangers_unit:unit", "--depth", "64")
    assert said.exit_code == 0, said.output
    assert "engine hopper, from" in said.stdout


@pytest.mark.slow
def test_a_function_of_numbers_is_fitted(run: Callable[..., Result]) -> None:
    """Sums in float64, which holds all of E4M3's products, rounded once: four products a step at least."""
    said = run("strangers_unit:numbers", "--values", "--depth", "4")
    assert said.exit_code in (0, 1), said.output


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is there")
    folder = tmp_path_factory.mktemp("library")
    (folder / "unit.c").write_text(C_UNIT)
    options = ("-shared", "-fPIC", "-O1", "-ffp-contract=off", "-o", "unit.so", "unit.c")
    subprocess.run([compiler, *options], check=True, cwd=folder)
    return folder / "unit.so"


@pytest.mark.slow
def test_a_library_is_fitted(library: Path) -> None:
    """Products of INT8 are exact in float32, so that one is added after the other with one rounding each."""
    interface = Interface(format("int8"), format("int8"), fixed_format("fp32"), 8)
    found = fit(load_box(f"{library}:unit_dot", Interface(interface.a, interface.b, interface.output, 8, any_nan=True)))
    assert found.engine is not None
    assert found.engine.name == "fma_fp32"


def test_a_library_without_the_symbol_is_one_sentence(library: Path) -> None:
    with pytest.raises(ValueError, match=r"has no unit_mul; export it as void unit_mul\(size_t n"):
        load_box(f"{library}:unit_mul", FP32)


def test_a_box_counts_its_sums() -> None:
    box = Box("zeros", FP32, lambda a, b, c: np.zeros(len(c), dtype=np.uint32))
    empty: Any = np.zeros((3, 4), dtype=np.uint8)
    box.answers(empty, empty, np.zeros(3))
    assert box.calls == 3
