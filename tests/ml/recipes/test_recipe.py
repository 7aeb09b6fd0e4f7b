"""Recipes as records: their names, fields and texts, and the units that compute them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fp9
from fp9.engines import ENGINES, Engine, Step
from fp9.studies.papers import figures
from fp9.units import Cast, Dot, unit
from fp9_ml.recipes import LOSSES, RECIPES, SCALES, Place, Product, Recipe, Role, dumps, loads, recipe
from fp9_ml.recipes.fields import READERS

EVERY = list(RECIPES.values())


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_a_recipe_is_its_toml(spec: Recipe, tmp_path: Path) -> None:
    assert loads(dumps(spec)) == spec
    path = tmp_path / "mine.toml"
    path.write_text(dumps(spec))
    assert recipe(path) == recipe(str(path)) == spec


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_a_name_with_all_fields_is_the_recipe(spec: Recipe) -> None:
    said = {field: text for field, text in spec.spelled().items() if field not in ("name", "source")}
    assert recipe(f"{spec.name}({','.join(f'{field}={text}' for field, text in said.items())})") is spec
    if spec.name != "fp32":
        from_nothing = recipe(f"fp32({','.join(f'{field}={text}' for field, text in said.items())})")
        assert replace(from_nothing, name=spec.name, source=spec.source) == spec


def test_fields_are_changed_in_the_name() -> None:
    changed = recipe("hfp8(weights=f143(bias=14), wgrad=chunked(L=128), loss=backoff(window=1000), first=none)")
    assert changed.weights == fp9.format("f143(bias=14)")
    assert changed.wgrad == fp9.engine("chunked(chunk=128)")
    assert changed.forward == ENGINES["dlfloat"]
    assert changed.loss.window == 1000  # type: ignore[attr-defined]
    assert recipe(changed.name) == changed
    assert recipe("hfp8()") is recipe("hfp8(output=dlfloat16)") is RECIPES["hfp8"]


def test_windows_and_powers_of_two_are_spelled() -> None:
    changed = recipe("hif8(loss=adaptive(windows=(1,4,16),window=4,start_scale=2^40))")
    assert changed.spelled()["loss"] == "adaptive(start_scale=2^40,windows=(1,4,16),window=4)"
    assert recipe(changed.name) == changed


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("x", "unknown recipe 'x'; known: hfp8"),
        ("hfp8(", "write name or name\\(field=value"),
        ("hfp8(weights)", "'weights' is not of the form field=value"),
        ("hfp8(color=red)", "has no field 'color'; its fields are activations"),
        ("hfp8(name=x)", "has no field 'name'"),
        ("hfp8(first=e4m3,first=e5m2)", "gives first twice"),
        ("hfp8(weights=fp32)", "operands of at most 16 bits"),
        ("hfp8(weights=e8m0)", "give a format with a sign"),
        ("hfp8(weights=none)", "engine dlfloat given for forward, and weights has no format"),
        ("hfp8(forward=nope)", "forward: unknown engine 'nope'"),
        ("te_delayed(scale=delayed(hist=3))", "delayed has no field 'hist'; its fields are history"),
        ("te_delayed(scale=delayed(history=x))", "history=x given; give an integer"),
        ("te_delayed(scale=delayed(history=1.5))", "give an integer"),
        ("te_delayed(scale=current(power_of_two=2))", "give true or false"),
        ("hif8(weights=int8,overflow=inf)", "neither infinity nor NaN"),
        ("hif8(weights=e4m3,rounding=hybrid)", "hybrid rounding is not defined for e4m3"),
        ("hif8(overflow=wrap)", "choose one of saturate, inf"),
        ("hif8(output=e2m1)", "give a format with infinity or NaN"),
    ],
)
def test_what_cannot_be_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as error:
        recipe(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("name = ", "is not a TOML file"),
        ('name = "a"\nweights = 3', 'give a text, as in weights = "3"'),
        ('name = "a b"', "give letters, digits and underscores"),
        ('weights = "e4m3"', "give letters, digits and underscores"),
        ('name = "a"\nlayers = "3"', "has no field 'layers'"),
    ],
)
def test_a_file_that_cannot_be_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        loads(text)


def test_an_engine_that_no_name_spells_has_no_toml() -> None:
    with pytest.raises(ValueError, match="no preset with parameters"):
        dumps(replace(RECIPES["hif8"], forward=Engine("mine", step=Step(3))))


def test_something_that_is_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="a recipe is named by a string"):
        recipe(3)  # type: ignore[arg-type]


WORDS = st.sampled_from(
    [
        *RECIPES,
        *SCALES,
        *LOSSES,
        *READERS,
        *"(),=^",
        "2^",
        "history",
        "windows",
        "none",
        "true",
        "e4m3",
        "1e400",
        "-1",
        "nan",
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(list(RECIPES)), st.lists(WORDS, max_size=12))
def test_any_name_is_a_recipe_or_one_sentence(name: str, words: list[str]) -> None:
    try:
        found = recipe(f"{name}({''.join(words)})")
    except ValueError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert recipe(found.name) == found


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from([*SCALES.items(), *LOSSES.items()]),
    st.data(),
)
def test_any_number_in_a_rule_is_taken_or_one_sentence(known: tuple[str, type], data: st.DataObject) -> None:
    """What is taken starts a machine with a scale or factor of FP32, and reads back."""
    name, kind = known
    numbers = st.one_of(
        st.integers(-(2**70), 2**70), st.floats(), st.sampled_from([1e-40, 1e-300, 1e300]), st.integers(-3, 30)
    ).map(str)
    names = [field.name for field in fields(kind)]
    settings_ = data.draw(st.dictionaries(st.sampled_from(names), numbers, max_size=3)) if names else {}
    field = "scale" if name in SCALES else "loss"
    try:
        spec = recipe(f"fp32({field}={name}({','.join(f'{k}={v}' for k, v in settings_.items())}))")
    except ValueError as error:
        assert "\n" not in str(error)
        return
    assert recipe(spec.name) == spec
    scaler = spec.loss_scaler()
    scaler.update(True, 1.0)
    factor = spec.scale.start(fp9.format("e4m3")).step([3.0])
    assert 0 < float(np.float32(scaler.scale)) < math.inf
    assert 0 < float(np.float32(factor)) < math.inf


@pytest.mark.parametrize("number", ["inf", "-inf", "1e308"])
@pytest.mark.parametrize("field", ["deviations", "log_max"])
def test_a_rule_of_logarithms_takes_logarithms(field: str, number: str) -> None:
    """No deviations times infinity is no exponent, nor is the square of a number beyond all floats."""
    with pytest.raises(ValueError, match=f"logmax: {field}=.* given; give a number from -1024 to 1024"):
        recipe(f"fp32(loss=logmax({field}={number}))")


# --- what the papers say --------------------------------------------------------------------------------------------


def test_hfp8_is_hybrid() -> None:
    """HFP8 section 2.1 and 2.2: 1-4-3 with bias 4 forward, 1-5-2 for gradients; outer layers in 1-6-9."""
    spec = RECIPES["hfp8"]
    assert (str(spec.activations), str(spec.weights), str(spec.gradients)) == ("hfp8_143(bias=4)",) * 2 + ("hfp8_152",)
    assert {spec.layer(place).activations for place in ("first", "last", "depthwise")} == {fp9.format("dlfloat16")}


def test_a_layer_apart_has_one_format_and_no_scale() -> None:
    last = RECIPES["hif8_pts"].layer(Place.LAST)
    assert {last.format_of(role) for role in Role} == {fp9.format("fp16")}
    assert last.scale.is_identity
    assert RECIPES["hif8_pts"].layer("first") is RECIPES["hif8_pts"]


# --- units ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_the_units_take_the_formats_and_sum_as_the_engine(spec: Recipe) -> None:
    found = spec.units()
    for role in Role:
        assert (role.value in found) == (spec.format_of(role) is not None)
        for name in found.get(role.value, ()):
            cast = unit(name)
            assert isinstance(cast, Cast) and spec.format_of(role) in cast.targets
            assert spec.policy(role).rounding_for(spec.format_of(role)) in cast.roundings  # type: ignore[arg-type]
    for product in Product:
        for name in found.get(product.value, ()):
            step = unit(name)
            assert isinstance(step, Dot)
            assert step.engine.changed(name="") == spec.engine_of(product).changed(name="")  # type: ignore[type-var]


def test_the_units_of_hfp8() -> None:
    assert "fma_dlfloat16_hfp8" in RECIPES["hfp8"].units()["forward"]
    assert RECIPES["hfp8_chunked"].units()["dgrad"] == ("mac_dlfloat16_chunked",)
    biased = recipe("hfp8(weights=hfp8_143(bias=-2))").units()
    assert biased["forward"] == ("fma_dlfloat16_bias",)
    assert biased["weights"] == ()
    assert RECIPES["fp32"].units() == {}


def test_every_field_has_a_text() -> None:
    assert set(RECIPES["hfp8"].spelled()) == {field.name for field in fields(Recipe)}


def test_the_largest_number_of_1_4_3_is_stated_for_the_code_that_is_reserved_or_not() -> None:
    """The paper prints 30, a number of the all-ones code; the recipe reserves that code for NaN-Inf."""
    assert recipe("hfp8").activations == fp9.format("hfp8_143(bias=4)")
    assert fp9.format("hfp8_143(bias=4)").max == 28
    rows = {figure.row: figure.printed for figure in figures() if figure.quantity == "largest"}
    assert rows["1.4.3, extra bias 4, reserve_top=False"] == "30"
    assert fp9.format("hfp8_143(bias=4,reserve_top=False)").max == 30
