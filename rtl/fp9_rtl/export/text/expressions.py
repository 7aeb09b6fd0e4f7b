"""Verilog expressions as trees, which can be written on one line or on several lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 110
INDENT = "  "


class Expression:
    """A value in Verilog."""

    atomic = True  # never needs parentheses

    def flat(self) -> str:
        raise NotImplementedError

    def inner(self) -> str:
        return self.flat() if self.atomic else f"({self.flat()})"

    def lines(self, indent: str, first: int, last: int = 1) -> list[str]:
        flat = self.flat()
        return [flat] if len(flat) + first + last <= WIDTH else self._broken(indent)

    def _broken(self, indent: str) -> list[str]:
        return [self.flat()]


@dataclass(frozen=True)
class Atom(Expression):
    """A name, a slice of a name, or a constant."""

    text: str

    def flat(self) -> str:
        return self.text


@dataclass(frozen=True)
class Unary(Expression):
    operator: str
    operand: Expression

    def flat(self) -> str:
        return f"{self.operator}{self.operand.inner()}"

    def _broken(self, indent: str) -> list[str]:
        lines = self.operand.lines(indent + INDENT, len(indent) + len(self.operator) + 1)
        open_, close = ("", "") if self.operand.atomic else ("(", ")")
        return _wrapped(self.operator + open_, lines, close)


@dataclass(frozen=True)
class Binary(Expression):
    operator: str
    operands: tuple[Expression, ...]
    atomic = False

    def flat(self) -> str:
        return f" {self.operator} ".join(operand.inner() for operand in self.operands)

    def _broken(self, indent: str) -> list[str]:
        result: list[str] = []
        for number, operand in enumerate(self.operands):
            before = f"{self.operator} " if number else ""
            lines = operand.lines(indent + INDENT, len(indent) + len(before) + 2, 2)
            if not operand.atomic:
                lines = _wrapped("(", lines, ")")
            result += _wrapped((indent if number else "") + before, lines, "")
        return result


@dataclass(frozen=True)
class Choice(Expression):
    """A conditional expression, whose first true condition selects the value."""

    arms: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    atomic = False

    def flat(self) -> str:
        arms = "".join(f"{condition.inner()} ? {value.inner()} : " for condition, value in self.arms)
        return arms + self.otherwise.inner()

    def _broken(self, indent: str) -> list[str]:
        result: list[str] = []
        for condition, value in self.arms:
            asked = condition.lines(indent + INDENT, len(indent), 3)
            asked = asked if condition.atomic else _wrapped("(", asked, ")")
            given = value.lines(indent + 2 * INDENT, len(indent) + len(asked[-1]) + 4, 3)
            given = given if value.atomic else _wrapped("(", given, ")")
            columns = (len(indent) if len(asked) == 1 else 0) + len(asked[-1]) + 3 + len(given[0])
            between = " ? " if columns <= WIDTH else f" ?\n{indent}{INDENT}"
            both = f"{asked[-1]}{between}{given[0]}".split("\n")
            result += _wrapped(indent if result else "", [*asked[:-1], *both, *given[1:]], " :")
        last = self.otherwise.lines(indent + INDENT, len(indent) + 1, 2)
        return result + _wrapped(indent, last if self.otherwise.atomic else _wrapped("(", last, ")"), "")


@dataclass(frozen=True)
class Concatenation(Expression):
    """A concatenation, whose first operand has the highest bits."""

    operands: tuple[Expression, ...]

    def flat(self) -> str:
        return "{" + ", ".join(operand.flat() for operand in self.operands) + "}"

    def _broken(self, indent: str) -> list[str]:
        result = ["{"]
        for number, operand in enumerate(self.operands):
            comma = "" if number == len(self.operands) - 1 else ","
            lines = _wrapped("", operand.lines(indent + 2 * INDENT, len(indent) + 4), comma)
            room = len(result) > 1 and len(result[-1]) + len(lines[0]) + 1 <= WIDTH and len(lines) == 1
            if room and not result[-1].endswith("}"):
                result[-1] += f" {lines[0]}"
            else:
                result += [f"{indent}{INDENT}{lines[0]}", *lines[1:]]
        return [*result, f"{indent}}}"]


@dataclass(frozen=True)
class Repeated(Expression):
    """A Verilog replication: a value repeated `count` times."""

    count: int
    operand: Expression

    def flat(self) -> str:
        inner = self.operand.flat()
        return f"{{{self.count}{inner}}}" if isinstance(self.operand, Concatenation) else f"{{{self.count}{{{inner}}}}}"


def _wrapped(before: str, lines: Sequence[str], after: str) -> list[str]:
    result = [before + lines[0], *lines[1:]]
    result[-1] += after
    return result


def constant(bits: str) -> Atom:
    """Return the Verilog constant for binary digits, highest bit first."""
    width, value = len(bits), int(bits, 2)
    if width == 1:
        return Atom(f"1'b{bits}")
    return Atom(f"{width}'d{value}") if value < 10 else Atom(f"{width}'h{value:x}")
