"""What is kept between runs: shown, cleared, within its bound, and measured again where that is asked for."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.system import cache
from fp9_rtl.tools.cache import cache_folder, load, store


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "cache"))
    monkeypatch.delenv(cache.BOUND, raising=False)
    return tmp_path / "cache"


def put(kind: str, name: str, size: int, age: float) -> Path:
    """An entry of so many bytes that was last used so many seconds ago: a file, or a folder for compiled units."""
    path = cache.folder(kind) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "verilated":
        path.mkdir()
        (path / "model.so").write_bytes(bytes(size))
    else:
        path.write_bytes(bytes(size))
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_an_empty_cache_is_shown_as_such() -> None:
    done = CliRunner().invoke(main, ["cache", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kinds"] == {kind: {"entries": 0, "bytes": 0} for kind in cache.KINDS}


def test_it_is_shown_and_cleared_by_kind(folder: Path) -> None:
    put("synth", "a.json", 1000, 0)
    put("verilated", "unit-1", 5000, 0)
    (folder / "verilated" / ".under-way").mkdir()
    shown = json.loads(CliRunner().invoke(main, ["cache", "--json"]).stdout)
    assert shown["folder"] == str(folder)
    held = {kind: found for kind, found in shown["kinds"].items() if found["entries"]}
    assert held == {"synth": {"entries": 1, "bytes": 1000}, "verilated": {"entries": 1, "bytes": 5000}}
    cleared = json.loads(CliRunner().invoke(main, ["cache", "verilated", "--clear", "--json"]).stdout)
    assert cleared["kinds"] == {"verilated": {"entries": 1, "bytes": 5000}}
    assert [path.name for path in (folder / "verilated").iterdir()] == [".under-way"]
    assert (folder / "synth" / "a.json").exists()


def test_what_was_not_used_for_the_longest_time_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.BOUND, "1")
    old = put("synth", "old.json", 700_000, 9000)
    older = put("verilated", "older", 700_000, 10_000)
    new = put("synth", "new.json", 300_000, 10)
    assert [entry.path for entry in cache.keep_within_bound()] == [older]
    assert old.exists()
    assert new.exists()


def test_what_was_used_within_the_hour_stays_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.BOUND, "0")
    kept = put("synth", "new.json", 10, 60)
    assert cache.keep_within_bound() == []
    assert kept.exists()


def test_the_size_is_measured_once_a_minute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.BOUND, "0")
    first = put("synth", "first.json", 10, 9000)
    assert [entry.path for entry in cache.keep_within_bound()] == [first]
    second = put("synth", "second.json", 10, 9000)
    assert cache.keep_within_bound() == []
    os.utime(folder / ".measured", (time.time() - 61, time.time() - 61))
    assert [entry.path for entry in cache.keep_within_bound()] == [second]


def test_storing_keeps_the_cache_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.BOUND, "1")
    old = put("verilated", "old", 2_000_000, 9000)
    store(cache_folder(), {"unit": "x"}, {"area": 1})
    assert not old.exists()
    assert load(cache_folder(), {"unit": "x"}) == {"area": 1}


def test_what_is_asked_for_counts_as_used() -> None:
    store(cache_folder(), {"unit": "x"}, {"area": 1})
    (path,) = cache_folder().iterdir()
    os.utime(path, (0, 0))
    load(cache_folder(), {"unit": "x"})
    assert path.stat().st_mtime > time.time() - 60


def test_measured_again_means_that_nothing_kept_is_read() -> None:
    store(cache_folder(), {"unit": "x"}, {"area": 1})
    with cache.recomputing():
        assert load(cache_folder(), {"unit": "x"}) is None
        store(cache_folder(), {"unit": "x"}, {"area": 2})
    assert load(cache_folder(), {"unit": "x"}) == {"area": 2}


def test_synth_again_measures_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from fp9_rtl.synthesis import run

    measured = []
    monkeypatch.setattr(run, "_measure", lambda text, top, *rest: measured.append(top) or ())
    for words, times in ((["synth", "decoder_hif8"], 1), (["synth", "decoder_hif8"], 1), (["--force"], 2)):
        arguments = words if words[0] == "synth" else ["synth", "decoder_hif8", *words]
        done = CliRunner().invoke(main, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        assert measured == ["decoder_hif8"] * times


@pytest.mark.parametrize("text", ["much", "-1", ""])
def test_a_bound_that_is_no_number_is_a_sentence(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.BOUND, text)
    done = CliRunner().invoke(main, ["cache"])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"fp9: FP9_CACHE_MB={text} given; give a number of megabytes")


def test_a_kind_that_is_none_is_a_sentence() -> None:
    done = CliRunner().invoke(main, ["cache", "sweeps", "--clear"])
    assert (done.exit_code, done.stderr) == (2, f"fp9: kind 'sweeps' given; give {' or '.join(cache.KINDS)}\n")
