"""Preparation of third-party Verilog for simulation. Verilator's style warnings are turned off.

Third-party Verilog is not refused because of its style.
"""

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
"""Verilator's style warnings.

The list leaves out warnings that change the circuit. It also leaves out combinational loops, which may not
settle.
"""

_LINT_ON = re.compile(r"(verilator\s+lint_)on(\s+(\w+))")


def any_style(verilog: str, name: str) -> str:
    """Return the Verilog with style warnings off. Messages of simulators refer to lines of `name`.v."""
    off = "\n".join(f"/* verilator lint_off {word} */" for word in _STYLE.split())
    return f'{off}\n`line 1 "{name}.v" 0\n{_LINT_ON.sub(_turned_round, verilog)}'


def _turned_round(found: re.Match[str]) -> str:
    """Change a lint comment so that it turns a style warning off, not on."""
    return f"{found[1]}off{found[2]}" if found[3] in _STYLE.split() else found[0]
