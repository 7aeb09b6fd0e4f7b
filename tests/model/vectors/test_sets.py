"""Vector files: what is written comes back, what was changed is refused, and the same arguments give the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import each_kind, units

from fp9.formats.rounding import Flags
from fp9.units import CATALOGUE, Cast, Fma, Unit
from fp9.vectors import Checked, check, manifest_path
from fp9.vectors import sets as vectors


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=lambda unit: unit.name)
def test_written_random_vectors_come_back(unit: Unit, tmp_path: Path) -> None:
    come_back(vectors.generate(unit, "random", 2000 // unit.group * unit.group), tmp_path)


@pytest.mark.every(4)
@pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=lambda unit: unit.name)
def test_written_smoke_vectors_come_back(unit: Unit, tmp_path: Path) -> None:
    come_back(vectors.generate(unit, "smoke"), tmp_path)


def come_back(made: vectors.VectorSet, folder: Path) -> None:
    """What is written of a set is read again, and its file holds what its manifest says."""
    back = vectors.read(vectors.export(made, folder))
    path = folder / f"{made.unit.name}.vec"
    assert check(path) == Checked(path, len(made), (), ())
    for port in made.unit.inputs:
        assert np.array_equal(made.inputs[port.name], back.inputs[port.name])
    for port in made.unit.outputs:
        care = made.care.get(port.name, np.ones(len(made), dtype=bool))
        assert np.array_equal(made.expected[port.name][care], back.expected[port.name][care])


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        vectors.export(vectors.generate("mac_fp32", "random", 500, seed=7), tmp_path / folder)
    for suffix in (".vec", ".json"):
        assert (tmp_path / "one/mac_fp32").with_suffix(suffix).read_bytes() == (tmp_path / "two/mac_fp32").with_suffix(
            suffix
        ).read_bytes()


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=lambda unit: unit.name)
def test_corner_suites_use_every_choice_of_every_select_port(unit: Unit) -> None:
    made = vectors.generate(unit, "corner")
    for port in unit.inputs:
        if port.choices:
            assert set(made.inputs[port.name].tolist()) >= set(range(len(port.choices))), port.name


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", [*units(Fma), *units(Cast)], ids=lambda unit: unit.name)
def test_corner_suites_reach_every_flag_that_can_be_raised(unit: Fma | Cast) -> None:
    """FP32 and BF16 cannot overflow from a finite addend: the largest product, 2^34, is below half an ulp of 2^127."""
    results = vectors.generate(unit, "corner").expected
    raised = int(np.bitwise_or.reduce([results[port] for port in results if port.startswith("flags")], axis=None))
    reachable = Flags.INEXACT
    if isinstance(unit, Cast) or unit.engine.result.format.exponent_bits < 8:
        reachable |= Flags.OVERFLOW
    assert Flags(raised) & reachable == reachable


def test_every_changed_result_is_named(tmp_path: Path) -> None:
    path = vectors.export(vectors.generate("fma_fp32", "smoke"), tmp_path)
    lines = path.read_text().splitlines()
    for place in (5, 9):
        cells = lines[place].split()
        cells[-2] = f"{int(cells[-2], 16) ^ 1:08x}"
        lines[place] = " ".join(cells)
    path.write_text("\n".join(lines) + "\n")
    found = check(path)
    assert found.faults == ("its SHA-256 is not that of the manifest",)
    assert [(value.vector, value.port) for value in found.wrong] == [(3, "result"), (7, "result")]
    assert "vector 3 has result = " in str(found.wrong[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m["columns"][0].update(port="x"), "its column 1 has port 'x', that of the unit is 'a'"),
        (lambda m: m["columns"][1].update(width=9), "its column 2 has width 9, that of the unit is 3"),
        (lambda m: m["columns"][1].update(signed=True), "its column 2 has signed True, that of the unit is False"),
        (lambda m: m["columns"][-1].update(bits={}), "its column 7 has bits {}, that of the unit is {'0': 'inexact'"),
        (lambda m: m["columns"].pop(), "it has 6 columns, the unit 7 ports"),
        (lambda m: m.update(policies={}), "its policies are empty, those of fma_fp32 rounding rne, overflow inf"),
        (lambda m: m["layout"].update(base=10), "its layout is not that of a .vec file of fma_fp32"),
        (lambda m: m["spec"].pop(), "it was made for another spec of fma_fp32"),
        (lambda m: m.update(count=1), "its manifest says 1"),
    ],
)
def test_a_manifest_of_another_unit_is_named(change: Any, says: str, tmp_path: Path) -> None:
    path = vectors.export(vectors.generate("fma_fp32", "random", 20), tmp_path)
    manifest = json.loads(path.with_suffix(".json").read_text())
    change(manifest)
    path.with_suffix(".json").write_text(json.dumps(manifest))
    (fault,) = check(path).faults
    assert says in fault


def test_a_manifest_is_enough_to_read_a_memory_file(tmp_path: Path) -> None:
    """Words taken apart by the places that the manifest gives, as a bench does it."""
    made = vectors.generate("mac_dlfloat16", "random", 50)
    path = vectors.export(made, tmp_path, file_format="memh")
    manifest = json.loads(manifest_path(path).read_text())
    layout = manifest["layout"]
    words = [line for line in path.read_text().splitlines() if not line.startswith(layout["comment"])]
    assert {len(word.replace(layout["separator"], "")) * 4 for word in words} == {layout["word_bits"]}
    for column in manifest["columns"]:
        low, mask = layout["lowest_bits"][column["port"]], (1 << column["width"]) - 1
        given = made.inputs if column["direction"] == "in" else made.expected
        assert [int(word, layout["base"]) >> low & mask for word in words] == given[column["port"]].tolist()
    operation = manifest["columns"][0]
    assert operation["values"] == {str(op): name for op, name in enumerate(made.unit.inputs[0].choices)}
    assert manifest["columns"][-1]["bits"]["4"] == "invalid"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zz 0 0\n", "line 1 has 3 columns; give 8: code"),
        ("", "it has no line of 8 columns"),
        ("# only a comment\n", "it has no line of 8 columns"),
        (
            "# a comment\n\n00 0 0 xx 0 1 0 0\n00 0 0 zz 0 1 0 0\n",
            "line 4 has 'zz' in column exponent, which is no number",
        ),
        ("00 0 0 xx 0 1 0 2\n", "line 1 has 2 in column nan, which does not fit its 1 bits"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = vectors.export(vectors.generate("decoder_ocp", "smoke"), tmp_path)
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        vectors.read(path)


def test_columns_are_checked() -> None:
    unit = CATALOGUE["cast_fp16_hif8"]
    column = np.zeros(3, dtype=np.uint32)
    good = {port.name: column for port in unit.inputs}
    assert len(vectors.from_inputs(unit, good)) == 3
    with pytest.raises(ValueError, match="columns"):
        vectors.from_inputs(unit, {"x": column})
    with pytest.raises(ValueError, match="does not fit its 16 bits"):
        vectors.from_inputs(unit, good | {"x": column + 70000})
    with pytest.raises(ValueError, match="different shapes"):
        vectors.from_inputs(unit, good | {"x": column[:2]})
    with pytest.raises(ValueError, match="unsigned integers"):
        vectors.from_inputs(unit, good | {"x": column.astype(float)})


def test_an_unknown_suite_is_named() -> None:
    with pytest.raises(ValueError, match="smoke, corner, random, full"):
        vectors.generate("cast_fp32", "everything")


FORMATS = ["vec", "memh", "csv", "npz", "parquet"]


@pytest.mark.every(2)
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("name", ["decoder_ocp", "fma_dlfloat16", "cast_fp16_hif8"])
def test_every_file_format_brings_the_vectors_back(file_format: str, name: str, tmp_path: Path) -> None:
    made = vectors.generate(name, "smoke")
    path = vectors.export(made, tmp_path, file_format=file_format)
    back = vectors.read(path)
    assert check(path).passed
    for port in made.unit.inputs:
        assert np.array_equal(made.inputs[port.name], back.inputs[port.name])
    for port in made.unit.outputs:
        care = made.care.get(port.name, np.ones(len(made), dtype=bool))
        assert np.array_equal(care, back.care.get(port.name, np.ones(len(made), dtype=bool)))
        assert np.array_equal(made.expected[port.name][care], back.expected[port.name][care])


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_file_format_is_the_same_to_the_byte(file_format: str, tmp_path: Path) -> None:
    made = vectors.generate("decoder_hfp8", "smoke")
    one, two = (vectors.export(made, tmp_path / folder, file_format=file_format) for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("file_format", ["vec", "memh", "csv", "npz"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"PK\x03\x04", b"1 2 3\n", b"code,sign\n1,2\n"])
def test_files_of_no_form_are_refused_in_a_sentence(file_format: str, content: bytes, tmp_path: Path) -> None:
    path = vectors.export(vectors.generate("decoder_ocp", "smoke"), tmp_path, file_format=file_format)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="holds no vectors of decoder_ocp"):
        vectors.read(path)


def test_inputs_of_another_generator_are_named(tmp_path: Path) -> None:
    unit = CATALOGUE["cast_fp16_hif8"]
    given = vectors.generate(unit, "smoke").inputs
    moved = {name: np.roll(column, 1) for name, column in given.items()}
    origin = {"suite": "smoke", "count": None, "seed": 0}
    (fault,) = check(vectors.export(vectors.from_inputs(unit, moved, origin), tmp_path)).faults
    assert "not those of suite smoke" in fault


def test_the_manifest_names_the_policies(tmp_path: Path) -> None:
    path = vectors.export(vectors.generate("cast_fp16_hif8", "smoke"), tmp_path)
    policies = json.loads(path.with_suffix(".json").read_text())["policies"]
    assert policies["roundings"] == ["rne", "rna", "hybrid"]
    assert policies["tininess"] == "after rounding"


def test_the_manifest_states_the_mutation_score_of_the_suite_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = vectors.generate("decoder_hif8", "corner")
    plain = vectors.export(made, tmp_path / "plain")
    digest = hashlib.sha256(plain.read_bytes()).hexdigest()
    scored = {"mutants": 4, "killed": 3, "share": 0.75, "seeds": [5], "verilog_sha256": "f" * 64}
    monkeypatch.setattr("fp9.vectors.mutation_scores.table", lambda: {"decoder_hif8": {digest: scored}})
    for form in ("vec", "csv", "npz"):
        path = vectors.export(made, tmp_path, file_format=form)
        assert json.loads(manifest_path(path).read_text())["mutation_score"] == scored
    other = vectors.export(vectors.generate("decoder_hif8", "random", 10), tmp_path)
    assert json.loads(vectors.manifest_path(other).read_text())["mutation_score"] is None


def test_a_full_suite_has_every_input_where_these_are_few() -> None:
    made = vectors.generate("cast_fp16_hif8", "full")
    assert len(made) == 1 << 19
