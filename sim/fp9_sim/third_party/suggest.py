"""Suggest catalogue units whose ports fit the ports of a third-party module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fp9.units import CATALOGUE, Port, Unit
from fp9_sim.third_party.ports import TheirPort

NEAREST = 3

_SELECT_BITS = 5
"""Largest width of a port that can be a select, a flag or a status port."""

_WORDS = {
    "mul": ("mul", "prod"),
    "fma": ("fma", "madd", "mac"),
    "dot": ("dot", "inner"),
    "mac": ("mac", "acc"),
    "cast": ("cast", "cvt", "conv", "quant", "round", "_to_"),
    "upcast": ("upcast", "widen", "expand", "_to_"),
    "decoder": ("dec", "unpack"),
    "quantiser": ("quant", "mx"),
    "fpu": ("fpu",),
    "multi_fpu": ("fpu", "alu"),
}


@dataclass(frozen=True)
class Signature:
    operands: tuple[int, ...]
    results: tuple[int, ...]
    selects: tuple[int, ...] = ()
    flags: tuple[int, ...] = ()


def suggest(module: str, ports: Iterable[TheirPort]) -> list[str]:
    """Return the names of catalogue units that fit a module's data ports, best match first."""
    ports = list(ports)
    inputs, outputs = (
        Counter(width for port in ports if port.direction == way for width in _widths(port))
        for way in ("INPUT", "OUTPUT")
    )
    names = " ".join([module, *(port.name for port in ports)]).lower()
    costs = {
        unit.name: (min(fitting), _unnamed(unit, module.lower(), names))
        for unit in CATALOGUE.values()
        if (fitting := [cost for s in signatures(unit) if (cost := _cost(s, inputs, outputs)) is not None])
    }
    order = sorted(costs, key=lambda name: (sum(costs[name]), len(CATALOGUE[name].inputs), name))
    return order[:NEAREST]


def signatures(unit: Unit) -> Iterator[Signature]:
    """Yield the unit's port widths twice: with one port for each lane, and with one port for all lanes."""
    operands, selects = _split(unit.inputs)
    results, flags = _split(unit.outputs)
    for joined in (_apart, _packed):
        yield Signature(joined(operands), joined(results), joined(selects), joined(flags))


def _split(ports: Sequence[Port]) -> tuple[list[Port], list[Port]]:
    numbers = [port for port in ports if port.formats]
    return numbers or list(ports), [port for port in ports if numbers and not port.formats]


def _apart(ports: Sequence[Port]) -> tuple[int, ...]:
    return tuple(port.width for port in ports)


def _packed(ports: Sequence[Port]) -> tuple[int, ...]:
    widths: Counter[str] = Counter()
    for port in ports:
        widths[re.sub(r"\d+$", "", port.name)] += port.width
    return tuple(widths.values())


def _widths(port: TheirPort) -> list[int]:
    return [port.type.width] * len(port.elements)


def _cost(signature: Signature, inputs: Counter[int], outputs: Counter[int]) -> int | None:
    """Return how badly the ports match (0 is best), or None for a missing operand or result."""
    cost = 0
    for needed, optional, theirs in (
        (signature.operands, signature.selects, inputs),
        (signature.results, signature.flags, outputs),
    ):
        if Counter(needed) - theirs:
            return None
        rest, wanted = theirs - Counter(needed), Counter(optional)
        cost += (wanted - rest).total()
        cost += sum(count * (1 if width <= _SELECT_BITS else 4) for width, count in (rest - wanted).items())
    return cost


def _unnamed(unit: Unit, module: str, names: str) -> int:
    if unit.name in module:
        return -20 - len(unit.name)
    kind = any(word in module for word in _WORDS.get(unit.kind, ()))
    formats = {fmt.name.partition("(")[0] for port in (*unit.inputs, *unit.outputs) for fmt in port.formats}
    return -3 * kind - min(2, sum(name in names for name in formats))


def unlike(unit: str, ports: Iterable[TheirPort]) -> list[TheirPort]:
    """Return the module's ports that match no catalogue port in name, direction and width."""
    specified = CATALOGUE[unit]
    own = {("INPUT", port.name, port.width) for port in specified.inputs}
    own |= {("OUTPUT", port.name, port.width) for port in specified.outputs}
    return [port for port in ports if port.dimensions or (port.direction, port.name, port.type.width) not in own]


def unit_line(found: Sequence[str]) -> str:
    """Return the line `unit = ...` of a draft mapping."""
    own = 'give a unit file such as "mine.toml", or a table [unit]'
    if not found:
        return f'unit = "?"  # no unit of `fp9 units` has these ports; {own}'
    also = f"; near, too: {', '.join(found[1:])}" if found[1:] else ""
    return f'unit = "{found[0]}"  # its ports fit{also}; otherwise {own}'
