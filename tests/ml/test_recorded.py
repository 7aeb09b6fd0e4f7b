"""A recorded training step as golden vectors: its sums end in the codes that the training computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fp9
from fp9.cli import main
from fp9.engines import MacOp, engine
from fp9.golden import evaluate
from fp9.units import CATALOGUE, Cast, Dot, Fma
from fp9.vectors import check
from fp9.vectors.sets import from_inputs
from fp9_ml.recipes import Operand, Product, Recorded, Recording, Role, read_recording, recipe
from fp9_ml.recorded import from_recording, of_casts, of_products


def step(name: str) -> Recording:
    """Forward and backward pass of one layer, 24 in and 5 out, on 7 rows."""
    rng = np.random.default_rng(2)
    spec, run = recipe(name), Recording()
    x, w = rng.normal(size=(7, 24)), rng.normal(size=(5, 24))
    y, saved = spec.linear(x, w)
    run.forward("fc", saved, x, w)
    g = rng.normal(size=y.shape)
    run.backward("fc", saved, spec.linear_backward(g, saved, random=rng), g)
    return run


UNITS = {
    "fma_dlfloat16_hfp8": "hfp8",
    "mac_dlfloat16": "hfp8(gradients=hfp8_143)",
    "mac_dlfloat16_chunked": "hfp8_chunked",
    "fma_fp32": "te_current",
}


@pytest.mark.parametrize("unit", UNITS)
def test_every_sum_ends_in_the_code_that_the_training_computed(unit: str, tmp_path: Path) -> None:
    run, spec = step(UNITS[unit]), CATALOGUE[unit]
    run.save(tmp_path / "run.npz")
    kept = read_recording(tmp_path / "run.npz").products
    assert [p.product for p in kept] == list(Product)
    products = [p for p in kept if unit in recipe(UNITS[unit]).units()[p.product.value]]
    assert products
    sums = 4
    made = from_recording(spec, tmp_path / "run.npz", sums, seed=3)
    generator, results = np.random.default_rng(3), []
    for p in products:
        rows, columns = (generator.integers(size, size=sums) for size in p.result.shape)
        results += p.result[rows, columns].tolist()
    if "op" in made.inputs:
        ends = np.flatnonzero(made.inputs["op"] == MacOp.LOAD)[1:] - 1
    else:
        ends = np.cumsum([p.a.codes.shape[1] for p in products for _ in range(sums)])[:-1] - 1
    assert made.expected["result"][[*ends.tolist(), len(made) - 1]].tolist() == results


CASTS = {"hfp8": 3, "hif8": 3, "te_current": 3, "te_current(backward_rounding=sr)": 2}
"""How many of a step's three casts the catalogue has a unit for, from FP32: of sr the random bits are not kept."""


@pytest.mark.parametrize("name", CASTS)
def test_every_cast_gives_the_code_that_the_training_multiplied(name: str, tmp_path: Path) -> None:
    step(name).save(tmp_path / "run.npz")
    casts = read_recording(tmp_path / "run.npz").casts
    assert len(casts) == CASTS[name] and {c.role for c in casts} >= {Role.ACTIVATIONS, Role.WEIGHTS}
    units = [u for u in CATALOGUE.values() if isinstance(u, Cast) and u.source.name == "fp32"]
    fitting = [u for u in units if u.name in recipe(name).units()[casts[0].role.value]]
    assert fitting
    for spec in fitting:
        made = from_recording(spec, tmp_path / "run.npz", count=9, seed=4)
        generator, results = np.random.default_rng(4), []
        for c in casts:
            results.append(c.codes[generator.integers(c.codes.size, size=(spec.lanes, 9))])
        for lane, port in enumerate(spec.lane_names("result")):
            assert np.array_equal(made.expected[port], np.concatenate([codes[lane] for codes in results]))


def test_casts_of_a_scale_are_those_of_a_unit_that_scales() -> None:
    (cast, *_) = step("te_delayed(scale=fixed(exponent=3))").casts
    assert cast.exponent == 3
    spec = Cast("scaled", fp9.format("fp32"), (cast.format,), (cast.rounding,), scale=True)
    columns = of_casts(spec, [cast], np.random.default_rng(0), 5)
    places = np.random.default_rng(0).integers(cast.codes.size, size=(1, 5))[0]
    assert np.array_equal(evaluate(spec, columns)["result"], cast.codes[places])
    with pytest.raises(ValueError, match="can do none of the recorded casts, FP32 to e4m3, rne, saturate"):
        of_casts(CATALOGUE["cast_fp32_ocp_rne"], [cast], np.random.default_rng(0), 5)


def test_the_command_writes_vectors_that_check_and_tells_what_does_not_fit(tmp_path: Path) -> None:
    run = tmp_path / "run.npz"
    step("hfp8").save(run)
    arguments = ["vectors", "export", "fma_dlfloat16_hfp8", "--from", str(run), "--count", "2", "--out", str(tmp_path)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    checked = check(tmp_path / "fma_dlfloat16_hfp8.vec")
    assert checked.passed and checked.operations == 2 * (24 + 5 + 7)
    for unit, told in {
        "fma_fp32": "can compute none of the products",
        "cast_fp32_ocp_rne": "can do none of the recorded casts",
        "decoder_all": "give a cast, a dot, an fma or a mac",
    }.items():
        with pytest.raises(ValueError, match=told):
            from_recording(CATALOGUE[unit], run)
    (tmp_path / "other.npz").write_bytes(b"PK nothing")
    np.savez(tmp_path / "numbers.npz", x=np.zeros(3))
    for name in ("other.npz", "numbers.npz"):
        with pytest.raises(ValueError, match="is no recording"):
            read_recording(tmp_path / name)
    with pytest.raises(ValueError, match="without products"):
        Recording().save(tmp_path / "nothing.npz")
    assert not (tmp_path / "nothing.npz").exists()
    spec, kept = recipe("hfp8"), Recording()
    _, saved = spec.linear(np.ones((2, 3)), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"weights of shape \(3, 3\) given"):
        kept.forward("fc", saved, np.ones((2, 3)), np.ones((3, 3)))
    kept.forward("fc", saved)
    kept.save(run)
    with pytest.raises(ValueError, match="for there are none"):
        from_recording(CATALOGUE["cast_fp32_hfp8"], run)


def test_operands_are_exchanged_and_lanes_are_filled_where_a_unit_needs_it() -> None:
    run = step("te_current")
    e4m3, e5m2 = (fp9.format("e4m3"),), (fp9.format("e5m2"),)
    turned = of_products(Fma("turned", e4m3, e5m2, engine("fma_fp32")), run.products, np.random.default_rng(0), sums=2)
    assert len(turned["a"]) == 2 * (5 + 7)
    (p,) = step("te_current(dgrad=fmma,wgrad=fma_fp32)").products[1:2]
    spec = Dot("filled", e5m2, e4m3, p.engine)
    columns = of_products(spec, [p], np.random.default_rng(0), sums=2)
    lanes = p.engine.step.products
    assert 5 % lanes and len(columns["a0"]) == 2 * -(-5 // lanes)


def test_a_unit_with_scales_computes_a_recorded_product_at_scales_of_one() -> None:
    fmt, steps, sums = fp9.format("e4m3"), engine("mx(G=4)"), 4
    generator = np.random.default_rng(5)
    a, b = (generator.integers(0, 0x70, shape, np.uint8) for shape in ((3, 8), (8, 2)))
    result = fp9.matmul(a, b, fmt, fmt, engine=steps)
    recorded = Recorded("layer", Product.FORWARD, Operand(a, fmt, 1.0), Operand(b, fmt, 1.0), steps, result)
    unit = Dot("mx4", (fmt,), (fmt,), steps, scale=fp9.format("e8m0"))
    made = from_inputs(unit, of_products(unit, [recorded], np.random.default_rng(3), sums))
    again = np.random.default_rng(3)
    rows, columns = (again.integers(size, size=sums) for size in result.shape)
    assert made.expected["result"][1::2].tolist() == result[rows, columns].view(np.uint32).tolist()
