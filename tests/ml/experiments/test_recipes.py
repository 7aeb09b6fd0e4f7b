"""What the papers claim of formats in use holds at its bars; the networks that show it are what they say."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import thinned

import fp9
import fp9_ml.recipes
from fp9_ml.experiments import training
from fp9_ml.experiments.catalogue import CLAIMS, claim
from fp9_ml.experiments.charts import draw
from fp9_ml.experiments.claims import Claim
from fp9_ml.experiments.conversion import (
    layer_inputs,
    searched_exponents,
    smoothed,
    with_outliers,
)
from fp9_ml.experiments.networks import characters, convolutions
from fp9_ml.experiments.networks.layer_products import eight_bit
from fp9_ml.experiments.networks.layers import cross_entropy
from fp9_ml.experiments.networks.train import FILE, SEED, load, save, train
from fp9_ml.experiments.reproduce import SEEDS, reproduce
from fp9_ml.experiments.store import Store
from fp9_ml.recipes.calibration import EXPONENTS

Network = tuple[dict[str, Any], Callable[[dict[str, Any]], float], dict[str, Any]]


# --- claims and records -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned([name for name, claim in CLAIMS.items() if not claim.minutes], every=6))
def test_a_claim_passes_its_bars(name: str) -> None:
    if "scikit-learn" in CLAIMS[name].setup and find_spec("sklearn") is None:
        pytest.skip("scikit-learn is not installed")
    bars = reproduce(name)["runs"][0]["bars"]
    assert bars and [bar for bar in bars if not bar["holds"]] == []


@pytest.mark.slow
def test_the_seed_with_the_largest_error_of_e5m2_among_ten_passes() -> None:
    """Seed 41 has a relative error of 0.267 where other seeds have 0.16 to 0.22."""
    bars = {bar["text"]: bar for bar in reproduce("gradients", [41])["runs"][0]["bars"]}
    assert bars["E5M2"]["measured"] == pytest.approx(0.267, abs=0.002)
    assert all(bar["holds"] for bar in bars.values())
    assert bars["E5M2"]["at most"] == 0.54
    assert bars["E5M2"]["spread"] == "seeds 40 to 49: 0.157 to 0.267, median 0.173"


def test_bars_with_a_spread_are_twice_its_largest_value() -> None:
    bars = [bar for bar in CLAIMS["gradients"].bars if bar.spread]
    assert len(bars) == 3
    for bar in bars:
        assert bar.spread and 0 <= bar.limit - 2 * max(bar.spread.found) < 0.01
        assert len(bar.spread.found) == 10


@pytest.mark.slow
def test_the_same_record_gives_the_same_chart() -> None:
    values = {"e5m2": 0.25, "f152(bias=8)": 1.0, "f152(bias=9)": 2.5}
    runs = [{"seed": seed, "values": values} for seed in SEEDS]
    record = {"name": "gradients", "quantity": "relative error of the weight gradients", "runs": runs}
    assert draw(record) == draw(record)


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def measure(seed: int, progress: object, store: object) -> dict[str, float]:
        asked.append(seed)
        if asked == [1, 2]:
            raise KeyboardInterrupt
        return {"x": float(seed)}

    monkeypatch.setitem(CLAIMS, "stopped", Claim("stopped", "", "", "", "", measure, ()))
    part = tmp_path / "part"
    with pytest.raises(KeyboardInterrupt):
        reproduce("stopped", (1, 2, 3), part=part)
    record = reproduce("stopped", (1, 2, 3), part=part)
    assert asked == [1, 2, 2, 3] and not part.exists()
    assert [run["values"] for run in record["runs"]] == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_a_stopped_training_run_goes_on_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "KEPT_EVERY", 2)
    spec = fp9_ml.recipes.recipe("te_delayed(gradient_overflow=inf,loss=adaptive(start_scale=2^100))")
    course = training.Course(5, 1e-2, 2, 3)

    def run() -> training.Run:
        text = np.random.default_rng(1).integers(0, 95, 500).astype(np.uint8)
        return training.Run(spec, characters.initial(3, 8), course, text)

    def stop(what: str, done: int, steps: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    store = Store(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        training.run_to_end(run(), "stopped", store, stop)
    kept = store.state("run")
    assert kept is not None and len(kept[0]["losses"]) == 2
    resumed, whole = training.run_to_end(run(), "resumed", store), training.run_to_end(run(), "whole", Store())
    (arrays, rest), (wanted, others) = resumed.state(), whole.state()
    assert rest == others and resumed.skipped > 0
    assert all(np.array_equal(arrays[name], wanted[name]) for name in wanted)
    store.clear()
    assert not (tmp_path / "run").exists()


def test_bad_names_seeds_windows_and_files_are_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="choose one of ptq"):
        claim("nothing")
    with pytest.raises(ValueError, match="at least one"):
        reproduce("ptq", ())
    with pytest.raises(ValueError, match="the text has"):
        load().windows(0, 1000)
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("broken.npz", "other.npz"):
        with pytest.raises(ValueError, match="holds no character model"):
            load(tmp_path / name)


# --- the networks -----------------------------------------------------------------------------------------------------


def _character_network() -> Network:
    rng = np.random.default_rng(3)
    parameters = {name: p + rng.normal(0, 0.1, p.shape) for name, p in characters.initial(3).items()}
    tokens = rng.integers(0, len(characters.ALPHABET), (2, 6))

    def loss(changed: dict[str, Any]) -> float:
        return cross_entropy(characters.forward(changed, tokens[:, :-1]).logits, tokens[:, 1:])[0]

    run = characters.forward(parameters, tokens[:, :-1])
    return parameters, loss, characters.backward(run, cross_entropy(run.logits, tokens[:, 1:])[1])


def _convolutional_network() -> Network:
    rng = np.random.default_rng(4)
    parameters = {name: p + rng.normal(0, 0.1, p.shape) for name, p in convolutions.initial(4).items()}
    images, labels = rng.uniform(size=(3, 8, 8, 1)), rng.integers(0, 10, 3)

    def loss(changed: dict[str, Any]) -> float:
        return cross_entropy(convolutions.forward(changed, images).logits, labels)[0]

    run = convolutions.forward(parameters, images)
    return parameters, loss, convolutions.backward(run, cross_entropy(run.logits, labels)[1])


@pytest.mark.parametrize("network", [_character_network, _convolutional_network])
def test_gradients_are_the_slopes_of_the_loss(network: Callable[[], Network]) -> None:
    parameters, loss, gradients = network()
    rng = np.random.default_rng(5)
    assert set(gradients) == set(parameters)
    for name, value in parameters.items():
        direction = rng.normal(size=value.shape)
        step = 1e-6
        slope = (
            loss(parameters | {name: value + step * direction}) - loss(parameters | {name: value - step * direction})
        ) / (2 * step)
        assert np.sum(gradients[name] * direction) == pytest.approx(slope, rel=1e-4, abs=1e-6), name


def test_the_model_of_the_package_has_learnt_and_is_small() -> None:
    trained = load()
    windows = trained.windows(0, 64)
    loss, _ = cross_entropy(characters.forward(trained.parameters, windows[:, :-1]).logits, windows[:, 1:])
    start, _ = cross_entropy(characters.forward(characters.initial(SEED), windows[:, :-1]).logits, windows[:, 1:])
    assert start == pytest.approx(np.log(len(characters.ALPHABET)), abs=0.1)
    assert loss < 2.6
    assert trained.origin["seed"] == SEED and "PSF License" in trained.origin["copyright"]
    assert (Path(characters.__file__).with_name(FILE)).stat().st_size < 240_000


@pytest.mark.slow
def test_training_is_repeatable_and_a_file_keeps_what_was_trained(tmp_path: Path) -> None:
    first, second = train(1, 3), train(1, 3)
    save(first, tmp_path / "model.npz")
    kept = load(tmp_path / "model.npz")
    assert kept.origin == first.origin and np.array_equal(kept.text, first.text)
    for name, value in first.parameters.items():
        assert np.array_equal(value, second.parameters[name]) and np.array_equal(value, kept.parameters[name])


# --- ways to eight bits -----------------------------------------------------------------------------------------------


def test_outliers_change_no_result_and_smoothing_hardly_any() -> None:
    trained = load()
    tokens = trained.windows(0, 4)[:, :-1]
    plain = characters.forward(trained.parameters, tokens).logits
    outliers = with_outliers(trained.parameters)
    assert np.array_equal(characters.forward(outliers, tokens).logits, plain)
    assert np.abs(characters.forward(smoothed(trained, outliers), tokens).logits - plain).max() < 1e-3


def test_an_eight_bit_product_is_that_of_the_decoded_operands() -> None:
    rng = np.random.default_rng(6)
    x, w = rng.normal(size=(5, 24)).astype(np.float32), rng.normal(size=(24, 7)).astype(np.float32)
    decoded = [fp9.decode(fp9.encode(o, "hif8", "rna", scale=-e), "hif8", scale=-e) for o, e in ((x, 2), (w, -3))]
    expected = (decoded[0].astype(np.float64) @ decoded[1].astype(np.float64)).astype(np.float32)
    assert np.array_equal(eight_bit("hif8", "exact", {"layer": (2, -3)})("layer", x, w), expected)


@pytest.mark.slow
def test_the_search_of_exponents_beats_every_other_pair_in_the_first_layer() -> None:
    trained, cast = load(), eight_bit("hif8")
    pairs = searched_exponents(trained, trained.parameters, cast)
    assert list(pairs) == list(characters.LINEAR)
    x, weight = layer_inputs(trained, trained.parameters)["0.qkv"], trained.parameters["0.qkv.weight"]
    wanted = x @ weight

    def error(pair: tuple[int, int]) -> float:
        return float(np.square(cast.with_pair(x, weight, pair) - wanted, dtype=np.float64).mean())

    others = [(a, w) for a in EXPONENTS[::3] for w in EXPONENTS[::3]]
    assert error(pairs["0.qkv"]) <= min(error(pair) for pair in others)
