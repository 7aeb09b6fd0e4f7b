"""The same spec gives the same text and the same digest; what was made is kept while it holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fp9.system import cache
from fp9.units import CATALOGUE
from fp9_rtl import verilog, write_verilog
from fp9_rtl.export import verilog as export
from fp9_rtl.export.verilog import component_digest


def test_the_digest_of_a_circuit_is_that_of_no_name_and_no_text() -> None:
    class Sum(wiring.Component):
        def __init__(self, name: str, bits: int) -> None:
            self._name, self._bits = name, bits
            super().__init__({"a": In(4), "b": In(4), "y": Out(4)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            total = Signal(self._bits, name=self._name)
            unread = Signal(8, name=f"{self._name}_unread")
            m.d.comb += [unread.eq(self.a * self.b), total.eq(self.a + self.b), self.y.eq(total)]
            return m

    one, renamed, shorter = (component_digest(Sum(name, bits), "sum") for name, bits in (("x", 4), ("y", 4), ("x", 3)))
    assert one == renamed != shorter


@pytest.mark.slow
def test_the_same_spec_gives_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    script = "import fp9, fp9_rtl; from fp9.units import CATALOGUE as c; print(fp9_rtl.verilog(c['mac_dlfloat16']))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, cache.PLACE: str(tmp_path / seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(texts) == 1


def test_a_kept_text_holds_until_the_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit, made = CATALOGUE["decoder_ocp"], []
    build = export.build
    monkeypatch.setenv(cache.PLACE, str(tmp_path))
    monkeypatch.setattr(export, "build", lambda unit: made.append(unit) or build(unit))

    def again() -> tuple[str, str]:
        verilog.cache_clear()
        export.circuit_digest.cache_clear()
        return verilog(unit), export.circuit_digest(unit)

    assert again() == again()
    assert len(made) == 1
    monkeypatch.setattr(export, "_stamp", lambda: "another source")
    again()
    assert len(made) == 2
    for kept in (tmp_path / "verilog").iterdir():
        kept.write_text(kept.read_text().replace("endmodule", "endmodul"))
    assert "endmodul " not in again()[0] and len(made) == 3
    monkeypatch.setenv(cache.PLACE, "/dev/null")  # nowhere to keep it
    assert again() == again() and len(made) > 3


def test_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_ocp"]
    write_verilog(unit, tmp_path / "decoder.v")
    assert (tmp_path / "decoder.v").read_text() == verilog(unit)
    (tmp_path / "folder.v").mkdir()
    with pytest.raises(OSError, match=r"folder\.v"):
        write_verilog(unit, tmp_path / "folder.v")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decoder.v", "folder.v"]
