"""Functions that are compiled only as part of the kernels that call them.

By default, Numba compiles each called function separately. LLVM then optimises an inner function once by itself, and
again in every caller.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

_NO_CODE = 0


class _Text(JITCodeLibrary):
    """LLVM code that is simplified before linking, so that LLVM vectorises more loops."""

    def _optimize_final_module(self) -> None:
        """Do nothing, because LLVM later optimises each kernel together with the functions that the kernel calls."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Translation(NativeLowering):
    _name = "translation"

    def run_pass(self, state: Any) -> bool:
        state.library = _Text(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made, libraries = state["cr"], (state.library,)
        name = made.fndesc.qualname.rpartition(".")[2]
        # What callers are found by.
        key = _dynfunc.make_function(made.fndesc.lookup_module(), name, "", _NO_CODE, made.env, libraries)
        state.targetctx.insert_user_function(key, made.fndesc, libraries)
        state["cr"] = made._replace(cfunc=key)
        return True


class _Translator(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        build, manager = DefaultPassBuilder, PassManager("part of kernels")
        front = build.define_untyped_pipeline, build.define_typed_pipeline
        for some in (*front, build.define_nopython_lowering_pipeline):
            for lowering, purpose in some(self.state).passes:
                manager.add_pass(_Translation if lowering is NativeLowering else lowering, purpose)
        manager.finalize()
        return [manager]


class Part(CPUDispatcher):
    """Function that only kernels can call. Python code can call the original function, `py_func`."""

    def __init__(self, function: Any, **options: Any) -> None:
        wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        given = {"nopython": True, "error_model": "numpy"} | wrappers | options
        super().__init__(function, targetoptions=given, pipeline_class=_Translator)

    def __call__(self, *_arguments: Any, **_options: Any) -> None:
        raise TypeError(f"{self.py_func.__name__} called from Python; only kernels can call it")
