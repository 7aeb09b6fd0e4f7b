"""Published behaviour of accumulators, from our engines, and the command that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.engines import engine
from fp9.studies import accumulators as accuracy


def errors(name: str, measure: str) -> dict[tuple[str, int], float]:
    return {(e.engine, e.depth): getattr(e, measure) for e in accuracy.reproduce(name)}


@pytest.mark.parametrize("published", accuracy.PUBLISHED.values(), ids=lambda p: p.name)
def test_every_published_figure_belongs_to_a_measured_row(published: accuracy.Published) -> None:
    measured = {(engine(name).name, depth) for name in published.engines for depth in published.depths}
    assert published.figures and set(published.figures) <= measured


@pytest.mark.slow
def test_sums_in_1_6_9_stall_beyond_4096_terms_and_chunks_of_64_cure_it() -> None:
    """Wang et al., NeurIPS 2018, Fig. 3b."""
    bias = errors("swamping", "bias")
    assert abs(bias["dlfloat", 4096]) < 0.05
    # The sum stays where it is: twice the terms, half of the exact sum.
    assert bias["dlfloat", 32768] == pytest.approx(-0.75, abs=0.02)
    assert bias["dlfloat", 65536] == pytest.approx(-0.875, abs=0.02)
    assert all(abs(bias["chunked", depth]) < 0.02 for depth in (4096, 16384, 65536))


@pytest.mark.slow
def test_one_rounding_for_two_products_is_closer_than_two() -> None:
    """ExSdotp: the gap to cascaded multiply-adds opens with n."""
    relative = errors("exsdotp", "relative")
    assert all(relative["fma_fp16(products=2)", n] < relative["fma_fp16", n] for n in (500, 1000, 2000))


@pytest.mark.slow
def test_hoppers_error_at_4096_products_is_of_one_to_two_percent_and_promotion_removes_it() -> None:
    """DeepSeek-V3, section 3.3.2: nearly 2 %."""
    worst = errors("deepseek", "worst")
    assert 0.01 < worst["hopper", 4096] < 0.02
    assert worst["deepseek", 4096] < 0.001


def test_the_command_reads_numbers_and_draws(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(8, 128))
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, numbers)
    files = ["--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy"), "--out", str(tmp_path / "plot.svg")]
    result = CliRunner().invoke(main, ["accuracy", "hopper", "exact", "--k", "64", "--k", "128", "--json", *files])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [(row["engine"], row["depth"]) for row in rows] == [
        ("hopper", 64), ("exact", 64), ("hopper", 128), ("exact", 128),
    ]  # fmt: skip
    assert all(row["mean"] == 0 for row in rows if row["engine"] == "exact")
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["abacus"], "unknown engine"),
        (["--distribution", "triangular"], "choose one of normal"),
        (["--reproduce", "nothing"], "choose one of swamping"),
        (["--reproduce", "deepseek", "--k", "3"], "leave them out"),
        (["--k", "8", "--count", "2", "--out", "x.txt"], "ends in .svg"),
    ],
)
def test_the_command_says_what_does_not_fit(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["accuracy", *arguments])
    assert result.exit_code == 2 and words in result.stderr
