"""What is compiled and kept on disk follows every file that it was made of."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import njit
from numba.core import event
from numba.core.codegen import JITCodeLibrary

import fp9
import fp9.kernels.compiled
from fp9.kernels.compiled import called, inlined

EXPORT = """from fp9.cli import main
main(['vectors', 'export', 'fma_fp32_e5m2', '--suite', 'random', '--count', '4000', '--out', OUT])"""


def exported(package: Path, out: Path) -> str:
    """The vectors that a new process exports with the package in this folder."""
    code = EXPORT.replace("OUT", repr(str(out)))
    environment = os.environ | {"PYTHONPATH": str(package)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=out.parent, capture_output=True)
    return (out / "fma_fp32_e5m2.vec").read_text()


@pytest.mark.slow
def test_an_edit_of_an_inlined_kernel_gives_new_vectors_in_the_next_process(tmp_path: Path) -> None:
    """`round_bits` is inlined into kernels of other files, which Numba's own stamp does not follow."""
    shutil.copytree(Path(fp9.__file__).parent, tmp_path / "fp9", ignore=shutil.ignore_patterns("__pycache__"))
    before = exported(tmp_path, tmp_path / "out")
    assert exported(tmp_path, tmp_path / "out") == before
    source = tmp_path / "fp9" / "kernels" / "round64.py"
    ties_even = "(mode == RNA or odd)"
    assert source.read_text().count(ties_even) == 1
    source.write_text(source.read_text().replace(ties_even, "(mode == RNA or not odd)"))
    after = exported(tmp_path, tmp_path / "out")
    assert after != before
    assert after.count("\n") == before.count("\n")


def test_an_interrupt_waits_until_a_compilation_ends() -> None:
    """LLVM's callbacks would swallow it, and leave a kernel without its object."""
    before, reached = signal.signal(signal.SIGINT, signal.default_int_handler), []
    try:
        with pytest.raises(KeyboardInterrupt), event.trigger_event("numba:compile"):  # type: ignore[no-untyped-call]
            with event.trigger_event("numba:compile"):  # type: ignore[no-untyped-call]
                signal.raise_signal(signal.SIGINT)
            reached.append("the end")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == ["the end"]


def test_what_kernels_call_is_compiled_with_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of parts within parts, each would be optimised with all that it calls."""
    compiled: list[str] = []
    optimise = JITCodeLibrary._optimize_final_module

    def seen(library: JITCodeLibrary) -> None:
        compiled.append(library.name)
        optimise(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", seen)
    inner = inlined(lambda x: x + 1.0)
    outer = called(lambda x: inner(x) * 2.0)
    assert njit(lambda x: outer(inner(x)))(1.0) == 6.0
    assert len([name for name in compiled if name != "nrt"]) == 1  # Numba's own reference counts


@pytest.mark.parametrize("kind", [inlined, called])
def test_a_part_of_kernels_is_not_called_from_python(kind: Any) -> None:
    part = kind(lambda x: x + 1.0)
    with pytest.raises(TypeError, match="only kernels can call it"):
        part(1.0)
    assert part.py_func(1.0) == 2.0
