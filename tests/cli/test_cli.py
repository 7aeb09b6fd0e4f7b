"""The command line: help that reads, answers that are right, and errors of one sentence with exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import fp9
from fp9.cli import main
from fp9.cli.entry import GROUPS
from fp9.engines import ENGINES
from fp9.system.missing import install_hint
from fp9.units import CATALOGUE


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def answer(*arguments: object) -> object:
    """What a command that succeeds gives with --json."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


COMMANDS = [*_commands(main)]
GROUPS_OF_COMMANDS = [("vectors",), ("records",)]
LEAVES = [path for path in COMMANDS if path not in GROUPS_OF_COMMANDS]


# --- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {' '.join(path)}")


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_s_help_has_an_example_and_json(path: tuple[str, ...]) -> None:
    text = run(*path, "--help").stdout
    assert f"\n    fp9 {' '.join(path)}" in text
    assert "--json" in text
    assert "--debug" in text


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_names_a_documentation_page_that_exists(path: tuple[str, ...]) -> None:
    page = run(*path, "--help").stdout.rpartition("Documentation: ")[2].strip()
    assert (Path(__file__).parents[2] / page).is_file()


@pytest.mark.parametrize("group", GROUPS_OF_COMMANDS, ids=" ".join)
def test_the_help_of_a_group_has_an_example(group: tuple[str, ...]) -> None:
    assert f"\n    fp9 {' '.join(group)} " in run(*group, "--help").stdout


def test_no_arguments_mean_help() -> None:
    assert run().stdout == run("--help").stdout
    assert run("vectors").stdout == run("vectors", "--help").stdout


def test_no_summary_of_a_command_is_cut_short() -> None:
    assert "..." not in run("--help").stdout.partition("Numbers:")[2].replace("UNIT...", "")
    for group in GROUPS_OF_COMMANDS:
        assert "..." not in run(*group, "--help").stdout.partition("Commands:")[2].replace("UNIT...", "")


def test_the_help_shows_every_command_once_below_its_group() -> None:
    sections = re.split(r"^(\S.*):$", run("--help").stdout, flags=re.MULTILINE)
    shown = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert [title for title in shown if title != "Options"] == [*GROUPS]
    names = [name for group in GROUPS for name in re.findall(r"^  (\S+)  ", shown[group], re.MULTILINE)]
    assert names == [name for (name, *more) in COMMANDS if not more]


def test_help_loads_neither_numpy_nor_hardware_nor_kernels() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from fp9.cli import main; "
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0; "
        "print({'numpy', 'numba', 'amaranth', 'cocotb', 'matplotlib', 'rich'} & {*sys.modules} or '[]')"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- answers ------------------------------------------------------------------------------------------


def test_formats_lists_every_named_format() -> None:
    names = {record["name"] for record in answer("formats")}  # type: ignore[attr-defined]
    assert {"e4m3", "e5m2", "hif8", "fp9", "dlfloat16", "hfp8_143(bias=4)"} <= names


def test_formats_lists_every_block_format() -> None:
    records = {record["name"]: record for record in answer("formats")}  # type: ignore[attr-defined]
    assert {block.name for block in fp9.block_formats()} <= records.keys()
    shown = answer("formats", "NVFP4")
    assert shown == records["nvfp4"]
    assert shown["block"] == 16 and shown["scale"] == "ue4m3" and shown["tensor_scale"] is True  # type: ignore[index]


def test_accumulators_lists_every_preset_with_its_source() -> None:
    records = {record["name"]: record for record in answer("accumulators")}  # type: ignore[attr-defined]
    assert records.keys() == ENGINES.keys()
    assert all(record["source"] and record["stands_for"] for record in records.values())
    assert answer("accumulators", "h100 wgmma") == records["hopper"]
    assert records["hopper"]["aligned_bits"] == 13 and records["hopper"]["terms_per_step"] == 32
    assert "h200 wgmma" in records["hopper"]["devices"]


def test_a_format_s_limits_and_codes() -> None:
    record = answer("formats", "hif8", "--codes")
    assert isinstance(record, dict)
    assert record["max"] == 32768
    assert len(record["codes"]) == 256
    assert record["codes"][0x80]["value"] == "nan"
    assert record["codes"][0x41]["value"] == "20"


def test_cast_of_numbers_and_codes() -> None:
    record = answer("cast", "0x41800000", "16", "-1.5", "nan", "--from", "fp32", "--to", "hif8", "--rounding", "hybrid")
    assert isinstance(record, dict)
    assert [c["code"] for c in record["casts"]] == ["0x41", "0x41", "0x8C", "0x80"]  # anchor of CANN: 16 becomes 20
    assert record["casts"][0]["error"] == "4"


def test_cast_rounds_once_from_float64() -> None:
    """1 + 2^-4 + 2^-40 lies above the tie of e4m3; through float32 it would be the tie, and go to even."""
    record = answer("cast", repr(1 + 2**-4 + 2**-40), "--to", "e4m3")
    assert isinstance(record, dict)
    assert record["casts"][0]["value"] == "1.125"


def test_units_lists_the_catalogue() -> None:
    assert [record["name"] for record in answer("units")] == list(CATALOGUE)  # type: ignore[attr-defined]


def test_a_unit_printed_as_toml_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "unit.toml"
    file.write_text(run("units", "mac_fp32", "--set", "stages=3", "--toml").stdout)
    record = answer("units", file)
    assert "rst" in [port["name"] for port in record["control_ports"]]
    fields = {field["name"]: field for field in record["other_fields"]}
    assert (fields["enable"]["adds"], fields["reset"]["adds"]) == (["enable"], ["rst_n"])
    assert isinstance(record, dict)
    assert (record["kind"], record["stages"]) == ("mac", 3)


def test_vectors_are_exported_and_checked(tmp_path: Path) -> None:
    exported = answer("vectors", "export", "decoder_hif8", "--out", tmp_path)
    assert isinstance(exported, list)
    checked = answer("vectors", "check", exported[0]["file"])
    assert isinstance(checked, list)
    assert checked[0]["operations"] == exported[0]["operations"] > 0


def test_rtl_writes_the_module(tmp_path: Path) -> None:
    file = tmp_path / "new" / "decoder.v"
    record = answer("rtl", "decoder_hif8", "--out", file)
    assert isinstance(record, dict)
    assert "module decoder_hif8" in file.read_text()
    assert run("rtl", "decoder_hif8").stdout == file.read_text()


def test_tables_are_printed_without_json() -> None:
    for command in (
        ["formats"],
        ["formats", "e4m3", "--codes"],
        ["units"],
        ["units", "fma_fp32"],
        ["cast", "1", "--to", "fp9"],
    ):
        result = run(*command)
        assert result.exit_code == 0
        assert "─" in result.stdout


# --- errors ------------------------------------------------------------------------------------------

BAD = [
    (["nonsense"], "No such command 'nonsense'"),
    (["--nonsense"], "No such option"),
    (["formats", "e9m9"], "unknown format 'e9m9'"),
    (["formats", "hfp8_143(bias=9)"], "extra bias 9 given; give one in -8..8"),
    (["formats", "1.9.3"], "9 exponent bits given"),
    (["formats", "--codes"], "name it"),
    (["formats", "fp32", "--codes"], "at most 19 bits"),
    (["formats", "nvfp4", "--codes"], "it is a block format"),
    (["accumulators", "h100"], "choose h100 wgmma (hopper) or h100 mma (hopper_mma)"),
    (["accumulators", "hopper(K=20)"], "give the name of a preset"),
    (["cast", "1"], "Missing option '--to'"),
    (["cast", "1", "--to", "e9m9"], "unknown format"),
    (["cast", "one", "--to", "e4m3"], "'one' is not a number"),
    (["cast", "0x41", "--to", "e4m3"], "name the format that the code is of"),
    (["cast", "0x141", "--from", "e4m3", "--to", "fp16"], "at most 0xFF"),
    (["cast", "0xg", "--from", "e4m3", "--to", "fp16"], "write it in hex"),
    (["cast", "nan", "--to", "int8"], "has no NaN"),
    (["cast", "1", "--to", "e4m3", "--rounding", "hybrid"], "hybrid rounding is not defined for e4m3"),
    (["cast", "1", "--to", "e4m3", "--rounding", "up"], "choose rup"),
    (["cast", "1", "--to", "e4m3", "--overflow", "wrap"], "choose one of saturate, inf"),
    (["cast", "1", "--to", "int8", "--overflow", "inf"], "neither infinity nor NaN"),
    (["cast", "1", "--from", "e4m3", "--to", "hif8", "--rounding", "sr"], "--random-bits N"),
    (["units", "abacus"], "unknown unit 'abacus'"),
    (["units", "missing.toml"], "missing.toml: no such file"),
    (["units", "--set", "stages=2"], "name it"),
    (["units", "fma_fp32", "--set", "stages=99"], "99 stages given; give 0 to 6"),
    (["units", "fma_fp32", "--set", "stages=2", "--set", "stages=3"], "stages is set twice; set it once"),
    (["units", "fma_fp32", "--set", "engine=abacus"], "fma_fp32: engine: unknown engine 'abacus'"),
    (["vectors", "export", "abacus"], "unknown unit"),
    (["vectors", "export", "fma_fp32", "--suite", "everything"], "everything"),
    (["vectors", "check", "missing.vec"], "missing.vec: no such file"),
    (["rtl", "abacus", "-o", "x.v"], "unknown unit"),
    (["sim", "abacus"], "unknown unit"),
    (["sim", "decoder_hif8", "--simulator", "abacus"], "unknown simulator 'abacus'"),
    (["sim", "decoder_hif8", "--waves", "w.vcd"], "choose the simulator"),
    (["sim", "abacus", "--simulator", "verilator", "--waves", "w.txt"], "give a name that ends in .vcd or .fst"),
    (["synth", "abacus"], "unknown unit"),
    (["synth", "decoder_hif8", "--library", "osu1"], "unknown library 'osu1'"),
    (["demo", "--show", "missing.json"], "missing.json: no such file"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_an_error_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_sentence(run(*arguments), words)
    assert list(tmp_path.iterdir()) == []


BAD_FILES = {
    "units mine.toml": (b'kind = "dot"\nname = "m"\na = ["e4m9"]\n', "mine.toml: a: unknown format 'e4m9'"),
    "rtl mine.toml": (b'name = "m"\n', "mine.toml needs the field 'kind'; give one of decoder,"),
    "sim mine.toml": (b"kind = '\xf7'\n", "mine.toml is not text in UTF-8: byte 0xf7 at position 8"),
    "check-rtl mine.toml": (b"top = '\xf7'\n", "mine.toml is not text in UTF-8: byte 0xf7 at position 7"),
    "vectors ver decoder_hif8 mine.vec": (b"\xf7 0\n", "mine.vec is not text in UTF-8: byte 0xf7 at position 0"),
    "synth mine.toml": (b"kind = \n", "mine.toml is not a TOML file"),
}


@pytest.mark.parametrize("command", BAD_FILES)
def test_a_file_that_is_not_of_its_form_is_named(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content, says = BAD_FILES[command]
    Path(command.split()[-1]).write_bytes(content)
    assert_one_sentence(run(*command.split()), says)


def assert_one_sentence(result: Result, words: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fp9: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["rtl", "decoder_hif8", "-o", "file/unit.v"],
        ["vectors", "export", "decoder_hif8", "--out", "file/vectors"],
        ["demo", "--out", "file/build"],
    ],
    ids=" ".join,
)
def test_an_unwritable_output_is_named_and_nothing_is_left(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    assert_one_sentence(run(*arguments), "file/")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_missing_simulator_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("sim", "decoder_hif8", "--simulator", "icarus", "--count", 10)
    assert_one_sentence(result, "apt-get install iverilog")


def test_a_run_that_compared_nothing_counts_no_mismatches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = fp9.verilog(CATALOGUE["decoder_hif8"])  # type: ignore[attr-defined]
    monkeypatch.setattr("fp9_rtl.verilog", lambda *_: re.sub(r"\bnan\b", "nano", text))
    result = run("sim", "decoder_hif8", "--simulator", "icarus")
    assert result.exit_code == 1
    assert "not compared" in result.stdout
    assert "there is no port nan" in result.stdout


def test_a_missing_package_is_named_with_the_extra() -> None:
    code = (
        "import sys; sys.modules['amaranth'] = None; sys.argv = ['fp9', 'rtl', 'decoder_hif8']; "
        "from fp9.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fp9: this command needs amaranth")
    assert done.stderr.endswith(f"run: {install_hint('rtl')}\n")


def test_every_wrong_vector_file_and_value_is_named(tmp_path: Path) -> None:
    """Exit code 1 for wrong values; 2, after the others are checked, for a file that cannot be read."""
    run("vectors", "export", "decoder_hif8", "decoder_ocp", "--out", tmp_path)
    files = [tmp_path / f"{name}.vec" for name in ("decoder_hif8", "decoder_ocp")]
    lines = files[0].read_text().splitlines()
    lines[-1] = f"{lines[-1][:-1]}{int(lines[-1][-1]) ^ 1}"
    files[0].write_text("\n".join(lines) + "\n")
    done = run("vectors", "check", *files, "--json")
    hif8, ocp = json.loads(done.stdout)
    assert (done.exit_code, hif8["passed"], ocp["passed"]) == (1, False, True)
    assert [(value["vector"], value["port"]) for value in hif8["wrong"]] == [(hif8["operations"] - 1, "nan")]
    assert "SHA-256" in hif8["faults"][0]
    files[1].write_text("1 2 3\n")
    done = run("vectors", "check", *files)
    assert done.exit_code == 2
    assert "has nan = " in done.stdout
    assert "decoder_ocp.vec holds no vectors of decoder_ocp" in done.stderr


def test_a_traceback_comes_with_debug_alone() -> None:
    code = (
        "import sys; sys.argv = ['fp9', 'cast', 'one', '--to', 'e4m3', *sys.argv[1:]]; from fp9.cli import main; main()"
    )
    quiet, loud = (
        subprocess.run([sys.executable, "-c", code, *extra], capture_output=True, text=True, check=False)
        for extra in ([], ["--debug"])
    )
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr
    assert "'one' is not a number" in loud.stderr


def test_the_version_is_the_package_s() -> None:
    assert fp9.__version__ in run("--version").stdout
