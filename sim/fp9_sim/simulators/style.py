"""Verilog that fp9 did not write: Verilator's remarks on its style are no reason to refuse it."""

from __future__ import annotations

import re

_STYLE = (
    "ALWCOMBORDER ASCRANGE ASSIGNDLY BLKSEQ CASEINCOMPLETE CASEOVERLAP CASEX CASEWITHX CMPCONST DECLFILENAME DEFPARAM "
    "DEFOVERRIDE ENUMVALUE EOFNEWLINE GENCLK GENUNNAMED HIERPARAM IFDEPTH IGNOREDRETURN IMPERFECTSCH IMPLICIT "
    "IMPLICITSTATIC IMPORTSTAR INCABSPATH INSECURE LATCH MISINDENT NEWERSTD NOEFFECT NOLATCH NONSTD NULLPORT "
    "PARAMNODEFAULT PINCONNECTEMPTY PINMISSING PINNOCONNECT PREPROCZERO PROCASSINIT REALCVT REDEFMACRO SELRANGE "
    "SHORTREAL SIDEEFFECT SPECIFYIGN STATICVAR STMTDLY SYMRSVDWORD SYNCASYNCNET TICKCOUNT TIMESCALEMOD UNDRIVEN "
    "UNPACKED UNSIGNED UNUSED UNUSEDGENVAR UNUSEDLOOP UNUSEDPARAM UNUSEDSIGNAL USERINFO USERWARN VARHIDDEN "
    "WIDTH WIDTHCONCAT WIDTHEXPAND WIDTHTRUNC WIDTHXZEXPAND ZERODLY ZEROREPL"
)
"""Verilator's remarks on style. What makes it another circuit stays on; so do combinational loops, as one evaluation
may not settle them."""

_LINT_ON = re.compile(r"(verilator\s+lint_)on(\s+(\w+))")
"""A comment that turns a remark on again."""


def any_style(verilog: str, name: str) -> str:
    """The text without Verilator's remarks on style; simulators say that its lines are those of `name`.v."""
    off = "\n".join(f"/* verilator lint_off {word} */" for word in _STYLE.split())
    return f'{off}\n`line 1 "{name}.v" 0\n{_LINT_ON.sub(_turned_round, verilog)}'


def _turned_round(found: re.Match[str]) -> str:
    """The comment, turned round where it is about style."""
    return f"{found[1]}off{found[2]}" if found[3] in _STYLE.split() else found[0]
