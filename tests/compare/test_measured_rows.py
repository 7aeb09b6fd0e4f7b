"""`fp9 identify --presets`: presets explain rows measured on GPUs and made-up rows; rows that differ are shown."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.support.outside import reference

import fp9
from fp9.cli import main

WIDE = {
    # The same with operands of 16 bits and TF32: presets of FP16 results, of FP32 results, and of TF32.
    **dict.fromkeys(("V100",), ("volta_fp16", "volta", None)),
    **dict.fromkeys(("A100", "A2", "Ada", "L40S"), ("ampere_fp16", "ampere", "ampere_tf32")),
    **dict.fromkeys(("H100", "H200", "B200"), ("hopper_16bit_fp16", "hopper_16bit", "hopper_tf32")),
}
MEASURED = {
    # Which presets explain the FP8 rows of MATLAB-tensor-core; all 90,000 of the whole set agree.
    ("Ada", "fp32"): ("ada", "added"),
    ("Ada", "fp16"): ("ada_fp16", "added"),
    ("L40S", "fp32"): ("ada", "added"),
    ("H100", "fp32"): ("hopper", "+0"),  # wgmma, which began with 0: the C of these files does not belong to them
    ("H100", "fp16"): ("hopper_mma_fp16", "added"),
    ("H200", "fp32"): ("hopper", "+0"),
    ("H200", "fp16"): ("hopper_mma_fp16", "added"),
    ("B200", "fp32"): ("blackwell_mma", "added"),
    ("B200", "fp16"): ("blackwell_mma_fp16", "added"),
}


def identified(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["identify", "--presets", *(str(argument) for argument in arguments)])


def write_clone(folder: Path, engine: str, output: str) -> Path:
    """A clone with the rows of a GPU that computes as an engine does; returns the file of results."""
    rng = np.random.default_rng(3)
    path = folder / "model_validation" / "Made" / "E4M3"
    path.mkdir(parents=True)
    a, b = (fp9.encode(rng.standard_normal((40, 32)), "e4m3") for _ in "ab")
    for letter, codes in (("a", a), ("b", b)):
        rows = fp9.decode(codes, "e4m3").astype(np.float32).view(np.uint32)
        text = "\n".join(" ".join(f"{word:08x}" for word in row) for row in rows)
        (path / f"{letter}_Made_E4M3.txt").write_text(text + "\n")
    c = rng.standard_normal(40).astype(np.float32)
    d = fp9.decode(fp9.dot(a, b, "e4m3", "e4m3", engine, fp9.encode(c, output)), output).astype(np.float32)
    for name, numbers in (("c_Made_fp32", c), (f"d_Made_{output}", d)):
        (path / f"{name}.txt").write_text("\n".join(f"{word:032b}" for word in numbers.view(np.uint32)) + "\n")
    return path / f"d_Made_{output}.txt"


def measured_preset(gpu: str, operands: str, output: str) -> tuple[str, str]:
    if fp9.format(operands).bits == 8:
        return MEASURED[gpu, output]
    fp16, fp32, tf32 = WIDE[gpu]
    preset = tf32 if operands == "tf32" else {"fp16": fp16, "fp32": fp32}[output]
    assert preset is not None
    return preset, "added"


def test_every_row_that_a_chip_computed_is_explained() -> None:
    found = identified(reference("chips"), "--json")
    assert found.exit_code == 0, found.output
    records = json.loads(found.stdout)
    assert len(records) >= 24
    for record in records:
        preset, c = measured_preset(record["gpu"], record["operands"], record["output"])
        assert preset in record["presets"]
        for other in itertools.chain(*record["not_distinguished"]):
            assert fp9.engine(other) != fp9.engine(preset).changed(name=other)
        assert (record["c"], record["agree"]) == (c, record["rows"]), record["gpu"]


@pytest.mark.parametrize(
    ("engine", "output"), [("hopper_mma", "fp32"), ("ada", "fp32"), ("blackwell_fp16", "fp16"), ("rvbna32", "fp32")]
)
def test_the_engine_of_made_up_rows_is_found(tmp_path: Path, engine: str, output: str) -> None:
    write_clone(tmp_path, engine, output)
    (record,) = json.loads(identified(tmp_path, "--json").stdout)
    assert engine in record["presets"]
    assert (record["c"], record["rows"], record["agree"]) == ("added", 40, 40)
    assert identified(tmp_path / "model_validation").exit_code == 0


def test_a_row_that_differs_is_drawn_step_by_step(tmp_path: Path) -> None:
    file = write_clone(tmp_path, "hopper_mma", "fp32")
    lines = file.read_text().split()
    lines[7] = f"{int(lines[7], 2) ^ 1:032b}"
    file.write_text("\n".join(lines))
    done = identified(tmp_path, "--json")
    assert done.exit_code == 1
    (record,) = json.loads(done.stdout)
    assert (record["agree"], record["differs"]["row"]) == (39, 7)
    # Two steps of 16 products from +0, then C: the last result is the sum that the model gives.
    steps = record["differs"]["steps"]
    assert [(step["what"], step["products"]) for step in steps] == [("step", 16), ("step", 16), ("chunk joins", 0)]
    assert all(step["top"] - step["last"] == 25 for step in steps[:2])
    given = np.array([int(lines[7], 2) ^ 1], dtype=np.uint32).view(np.float32)[0]
    assert steps[-1]["result"] == given
    assert steps[1]["addend"] == steps[0]["result"]
    assert "row 8 as hopper_mma computes it" in " ".join(identified(tmp_path).stdout.split())


def test_an_exact_sum_is_not_called_the_explanation_of_rows_that_lose_no_bit(tmp_path: Path) -> None:
    """25 bits of window hold every product of such rows: `exact` gives the same, and says less."""
    write_clone(tmp_path, "blackwell_mma", "fp32")
    (record,) = json.loads(identified(tmp_path, "--json").stdout)
    others = set(itertools.chain(*record["not_distinguished"]))
    assert record["presets"] == ["hopper_mma", "blackwell_mma"]
    assert {"mx", "exact"} & others
    assert not {"mx", "exact"} & set(record["presets"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a_Made_E4M3.txt", "3f800000 3f800001\n" * 40, "a number that is not in e4m3 given"),
        ("a_Made_E4M3.txt", "3f800000\n3f800000 3f800000\n", "lines of unequal length"),
        ("c_Made_fp32.txt", "0102\n" * 40, "float32 patterns in 0 and 1"),
        ("d_Made_fp32.txt", "0\n" * 39, "give files of equally many rows"),
    ],
)
def test_files_that_are_no_rows_are_refused_in_a_sentence(tmp_path: Path, name: str, text: str, says: str) -> None:
    file = write_clone(tmp_path, "ada", "fp32")
    (file.parent / name).write_text(text)
    refused = identified(tmp_path)
    assert refused.exit_code == 2
    assert says in refused.output
    assert "Traceback" not in refused.output


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    refused = identified(tmp_path)
    assert refused.exit_code == 2
    assert "give a clone of https://github.com/north-numerical-computing/MATLAB-tensor-core" in refused.output
