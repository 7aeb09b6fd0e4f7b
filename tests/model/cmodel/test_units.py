"""The C model of every unit gives the golden results and flags, on every compiler and machine that is there."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.compilers import COMPILERS, GCC, Compiler, write

from fp9.cmodel import files
from fp9.formats import format
from fp9.formats.rounding import Rounding
from fp9.units import CATALOGUE, FpuGroup, MultiFpu, Unit, unit
from fp9.units.toml import load
from fp9.vectors import export, generate

COMMITTED = Path(__file__).parents[3] / "vectors"
MODELLED = [*CATALOGUE.values()]
FPUS = [
    MultiFpu("every_group", tuple(map(format, ("e4m3", "hif8", "fp16"))), tuple(FpuGroup), nan_boxing=True),
    MultiFpu("in_lanes", tuple(map(format, ("e5m2", "e4m3fnuz", "fp32"))), tuple(FpuGroup)[:4], lanes=4, tag=5),
    MultiFpu("dots_only", tuple(map(format, ("hif8", "bf16", "fp32"))), (FpuGroup.DOT,), mixed=False),
    MultiFpu("compares", (format("hfp8_143"),), (FpuGroup.NONCOMP,), flags=False),
    MultiFpu(
        "at_random",
        tuple(map(format, ("e4m3", "hif8", "bf16", "fp32"))),
        tuple(FpuGroup)[:4],
        (Rounding.SR, Rounding.HYBRID, Rounding.RUP),
        lanes=4,
        scale=True,
        random_bits=11,
    ),
    MultiFpu("elements", tuple(map(format, ("e2m1", "e3m2", "e5m2", "bf16"))), tuple(FpuGroup), lanes=2),
    MultiFpu(
        "half_lanes",
        tuple(map(format, ("e4m3", "fp16", "bf16", "fp32"))),
        tuple(FpuGroup)[:4],
        (Rounding.SR, Rounding.RNE),
        lanes=4,
        half_lanes=True,
    ),
    MultiFpu("halves", tuple(map(format, ("fp16", "fp32"))), half_lanes=True, mixed=False, wide_overflow=True),
    MultiFpu("tiny_before", (format("e5m2"), format("fp16")), tuple(FpuGroup), tiny_before_rounding=True, scale=True),
]
"""Multi-format FPUs with groups and fields that the catalogue lacks."""


def built(unit: Unit, folder: Path, compiler: Compiler = GCC) -> Path:
    """The bench of a unit's header."""
    write(folder, files(unit))
    program = folder / "bench"
    compiler.build(folder / f"{unit.name}_bench.c", program)
    return program


def passes(program: Path, vectors: Path, compiler: Compiler = GCC) -> bool:
    """Whether the bench agrees with a file of vectors; what it prints is the reason of a failure."""
    done = compiler.run(program, vectors)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.startswith("PASS: ")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Unit], Path]:
    """Return a function that gives the bench of a unit's header, which all suites of the unit share."""
    return functools.cache(lambda unit: built(unit, tmp_path_factory.mktemp(unit.name)))


@pytest.mark.every(14)
@pytest.mark.parametrize("unit", MODELLED, ids=lambda unit: unit.name)
def test_smoke_suites_agree(unit: Unit, bench: Callable[[Unit], Path], tmp_path: Path) -> None:
    assert passes(bench(unit), export(generate(unit, "smoke"), tmp_path))


@pytest.mark.every(3)
@pytest.mark.parametrize("fpu", FPUS, ids=lambda fpu: fpu.name)
def test_fpus_of_all_groups_agree(fpu: MultiFpu, tmp_path: Path) -> None:
    program = built(fpu, tmp_path)
    for suite in ("corner", "random"):
        assert passes(program, export(generate(fpu, suite), tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("machine", [name for name in COMPILERS if name != "gcc"])
@pytest.mark.parametrize("unit", MODELLED, ids=lambda unit: unit.name)
def test_smoke_suites_agree_on_other_compilers_and_machines(unit: Unit, machine: str, tmp_path: Path) -> None:
    compiler = COMPILERS[machine]
    assert passes(built(unit, tmp_path, compiler), export(generate(unit, "smoke"), tmp_path), compiler)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["corner", "random"])
@pytest.mark.parametrize("unit", MODELLED, ids=lambda unit: unit.name)
def test_corner_and_random_suites_agree(unit: Unit, suite: str, bench: Callable[[Unit], Path], tmp_path: Path) -> None:
    """100,000 random operations; `benchmarks/cmodel.py` runs 10 million."""
    vectors = export(generate(unit, suite, 100_000 if suite == "random" else None), tmp_path)
    assert passes(bench(unit), vectors)


def test_the_bench_prints_the_first_mismatch_with_its_operands(tmp_path: Path) -> None:
    program = built(unit("fma_fp32_ocp"), tmp_path)
    lines = (COMMITTED / "fma_fp32_ocp.vec").read_text().splitlines()
    lines[4] = "38 0 40 0 3f800000 40400001 00"  # 1 * 2 + 1 is not just above 3
    (tmp_path / "wrong.vec").write_text("\n".join([*lines, ""]))
    done = GCC.run(program, tmp_path / "wrong.vec")
    assert done.returncode == 1
    assert "first mismatch in line 5:\n  a = 0x38 (8 * 2^-3)\n" in done.stdout
    assert "result is 0x40400000 (12582912 * 2^-22), not 0x40400001 (12582913 * 2^-22)" in done.stdout
    assert done.stdout.endswith(f"FAIL: 1 mismatches in {len(lines) - 2} operations\n")


@pytest.mark.parametrize("text", ["", "38 0 40 0\n", "38 0 40 0 3f800000 4040000z 00\n", "# nothing\n"])
def test_the_bench_refuses_a_file_that_is_not_of_the_form(text: str, tmp_path: Path) -> None:
    (tmp_path / "broken.vec").write_text(text)
    assert GCC.run(built(unit("fma_fp32_ocp"), tmp_path), tmp_path / "broken.vec").returncode != 0


@pytest.mark.parametrize("name", ["mac_dlfloat16_chunked", "mac4_kulisch_ocp", "cast_fp32_x4", "decoder_ocp"])
def test_functions_behind_dpi_start_from_reset_again(name: str, tmp_path: Path) -> None:
    """Every operation's outputs with what carries meaning, twice with a reset between."""
    found = unit(name)
    write(tmp_path, files(found))
    GCC.build(tmp_path / f"{name}_dpi.c", tmp_path / "model.so", "-shared", "-fPIC")
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    vectors = generate(found, "smoke")
    for _ in range(2):
        for row in range(200):
            inputs = [ctypes.c_ulonglong(int(vectors.inputs[port.name][row])) for port in found.inputs]
            results = [ctypes.c_ulonglong() for _ in range(len(found.outputs) + 1)]
            getattr(library, f"{name}_dpi_model")(*inputs, *map(ctypes.byref, results))
            for place, port in enumerate(found.outputs):
                cared = port.name not in vectors.care or bool(vectors.care[port.name][row])
                assert results[-1].value >> place & 1 == cared
                assert not cared or results[place].value == vectors.expected[port.name][row], (row, port.name)
        if found.has_state:
            getattr(library, f"{name}_dpi_reset")()


def test_headers_of_several_units_stand_in_one_file(tmp_path: Path) -> None:
    """Guards keep what headers share from being defined twice."""
    names = ("fma_fp32", "cast_fp32", "mac4_kulisch_ocp", "dot16_fp32_fnuz", "quantiser_nvfp4")
    for name in names:
        write(tmp_path, files(unit(name)))
    includes = "".join(f'#include "fp9_{name}.h"\n' for name in (*names, *names))
    (tmp_path / "all.c").write_text(f"{includes}int main(void) {{ return 0; }}\n")
    GCC.build(tmp_path / "all.c", tmp_path / "all")


UNUSUAL = (
    ("decoder_ocp", ("formats=int8(bias=1),hfp8_152",)),
    ("fma_fp32", ("engine.result.rounding=rdn", "engine.result.overflow=directed")),
    ("fma_dlfloat16_hfp8", ("engine.nan.zero_bypass=true",)),
    ("dot4_fp32_ocp", ("engine.result.rounding=rto", "a=e4m3,e3m2", "b=hif8,e4m3fnuz")),
    ("dot4_e8m13_ocp", ("engine.window.truncation=floor", "engine.window.addend=outside")),
    ("dot4_e8m13_ocp", ("engine=amx_fp8(G=4,L=8)",)),
    ("dot4_fp32_mxfp8", ("engine=ada(G=4)", "a=e4m3,binary8p3se", "flags=false")),
    ("dot2_dlfloat16_hfp8_k", ("bias_port=true",)),
    ("mac4_kulisch_ocp", ("a=hif8,f161(bias=31)", "engine=exact(G=2,rounding=rdn,result=dlfloat16)")),
    ("mac_dlfloat16_chunked", ("engine=chunked(L=3,promotion=fp32)",)),
    ("cast_fp32_sr", ("targets=e5m2,hif8,e4m3fnuz", "roundings=bias,srb,src,rto", "overflow=inf,propagate,sat_none")),
    ("cast_fp32_x4", ("source=dlfloat16", "targets=f143(bias=7),binary8p1se", "lanes=2")),
    ("quantiser_mxfp4", ("block=mxint8", "source=fp32")),
    ("quantiser_nvfp4", ("rules=4over6,rne",)),
    ("quantiser_nvfp4", ("rules=4over6", "source=fp32")),
    ("quantiser_mxfp4", ("block=mxfp8_e5m2", "lanes=8")),
)
"""Fields that no unit of the catalogue has."""


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("name", "settings"), UNUSUAL, ids=[f"{name}-{place}" for place, (name, _) in enumerate(UNUSUAL)]
)
def test_units_with_unusual_fields_agree(name: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    changed = load(name, settings)
    assert passes(built(changed, tmp_path), export(generate(changed, "corner"), tmp_path))
