"""Write cover points as SystemVerilog variables, hit counters and covergroups."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from fp9_sim.coverage.model import Bin, Cross, Group

# Impossible bins of each cross, with the reason why each bin is impossible.
Excluded = Mapping[str, Mapping[tuple[Bin, ...], str]]


def identifier(*words: object) -> str:
    text = "_".join(map(str, words)).lower().replace("-", "minus_").replace("+", "plus_")
    return re.sub("[^a-z0-9]+", "_", text).strip("_")


class CoverGroup:
    """SystemVerilog text of a group of cover points."""

    # For each cover point, a variable holds the index of the bin that an operation hits, or -1 without a hit. `prefix`
    # starts the names of all variables.

    def __init__(self, prefix: str, group: Group, excluded: Excluded) -> None:
        self.prefix, self._group, self._excluded = prefix, group, excluded
        self._tables: dict[str, str] = {}

    def has(self, point: str) -> bool:
        return point in self._group.points

    def variable(self, item: str) -> str:
        return identifier(self.prefix, item)

    def index(self, point: str, bin_: Bin) -> int:
        bins = self._group.points[point]
        return bins.index(bin_) if bin_ in bins else -1

    def set(self, point: str, expression: str, vocabulary: Sequence[Bin] | None = None) -> list[str]:
        """Return the SystemVerilog statement that assigns a cover point's bin index."""
        # `expression` is the index of a bin in `vocabulary`, or the value of a numeric bin without `vocabulary`.
        if not self.has(point):
            return []
        if vocabulary is None:
            return [f"{self.variable(point)} = {self._numbered(point, expression)};"]
        if tuple(vocabulary) == self._group.points[point]:
            return [f"{self.variable(point)} = {expression};"]
        indices = ", ".join(str(self.index(point, word)) for word in vocabulary)
        name = identifier(self.prefix, point, "bins")
        self._tables[name] = f"  localparam int {name} [{len(vocabulary)}] = '{{{indices}}};"
        return [f"{self.variable(point)} = {name}[{expression}];"]

    def _numbered(self, point: str, expression: str) -> str:
        numbers = [bin_ for bin_ in self._group.points[point] if isinstance(bin_, int)]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"bin_in({expression}, {numbers[0]}, {len(numbers)})"
        name = identifier(self.prefix, point, "bin")
        cases = "".join(f"      {number}: {name} = {place};\n" for place, number in enumerate(numbers))
        self._tables[name] = (
            f"  function automatic int {name}(input int value);\n    case (value)\n{cases}"
            f"      default: {name} = -1;\n    endcase\n  endfunction"
        )
        return f"{name}({expression})"

    @property
    def clear(self) -> str:
        return f"{identifier(self.prefix, 'clear')}();"

    @property
    def hit(self) -> str:
        return f"{identifier(self.prefix, 'hit')}();"

    def declared(self) -> str:
        sizes = {point: len(bins) for point, bins in self._group.points.items()}
        crosses = [(cross, math.prod(sizes[point] for point in cross.points)) for cross in self._group.crosses]
        lines = [f"  // --- cover points {self._group.name or 'of the unit'}", *self._tables.values(), ""]
        lines += [f"  int {self.variable(point)} = -1;" for point in sizes]
        lines += [f"  int unsigned {self.variable(point)}_hits [{size}];" for point, size in sizes.items()]
        lines += [f"  int unsigned {self.variable(cross.name)}_hits [{size}];" for cross, size in crosses]
        lines += ["", "`ifdef COVERGROUPS", *self._covergroup(), "`endif", ""]
        lines += [f"  function automatic void {self.clear[:-1]};"]
        lines += [f"    {self.variable(point)} = -1;" for point in sizes]
        lines += ["  endfunction", "", f"  function automatic void {self.hit[:-1]};"]
        for name, points in self._items():
            variables = [self.variable(point) for point in points]
            reached = " && ".join(f"{variable} >= 0" for variable in variables)
            lines.append(f"    if ({reached}) {self.variable(name)}_hits[{self._flat(points)}]++;")
        lines += ["`ifdef COVERGROUPS", f"    {self.prefix}_covered.sample();", "`endif", "  endfunction", ""]
        lines += [line for point in sizes for line in self._named(point)]
        return "\n".join(lines)

    def _items(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield from ((point, (point,)) for point in self._group.points)
        yield from ((cross.name, cross.points) for cross in self._group.crosses)

    def _flat(self, points: Sequence[str]) -> str:
        text = self.variable(points[0])
        for point in points[1:]:
            text = f"({text}) * {len(self._group.points[point])} + {self.variable(point)}"
        return text

    def _covergroup(self) -> Iterator[str]:
        yield f"  covergroup {self.prefix}_group;"
        yield "    option.per_instance = 1;"
        for point, bins in self._group.points.items():
            yield f"    {self.variable(point)}_point: coverpoint {self.variable(point)} {{"
            yield from (f"      bins {_bin(name)} = {{{place}}};" for place, name in enumerate(bins))
            yield "    }"
        for cross in self._group.crosses:
            crossed = ", ".join(f"{self.variable(point)}_point" for point in cross.points)
            yield f"    {self.variable(cross.name)}_cross: cross {crossed} {{"
            yield from self._ignored(cross)
            yield "    }"
        yield "  endgroup"
        yield f"  {self.prefix}_group {self.prefix}_covered = new;"

    def _ignored(self, cross: Cross) -> Iterator[str]:
        for place, bins in enumerate(self._excluded[cross.name]):
            of = (f"binsof({self.variable(p)}_point.{_bin(b)})" for p, b in zip(cross.points, bins, strict=True))
            yield f"      ignore_bins impossible_{place} = {' && '.join(of)};"

    def reported(self, unit: str) -> list[str]:
        return [line for name, points in self._items() for line in self._report(unit, name, points)]

    def _report(self, unit: str, name: str, points: Sequence[str]) -> Iterator[str]:
        combined = list(itertools.product(*(self._group.points[point] for point in points)))
        impossible = self._excluded.get(name, {})
        mask = sum((bins in impossible) << place for place, bins in enumerate(combined))
        size, hits = len(combined), f"{self.variable(name)}_hits"
        full = ".".join(part for part in (unit, self._group.name, name) if part)
        strides = [math.prod(len(self._group.points[later]) for later in points[i + 1 :]) for i in range(len(points))]
        names = [
            f"{self.variable(point)}_name((i / {stride}) % {len(self._group.points[point])})"
            for point, stride in zip(points, strides, strict=True)
        ]
        yield f"impossible[{size - 1}:0] = {size}'h{mask:x};"
        yield "met = 0;"
        yield f"for (int i = 0; i < {size}; i++) if (!impossible[i] && {hits}[i] != 0) met++;"
        yield f'$display("{full}: %0d of {size - mask.bit_count()} bins hit", met);'
        yield f"for (int i = 0; i < {size}; i++) if (!impossible[i] && {hits}[i] == 0)"
        yield f'  $display("  not hit: {" x ".join(["%s"] * len(points))}", {", ".join(names)});'

    def _named(self, point: str) -> Iterator[str]:
        name = f"{self.variable(point)}_name"
        yield f"  function automatic string {name}(input int place);"
        yield "    case (place)"
        yield from (f'      {place}: return "{bin_}";' for place, bin_ in enumerate(self._group.points[point]))
        yield '      default: return "";'
        yield "    endcase"
        yield "  endfunction"
        yield ""

    @property
    def largest(self) -> int:
        return max(math.prod(len(self._group.points[point]) for point in points) for _, points in self._items())


def _bin(name: Bin) -> str:
    return f"bin_{identifier(name)}"
