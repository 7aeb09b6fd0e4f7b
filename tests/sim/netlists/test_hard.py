"""Hard obligations without registers: what holds is proven, what does not is refuted by inputs that show it."""

from __future__ import annotations

import importlib.metadata
import itertools

import pytest

from fp9.system.missing import MissingTool
from fp9_sim.netlists.solvers import cadical
from fp9_sim.netlists.solvers.hard import hard
from fp9_sim.netlists.solvers.solver import Obligation, State

OPERATORS = ["a & b", "a | b", "a ^ b", "~(a & b)", "~(a | b)", "a ^~ b", "s ? a : b", "~a", "a + b", "1'b1"]
UNIT = "module unit(input a, b, s, output y);\n  assign y = EXPRESSION;\nendmodule\n"
PROOF = """\
module proof(input a, b, s, output y, output ok);
  unit unit(.a(a), .b(b), .s(s), .y(y));
  reg right;
  always @* case ({a, b, s})
ROWS
  endcase
  assign ok = y == right;
endmodule
"""
OPERATORS_IN_PYTHON = {
    "a ^~ b": "~(a ^ b)",
    "s ? a : b": "a if s else b",
    "1'b1": "1",
}
HARD = "module unit(input [15:0] a, b, output [31:0] y);\n  assign y = a * b;\nendmodule\n"
COMMUTES = """\
module proof(input [15:0] a, b, output [31:0] y, output ok);
  unit unit(.a(a), .b(b), .y(y));
  integer i;
  reg [31:0] sum;
  always @* begin sum = 0; for (i = 0; i < 16; i = i + 1) if (b[i]) sum = sum + (a << i); end
  assign ok = sum == y;
endmodule
"""


def truth(expression: str) -> dict[tuple[int, int, int], int]:
    """What an expression gives for every a, b and s, as Python computes it."""
    code = OPERATORS_IN_PYTHON.get(expression, expression)
    rows = itertools.product((0, 1), repeat=3)
    return {(a, b, s): eval(code, {"a": a, "b": b, "s": s}) & 1 for a, b, s in rows}


def asked(expression: str, table: dict[tuple[int, int, int], int]) -> Obligation:
    rows = "\n".join(f"    3'b{a}{b}{s}: right = {value};" for (a, b, s), value in table.items())
    return hard(UNIT.replace("EXPRESSION", expression), PROOF.replace("ROWS", rows))


@pytest.mark.every(2)
@pytest.mark.parametrize("expression", OPERATORS)
def test_a_gate_is_its_table_and_one_wrong_row_is_found(expression: str) -> None:
    table = truth(expression)
    assert asked(expression, table).decide(30).state is State.PROVEN
    wrong = (1, 0, 1)
    found = asked(expression, table | {wrong: 1 - table[wrong]}).decide(30)
    assert found.state is State.REFUTED
    assert tuple(found.counterexample[name] for name in "abs") == wrong
    assert (found.counterexample["y"], found.counterexample["ok"]) == (table[wrong], 0)


@pytest.mark.slow
def test_what_takes_too_long_is_not_finished() -> None:
    """Sixteen bits times sixteen, by shifts and additions in another order, are beyond any SAT solver."""
    assert hard(HARD, COMMUTES).decide(4).state is State.UNFINISHED


def test_without_the_solver_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(MissingTool, match=r"python-sat is not installed; install it with: pip install .*\[sim\]"):
        cadical.model([(1,)], 1)
