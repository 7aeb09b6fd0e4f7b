"""Measured rows: files are read or refused in a sentence, chips' rules are named blind, programs print such rows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.outside import reference

import fp9
from fp9.cli import main
from fp9.engines import ENGINES
from fp9.formats import fixed_format, format
from fp9_compare.identify import Interface, fit_rows, read, search
from fp9_compare.identify.measured import open_values, said
from fp9_compare.identify.probes.gpu_programs import cuda, hip, pytorch, wgmma
from fp9_compare.identify.probes.structured import drawn, structured
from fp9_compare.identify.rows import MAGIC, digits, header, inputs
from fp9_compare.identify.tensor_cores import read as read_gpu_rows

FP32 = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 32)

RULES = {
    # What ../shared/chips/README.md found in exact arithmetic: the preset that says it, and whether C was added.
    ("Ada", "fp32"): ("ada", True),
    ("Ada", "fp16"): ("ada_fp16", True),
    ("H100", "fp32"): ("hopper", False),
    ("H100", "fp16"): ("hopper_mma_fp16", True),
    ("B200", "fp32"): ("blackwell_mma", True),
    ("B200", "fp16"): ("blackwell_mma_fp16", True),
}


WIDE = {"V100": "volta", "A100": "ampere", "H100": "hopper_16bit", "B200": "hopper_16bit"}


def rule_of(gpu: str, operands: str, output: str) -> tuple[str, bool]:
    if format(operands).bits == 8:
        return RULES[gpu, output]
    if operands == "tf32":
        return {"A100": "ampere_tf32", "H100": "hopper_tf32"}[gpu], True
    return WIDE[gpu] + ("_fp16" if output == "fp16" else ""), True


def rows_of(text: str, engine: str) -> str:
    """The file that a program prints on a unit that is an engine: its rows, each with the engine's result."""
    lines = re.findall(r'^(?: {4}")?([0-9a-f]+ [0-9a-f]+ [0-9a-f]+)(?:",?)?$', text, re.MULTILINE)
    words = [line.split() for line in lines]
    said_formats = re.search(r'"(fp9-rows a=(\S+) b=(\S+) result=(\S+))"', text)
    assert said_formats is not None
    a, b = (codes_of([row[i] for row in words], said_formats[2 + i]) for i in (0, 1))
    c = np.array([int(row[2], 16) for row in words]).astype(fixed_format(said_formats[4]).dtype)
    d = fp9.dot(a, b, said_formats[2], said_formats[3], engine, c, format_c=said_formats[4])
    width = len(words[0][2])
    rows = [f"{line} {code:0{width}x}" for line, code in zip(lines, d.tolist(), strict=True)]
    return "\n".join([said_formats[1], *rows])


def codes_of(vectors: list[str], name: str) -> np.ndarray:
    fmt = format(name)
    width = digits(fmt)
    rows = [[int(vector[i : i + width], 16) for i in range(0, len(vector), width)] for vector in vectors]
    return np.array(rows).astype(fmt.dtype)


@pytest.mark.parametrize("preset", ["hopper_mma", "ada", "ada_fp16"])
def test_the_rows_of_a_cuda_program_give_the_engine(preset: str, tmp_path: Path) -> None:
    text = cuda(Interface(format("e4m3"), format("e5m2"), ENGINES[preset].addend_format, 64))
    assert "mma.sync.aligned.m16n8k32.row.col." in text and "$" not in text
    (tmp_path / "unit.rows").write_text(rows_of(text, preset))
    assert preset in fit_rows(read(tmp_path / "unit.rows")).presets


@pytest.mark.parametrize(
    ("program", "operands", "preset", "instruction"),
    [
        (cuda, "tf32", "hopper_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
        (cuda, "fp16", "hopper_16bit_fp16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
        (wgmma, "e5m2", "hopper", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2"),
        (wgmma, "bf16", "hopper_16bit", "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"),
        (pytorch, "e4m3", "hopper", "torch._scaled_mm"),
        (pytorch, "tf32", "hopper_tf32", "torch.mm"),
    ],
)
def test_the_rows_of_every_program_give_the_engine(
    program: Callable[..., str], operands: str, preset: str, instruction: str, tmp_path: Path
) -> None:
    text = program(Interface(format(operands), format(operands), ENGINES[preset].addend_format, 32))
    assert instruction in text and "$" not in text
    (tmp_path / "unit.rows").write_text(rows_of(text, preset))
    assert preset in fit_rows(read(tmp_path / "unit.rows")).presets


def test_a_program_of_pytorch_runs_on_a_processor(tmp_path: Path) -> None:
    """It prints rows that can be read, with the sums of the processor's own matrix product."""
    pytest.importorskip("torch")
    script = tmp_path / "unit.py"
    script.write_text(pytorch(Interface("e4m3", "e5m2", fixed_format("fp32"), 32)))
    done = subprocess.run([sys.executable, script, "cpu"], capture_output=True, text=True, check=True)
    (tmp_path / "unit.rows").write_text(done.stdout)
    rows = read(tmp_path / "unit.rows", any_nan=True)
    a, b = fp9.decode(rows.vectors.a, "e4m3"), fp9.decode(rows.vectors.b, "e5m2").astype(np.float64)
    with np.errstate(invalid="ignore"):
        products = a * b
        errors = np.abs(rows.results.view(np.float64) - products.sum(1))
    finite = np.isfinite(products).all(1)
    assert len(finite) == 1000 and finite.sum() > 900
    assert np.all(errors[finite] <= 2.0**-20 * np.abs(products[finite]).sum(1))


@pytest.mark.parametrize(
    ("program", "operands", "result", "sentence"),
    [
        (cuda, ("bf16", "bf16"), "fp16", "fp16 given as result of bf16; the instruction gives fp32"),
        (wgmma, ("fp16", "bf16"), "fp32", "fp16 and bf16 given; no instruction takes both"),
        (pytorch, ("fp16", "fp16"), "fp16", "fp16 given as result; the program prints fp32"),
        (wgmma, ("e2m1", "e2m1"), "fp32", "e2m1 given as operand; the instruction takes e4m3"),
    ],
)
def test_a_program_refuses_what_no_instruction_takes(
    program: Callable[..., str], operands: tuple[str, str], result: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        program(Interface(*operands, fixed_format(result), 32))


@pytest.mark.slow
def test_programs_compile_to_one_instruction(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    for name, text, architecture in (
        ("mma.cu", cuda(Interface("tf32", "tf32", fixed_format("fp32"), 8)), "-arch=sm_80"),
        ("wgmma.cu", wgmma(FP32), "-gencode=arch=compute_90a,code=sm_90a"),
    ):
        (tmp_path / name).write_text(text)
        subprocess.run(["nvcc", architecture, "-cubin", name], cwd=tmp_path, check=True)


def test_the_rows_of_a_hip_program_give_the_engine(tmp_path: Path) -> None:
    fnuz = format("e4m3fnuz")
    text = hip(Interface(fnuz, format("e5m2fnuz"), fixed_format("fp32"), 32))
    assert "__builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8" in text and "gfx942" in text
    (tmp_path / "unit.rows").write_text(rows_of(text, "cdna3"))
    assert fit_rows(read(tmp_path / "unit.rows")).presets == ("cdna3",)


def test_a_hip_program_compiles_to_one_matrix_instruction(tmp_path: Path) -> None:
    clang = next(filter(None, map(shutil.which, ("clang++-22", "clang++-21", "clang++-20", "clang++-19"))), None)
    if clang is None or not Path("/usr/include/hip/hip_runtime.h").exists():
        pytest.skip("no clang 19 or newer, or no headers of HIP; install clang-22 and libamdhip64-dev")
    (tmp_path / "unit.hip").write_text(hip(Interface(format("e4m3fnuz"), format("e5m2fnuz"), fixed_format("fp32"), 32)))
    words = "-x hip --offload-arch=gfx942 --cuda-device-only -nogpulib -D__AMDGCN_WAVEFRONT_SIZE=64 -w -S unit.hip"
    subprocess.run([clang, *words.split()], cwd=tmp_path, check=True)
    assert re.findall(r"v_mfma\w+", next(tmp_path.glob("*.s")).read_text()) == ["v_mfma_f32_16x16x32_fp8_bf8"]


def test_a_program_is_written_and_says_how_it_is_built(tmp_path: Path) -> None:
    out = tmp_path / "unit.cu"
    said_line = CliRunner().invoke(main, ["identify", "--program", "cuda", "--out", str(out)])
    assert said_line.exit_code == 0, said_line.output
    assert "nvcc -arch=native" in said_line.stdout
    assert out.read_text().startswith("// Sums that tell accumulators apart")


@pytest.mark.slow
def test_an_unknown_unit_is_found_from_rows(tmp_path: Path) -> None:
    """No preset explains these rows: the engine is searched from the catalogue on."""
    vectors = structured(FP32) + drawn(FP32, 100, np.random.default_rng(0))
    lines = inputs(FP32, vectors)
    c = fp9.encode(vectors.c, "fp32")
    d = fp9.dot(vectors.a, vectors.b, "e4m3", "e4m3", "ada(window=15,rounding=rne)", c)
    file = tmp_path / "unit.rows"
    rows = [f"{line} {code:08x}" for line, code in zip(lines, d.tolist(), strict=True)]
    file.write_text("\n".join([header(FP32), "# a comment", *rows]))
    found = fit_rows(read(file))
    assert found.engine is not None
    assert (found.engine.step.products, found.engine.window.width, found.engine.result.rounding.value) == (
        16,
        15,
        "rne",
    )


def test_rows_of_no_engine_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_TURNS", (1,))
    small = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 4)
    vectors = drawn(small, 8, np.random.default_rng(1))
    file = tmp_path / "unit.rows"
    wrong = [f"{line} {code:08x}" for code, line in enumerate(inputs(small, vectors), 0x3F800000)]
    file.write_text("\n".join([header(small), *wrong]))
    drawn_rows = CliRunner().invoke(main, ["identify", str(file)])
    assert drawn_rows.exit_code == 1, drawn_rows.output
    assert "the unit gave 1" in drawn_rows.stdout and "none; nearest" in drawn_rows.stdout


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "does not begin with"),
        ("rows\n", "does not begin with"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n", "has no rows"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=int8\n00 00 00 00\n", "int8 given as result"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n00 00 00000000\n", "line 2: 3 words given"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n00 000 00000000 00000000\n", "line 2: '000' given; give 2 hex digits"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n00 0000 00000000 00000000\n", "line 2: vectors of 1 and 2 codes given"),
        (f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n00 00 0000 00000000\n", "line 2: '0000' given; give 8 hex digits"),
        (f"{MAGIC} a=e2m1 b=e4m3 result=fp32\n0 00 00000000 0000000g\n", "line 2: '0000000g' given"),
        (
            f"{MAGIC} a=e4m3 b=e4m3 result=fp32\n00 00 00000000 00000000\n0000 0000 00000000 00000000\n",
            "sums of 1 and of 2 products given",
        ),
    ],
)
def test_a_malformed_file_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "unit.rows"
    file.write_text(text)
    refused = CliRunner().invoke(main, ["identify", str(file)])
    assert refused.exit_code == 2
    assert sentence in refused.stderr


def test_chips_rules_are_named_from_their_rows_alone() -> None:
    found = [(rows.name.split(), fit_rows(rows)) for rows in read_gpu_rows(reference("chips"))]
    assert len(found) >= 24
    for (gpu, operands, output), explained in found:
        rule, with_c = rule_of(gpu, operands, output)
        assert rule in explained.presets
        assert explained.with_c is with_c
        assert explained.differs is None
    windows = {
        operands: said(open_values(explained.evidence, ENGINES["blackwell_mma"])["window"])
        for (gpu, operands, output), explained in found
        if (gpu, output) == ("B200", "fp32") and operands != "fp16"
    }
    # Windows of 23 bits and more: E4M3 alone leaves narrower ones open, E5M2 does not.
    assert windows == {"e4m3": "none, 20..24, 26..40", "e5m2": "none, 23..24, 26..40"}
