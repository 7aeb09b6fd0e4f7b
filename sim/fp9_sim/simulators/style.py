"""Turn off Verilator's style warnings for third-party Verilog."""

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
"""Verilator's style warnings, which are turned off for third-party Verilog.

Warnings about constructs that change the circuit stay on, as do warnings about combinational loops.
"""

_LINT_ON = re.compile(r"(verilator\s+lint_)on(\s+(\w+))")


def any_style(verilog: str, name: str) -> str:
    # The comments turn off Verilator's style warnings. Verilator's messages refer to the original lines of the file.
    off = "\n".join(f"/* verilator lint_off {word} */" for word in _STYLE.split())
    return f'{off}\n`line 1 "{name}.v" 0\n{_LINT_ON.sub(_turned_round, verilog)}'


def _turned_round(found: re.Match[str]) -> str:
    return f"{found[1]}off{found[2]}" if found[3] in _STYLE.split() else found[0]
