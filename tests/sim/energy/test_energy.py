"""Energy of an operation: toggles as another simulator and another reader count them, energies as the library says."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from vcd.reader import TokenKind, tokenize

from fp9.cli import main
from fp9.formats import fixed_format
from fp9.formats.blocks import block_format
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Quantiser, Unit
from fp9.vectors.sets import from_inputs
from fp9_ml.recipes import Recording, recipe
from fp9_rtl.export.interfaces import handshakes
from fp9_rtl.synthesis.libraries import LIBRARIES, Library, library
from fp9_rtl.synthesis.netlist import Netlist, netlist
from fp9_rtl.synthesis.power import PowerLibrary, power_library
from fp9_sim.energy import measure, run
from fp9_sim.energy.data import operations
from fp9_sim.energy.events import shares
from fp9_sim.energy.loads import delays, loads
from fp9_sim.energy.run import products_of
from fp9_sim.energy.switching import dynamic, side_by_side
from fp9_sim.netlists.cells import CellNetlist, toggles
from fp9_sim.netlists.timed import changes as changes_in_time

UNIT = dataclasses.replace(CATALOGUE["decoder_hif8"], name="decoder_hif8_registered", stages=1)  # type: ignore[call-arg]
COUNT = 64 * 40


@pytest.fixture(scope="module", params=["osu018", "nangate45"])
def cells(request: pytest.FixtureRequest) -> Library:
    if not LIBRARIES[request.param].file.path().is_file():
        pytest.skip(f"{request.param} is not installed; {LIBRARIES[request.param].file.install}")
    return library(request.param)


@pytest.fixture(scope="module")
def mapped(cells: Library) -> Netlist:
    return netlist(UNIT, cells)


def bench(unit: Unit, columns: dict[str, NDArray[Any]], clocks: int) -> str:
    """Verilog that gives one sequence of operations to a unit, one a clock from a reset, dumped cell by cell."""
    ports = [*unit.inputs, *unit.outputs]
    wires = "".join(f"reg [{p.width - 1}:0] {p.name};" for p in unit.inputs)
    wires += "".join(f"wire [{p.width - 1}:0] {p.name};" for p in unit.outputs)
    pins = ", ".join(f".{p.name}({p.name})" for p in ports)
    control = "".join(f", .{name}(1'b1)" for name in handshakes(unit)[1])
    given = [
        " ".join(f"{name} <= {int(column[clock])};" for name, column in columns.items()) + f" rst <= {int(clock == 0)};"
        for clock in range(clocks)
    ]
    steps = "\n#5 clk = 0; #5 clk = 1; ".join(given)
    return (
        f"`timescale 1ns/1ps\nmodule bench; reg clk = 1, rst; {wires}\n"
        f"{unit.name} unit({pins}, .clk(clk), .rst(rst){control});\n"
        f'initial begin $dumpfile("run.vcd"); $dumpvars(2, unit);\n{steps}\n$finish; end endmodule\n'
    )


def vcd_changes(path: Path, start: int) -> Counter[tuple[str, str]]:
    """Changes of each one-bit signal by scope and name after a time in ps, as pyvcd reads the file."""
    names: dict[str, list[tuple[str, str]]] = {}
    values: dict[str, object] = {}
    found: Counter[tuple[str, str]] = Counter()
    scope: list[str] = []
    now = 0
    with path.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scope.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scope.pop()
            elif token.kind is TokenKind.VAR:
                names.setdefault(token.var.id_code, []).append((scope[-1], token.var.reference))
            elif token.kind is TokenKind.CHANGE_TIME:
                now = token.time_change
            elif token.kind is TokenKind.CHANGE_SCALAR:
                change = token.scalar_change
                if now >= start and values.get(change.id_code) not in (None, change.value):
                    found.update(names[change.id_code])
                values[change.id_code] = change.value
    return found


def icarus(folder: Path, models: Path, option: str, start: int) -> Counter[tuple[str, str]]:
    """Changes that Icarus sees in a folder's bench and unit, with or without the delays of the cells' models."""
    files = ["bench.v", "unit.v", str(models)]
    subprocess.run(["iverilog", "-g2012", option, "-o", "run", *files], cwd=folder, check=True, capture_output=True)
    subprocess.run(["vvp", "-n", "run"], cwd=folder, check=True, capture_output=True)
    return vcd_changes(folder / "run.vcd", start)


@pytest.mark.slow
def test_toggles_are_those_of_icarus_with_the_makers_own_cells(tmp_path: Path) -> None:
    """The library's Verilog models, Icarus and pyvcd against Liberty functions and the counting here.

    Settled changes are the same, cell by cell; with glitches, timed by other delays, as many within a tenth.
    """
    models = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.v")
    if not models.is_file() or shutil.which("iverilog") is None:
        pytest.skip("osu018's Verilog models or Icarus are not installed; apt install qflow-tech-osu018 iverilog")
    cells = library("osu018")
    power = power_library(cells)
    found = netlist(UNIT, cells)
    graph = CellNetlist.from_json(found.module, power.cell)
    sequences, first = side_by_side(UNIT, inputs_of(UNIT, "random", COUNT, 0))
    one = {name: np.repeat(column[:, :1], 64, axis=1) for name, column in sequences.items()}
    history = graph.run(one)
    counted = toggles(history, first) // 64

    (tmp_path / "unit.v").write_text(found.verilog)
    (tmp_path / "bench.v").write_text(bench(UNIT, {n: c[:, 0] for n, c in one.items()}, len(history)))
    settled_changes, timed_changes = (
        icarus(tmp_path, models, option, start=10_000 * first) for option in ("-gno-specify", "-gspecify")
    )
    pins = {
        (placed.name, pin): int(counted[placed.nets[pin]])
        for placed in graph.cells
        for pin in placed.cell.outputs
        if pin in placed.nets
    }
    assert sum(pins.values()) > 1000
    assert {pin: settled_changes[pin] for pin in pins} == pins
    with_glitches = sum(timed_changes[pin] for pin in pins)
    assert with_glitches > sum(pins.values())
    timed = changes_in_time(graph, history, np.arange(first, len(history)), delays(graph, loads(graph, cells, power)))
    assert sum(timed[net] for net in driven(graph)) / 64 == pytest.approx(with_glitches, rel=0.1)


def driven(graph: CellNetlist) -> list[int]:
    """The nets that cells drive."""
    return [p.nets[pin] for p in graph.cells for pin in p.cell.outputs if pin in p.nets]


@pytest.mark.slow
def test_the_netlist_gives_the_golden_results(cells: Library, mapped: Netlist) -> None:
    """What is counted computes: every result of every operation, one clock later."""
    vectors = from_inputs(UNIT, inputs_of(UNIT, "random", COUNT, 0))
    graph = CellNetlist.from_json(mapped.module, power_library(cells).cell)
    sequences, first = side_by_side(UNIT, vectors.inputs)
    history = graph.run(sequences)
    for port in UNIT.outputs:
        bits = [
            np.unpackbits(history[first + 1 :, n].view(np.uint8), axis=1, bitorder="little")
            for n in graph.outputs[port.name]
        ]
        seen = sum(bit.astype(np.int64) << place for place, bit in enumerate(bits))
        mask = (1 << port.width) - 1
        wanted = vectors.expected[port.name].astype(np.int64).reshape(64, -1).T[:-1] & mask
        care = vectors.care.get(port.name, np.ones(COUNT, np.bool_)).reshape(64, -1).T[:-1]
        assert np.array_equal(seen[care], wanted[care]), port.name


@pytest.mark.slow
def test_charge_is_half_c_v_squared_a_toggle(cells: Library, mapped: Netlist) -> None:
    """The charge of the nets again, from the netlist as Yosys wrote it and the capacitances of the Liberty text."""
    power: PowerLibrary = power_library(cells)
    graph = CellNetlist.from_json(mapped.module, power.cell)
    sequences, first = side_by_side(UNIT, inputs_of(UNIT, "random", COUNT, 0))
    found = dynamic(graph, sequences, first, cells, power)
    counted = toggles(graph.run(sequences), first) / COUNT
    farads = 0.0
    for placed in graph.cells:
        for pin in placed.cell.outputs:
            bits = mapped.module["cells"][placed.name]["connections"].get(pin)
            if bits:
                sinks = [
                    power.cells[cell["type"]].capacitance[name] + power.wire_ff
                    for cell in mapped.module["cells"].values()
                    for name, at in cell["connections"].items()
                    if at == bits and name not in power.cells[cell["type"]].outputs
                ]
                ports = [p for p in mapped.module["ports"].values() if p["direction"] == "output"]
                outside = sum(port["bits"].count(bits[0]) for port in ports)
                load = sum(sinks) + outside * (cells.load_ff + power.wire_ff)
                farads += load * counted[placed.nets[pin]]
    assert sum(found.nets.values()) == pytest.approx(farads * power.volts**2 / 2)


def test_an_output_takes_the_energy_of_the_input_that_changed() -> None:
    """A NAND2 of osu018: A rises alone, B rises alone, both; and nothing where the output stays."""
    if not LIBRARIES["osu018"].file.path().is_file():
        pytest.skip("osu018 is not installed")
    nand = power_library(library("osu018")).cells["NAND2X1"]
    arcs = [arc.related for arc in nand.energies]
    assert arcs == [("A",), ("B",)]
    assert shares(nand, 0b01_11) == ((0, 0, 1.0),)
    assert shares(nand, 0b10_11) == ((1, 0, 1.0),)
    assert shares(nand, 0b00_11) == ((0, 0, 0.5), (1, 0, 0.5))
    assert shares(nand, 0b11_01) == ((0, 1, 1.0),)
    assert shares(nand, 0b00_01) == shares(nand, 0b10_10) == ()


def test_a_register_takes_both_edges_of_its_clock_in_every_clock() -> None:
    """DFF_X1 of nangate45 holding 0: the clock's two edges with D and Q low; with D rising, D's edge at a low clock."""
    if not LIBRARIES["nangate45"].file.path().is_file():
        pytest.skip("nangate45 is not installed")
    register = power_library(library("nangate45")).cells["DFF_X1"]

    def taken(inputs: int, bit: int, after: int) -> list[tuple[str, str, int]]:
        step = (inputs << 1 | bit) << 1 | after
        return [(register.energies[n].pin, register.energies[n].when, edge) for n, edge, _ in shares(register, step)]

    assert taken(0, 0, 0) == [("CK", "!D & !Q & QN", 1), ("CK", "!D & !Q & QN", 0)]
    assert taken(0, 0, 1) == [*taken(0, 0, 0), ("D", "!CK & !Q & QN", 1)]
    assert taken(1, 0, 1) == [("CK", "D & !Q & QN", 1), ("Q", "", 1), ("QN", "", 0), ("CK", "D & Q & !QN", 0)]


@pytest.mark.slow
def test_a_still_unit_takes_its_clock_and_leaks(cells: Library) -> None:
    still = {port.name: np.zeros(COUNT, np.uint32) for port in UNIT.inputs}
    found = measure(UNIT, still, "still", library=cells, by_step=True)
    assert found.toggles == found.glitches == found.nets_fj == found.inputs_fj == found.glitches_fj == 0
    assert found.clock_fj > 0 and found.internal_fj > 0 and found.leakage_fj > 0
    moving = measure(UNIT, inputs_of(UNIT, "random", COUNT, 0), "random", library=cells, by_step=True)
    assert moving.clock_fj == found.clock_fj
    assert moving.product_fj == moving.total_fj > found.total_fj
    assert set(moving.by_step) >= {"pipeline.register1"} and sum(moving.by_step.values()) > 0


def test_the_numbers_of_recorded_casts_are_data(tmp_path: Path) -> None:
    spec, run = recipe("hfp8"), Recording()
    x, w = (np.random.default_rng(seed).normal(size=(8, 16)).astype(np.float32) for seed in (1, 2))
    _, saved = spec.linear(x, w)
    run.forward("fc", saved, x, w)
    run.save(tmp_path / "run.npz")
    columns = operations(CATALOGUE["cast_fp32_hfp8"], str(tmp_path / "run.npz"), 1000)
    assert len(columns["x"]) >= 1000
    assert set(columns["x"].view(np.float32).tolist()) <= {*x.ravel().tolist(), *w.ravel().tolist()}


def test_operations_of_a_block_stay_together() -> None:
    """From the clock after reset on, in every sequence."""
    block = block_format("mxfp4")
    unit = Quantiser("q", fixed_format("fp32"), block, block.rules, stages=1, lanes=4)
    place = np.tile(np.arange(unit.group), 500)
    sequences, first = side_by_side(unit, {port.name: place for port in unit.inputs})
    assert first > unit.latency and len(sequences["x0"]) % unit.group == 1
    after_reset = sequences["x0"][1:]
    assert np.array_equal(after_reset, np.tile(place[: len(after_reset)], (64, 1)).T)
    assert products_of(unit) == 4


def test_the_command_names_data_that_it_does_not_know() -> None:
    result = CliRunner().invoke(main, ["energy", "decoder_hif8", "--data", "nothing.npz"])
    assert result.exit_code == 2
    assert "data 'nothing.npz' given; give random, corner, layer, or the file of a recording" in result.output


def test_energy_is_measured_once_of_the_same_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    found = run.Energy(UNIT.name, "osu018", "A", "random", 64, 1, 2.0, *[0.1] * 8, by_step={"own": 1.5})
    monkeypatch.setattr(run, "_measured", lambda unit, *_: measured.append(unit) or found)
    drawn = inputs_of(UNIT, "random", 64, 0)
    others = {name: column[::-1] for name, column in drawn.items()}
    for columns, mapping, times in (
        (drawn, "area-optimised", 1),
        (drawn, "area-optimised", 1),
        (others, "area-optimised", 2),
        (drawn, "delay-balanced", 3),
    ):
        assert measure(UNIT, columns, "random", mapping=mapping, cache=tmp_path) == found
        assert len(measured) == times
