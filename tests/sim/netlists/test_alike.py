"""Circuits that are alike inside: a product of three in two texts, and one with an error."""

from __future__ import annotations

import pytest

from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.alike import alike
from fp9_sim.netlists.solvers.solver import State

UNIT = "module unit(input [9:0] a, b, c, output [29:0] y);\n  assign y = a * b * c;\nendmodule\n"
PROOF = """\
module proof (
  input [9:0] a,
  input [9:0] b,
  input [9:0] c,
  output [29:0] y,
  output ok
);
  unit unit (.a(a), .b(b), .c(c), .y(y));
  wire [19:0] first = a * b;
  wire [29:0] second = first * c;
  assign ok = y == (WRONG ? ~second : second);
endmodule
"""


@pytest.mark.skipif(not abc.program(), reason="ABC is not installed")
def test_products_of_two_texts_are_proven_equal_by_what_lies_inside() -> None:
    assert alike(UNIT, PROOF.replace("WRONG", "1'b0")).decide(30).state is State.PROVEN


@pytest.mark.slow
def test_an_error_comes_with_the_inputs_that_show_it() -> None:
    refuted = alike(UNIT, PROOF.replace("WRONG", "a == 10'd777 && c[0]")).decide(60)
    assert refuted.state is State.REFUTED
    assert (refuted.counterexample["a"], refuted.counterexample["c"] & 1) == (777, 1)
