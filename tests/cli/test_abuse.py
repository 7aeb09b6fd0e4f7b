"""Under abuse: whatever is typed or read gives a sentence, kills and full disks leave nothing half-written."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9.units import toml as unitfile
from fp9.vectors import check
from fp9.vectors import sets as vectors
from fp9_sim.third_party import load

BOUNDED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Commands that are done at once whatever their arguments are; the others share the same parser.
QUICK = ("formats", "cast", "units", "vectors", "sweep", "check-rtl", "rtl", "records")
WORDS = st.one_of(
    st.sampled_from(["--json", "--set", "--to", "--only", "stages=-1", "a=", "=", "hif8", "e4m3", "1e999", "--", "-1"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)


def said(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a command; an exception that is not the command's own fails the test."""
    result = CliRunner().invoke(main, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@BOUNDED
@given(command=st.sampled_from(QUICK), arguments=st.lists(WORDS, max_size=5))
def test_any_command_line_ends_in_a_result_or_one_sentence(
    command: str, arguments: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # No unit and no file is called by these names, so that nothing is built.
    unknown = [word for word in arguments if word not in CATALOGUE and not Path(word).exists()]
    folder = tmp_path_factory.mktemp("fuzz")
    before = Path.cwd()
    os.chdir(folder)
    try:
        code, output = said(command, *unknown)
    finally:
        os.chdir(before)
    assert code in (0, 1, 2)
    assert "Traceback" not in output
    if code == 2:
        assert output.startswith("fp9: ")
        assert output.count("\n") == 1
        assert not list(folder.rglob("*"))


TOML_LINES = st.sampled_from(
    [
        'kind = "fma"',
        'kind = "cast"',
        'name = "x"',
        'name = "1 2"',
        'a = ["e4m3"]',
        'b = "hif8"',
        "a = 3",
        'engine = "dlfloat"',
        "engine = {step = {products = -1}}",
        "stages = 99999",
        "stages = true",
        'source = "fp32"',
        'targets = ["fp32"]',
        'roundings = ["rne", "rne"]',
        'files = ["/nonexistent"]',
        "files = 3",
        'top = "t;"',
        'unit = "fma_fp32"',
        "latency = -1",
        "[ports]",
        "[clock]",
        "x = 1979-05-27",
        "y = inf",
    ]
)
TEXTS = st.one_of(st.lists(TOML_LINES, max_size=8).map("\n".join), st.text(max_size=60), st.binary(max_size=60))


@pytest.mark.slow
@BOUNDED
@given(content=TEXTS)
def test_any_unit_file_and_mapping_is_read_or_refused_in_a_sentence(content: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    for read in (unitfile.load, load):
        try:
            read(path)
        except (ValueError, OSError) as error:
            assert str(error)


FORMS = ("vec", "memh", "csv", "npz")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """For each form that needs no further package, the names and bytes of a small vector file and its manifest."""
    files = {}
    for form in FORMS:
        folder = tmp_path_factory.mktemp(form)
        vectors.export(vectors.generate("decoder_hif8", "random", 20), folder, file_format=form)
        files[form] = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files


@BOUNDED
@given(form=st.sampled_from(FORMS), part=st.sampled_from(["data", "manifest"]), drawn=st.data())
def test_a_damaged_vector_file_is_refused_in_a_sentence(
    exported: dict[str, dict[str, bytes]], tmp_path: Path, form: str, part: str, drawn: st.DataObject
) -> None:
    files = dict(exported[form])
    manifest = next(name for name in files if name.endswith(".json"))
    data = next(name for name in files if name != manifest)
    damaged = data if part == "data" else manifest
    before = files[damaged]
    at, put = drawn.draw(st.integers(0, len(before))), drawn.draw(st.binary(max_size=4))
    files[damaged] = before[:at] + put + drawn.draw(st.sampled_from([b"", before[at + len(put) :]]))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    try:
        found = check(tmp_path / data)
    except (ValueError, OSError) as error:
        assert str(error)
    else:
        # What was changed says nothing of the operations: the form of the manifest, or its generator.
        assert not found.passed or damaged == manifest or files[data] == exported[form][data]


# --- kills, full disks, concurrent runs -----------------------------------------------------------------------------

EXPORTER = """
import sys
from fp9 import vectors
made = vectors.generate("decoder_all", "corner")
print("ready", flush=True)
while True:
    vectors.export(made, sys.argv[1])
"""


@pytest.mark.slow
def test_an_export_killed_at_any_point_leaves_whole_files(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    vectors.export(vectors.generate("decoder_all", "corner"), whole)
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    killed = tmp_path / "killed"
    rng = random.Random(0)
    for _ in range(2):
        job = subprocess.Popen([sys.executable, "-c", EXPORTER, str(killed)], stdout=subprocess.PIPE, text=True)
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        time.sleep(rng.random() / 4)
        job.send_signal(signal.SIGKILL)
        job.wait()
        job.stdout.close()
        for path in killed.glob("[!.]*"):
            assert path.read_bytes() == expected[path.name]


def limited(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command on a disk that takes files of 2,000 bytes at most."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    command = [sys.executable, "-c", "from fp9.cli import main; main(prog_name='fp9')", *arguments]
    return subprocess.run(command, cwd=cwd, preexec_fn=small_files, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    # Else compiled kernels would be the first to be kept.
    assert said("vectors", "export", "decoder_all", "--out", str(tmp_path / "whole"))[0] == 0
    folder = tmp_path / "full"
    folder.mkdir()
    done = limited(["vectors", "export", "decoder_all", "--out", "vectors"], folder)
    assert done.returncode == 2
    assert done.stderr.startswith("fp9: vectors/decoder_all.vec: file too large")
    assert done.stderr.count("\n") == 1
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_a_checkpoint_on_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    from fp9_sim.sweeps import checkpoint
    from fp9_sim.sweeps.shard import ShardResult

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        with pytest.raises(OSError, match=r"File too large|No space left"), checkpoint.opened(tmp_path / "j") as kept:
            for index in range(10):
                kept.add(ShardResult(index, 16, 0, (), 0.0, 0.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with checkpoint.opened(tmp_path / "j") as kept:
        assert sorted(kept.done) == list(range(len(kept.done)))
        assert 0 < len(kept.done) < 10


def test_a_folder_that_takes_nothing_is_one_sentence() -> None:
    code, output = said("vectors", "export", "decoder_hif8", "--out", "/proc/fp9")
    assert code == 2
    assert output.startswith("fp9: /proc/fp9")
    assert output.count("\n") == 1


@pytest.mark.slow
def test_concurrent_runs_share_an_empty_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from fp9.cli import main; main()", "sweep", "decoder_hif8", "--only", "code=1"]
    environment = {**os.environ, "FP9_CACHE": str(tmp_path / "cache")}

    def run(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(run, range(2)):
            assert done.returncode == 0, done.stderr
            assert "1 operations, no mismatch" in done.stdout
    assert not [path for path in tmp_path.rglob(".*") if path.is_dir()]
