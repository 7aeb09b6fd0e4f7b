"""Write a Verilog wrapper that has the ports of a unit specification and contains the DUT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.units import FLAGS_PORT, Port, Unit
from fp9.units.views import sum_of
from fp9_sim.third_party.keys import Value, parameter_text
from fp9_sim.third_party.mapping import Design, Exact
from fp9_sim.third_party.ports import Place, TheirPort, elaborate, place
from fp9_sim.third_party.timing import operand, timing, unclocked


def wrapped(design: Design, latency: int, function: bool = False) -> str:
    """Return one Verilog text with the user's source and a wrapper that has the specification's name.

    If `function` is true, the wrapper has no handshake logic and accepts an operation in every clock cycle, as proofs
    require. If `function` is true, an instance of the module `own_name(spec)` drives the outputs and flags that the DUT
    lacks.

    Raises ValueError for ports that are missing, have the wrong width, or are driven twice or not at all. Raises
    SimulatorError if Verilator rejects the user's source.
    """
    parameters = parameter_text(design.parameters)
    ports = elaborate(design.top, design.verilog, parameters, str(design.path))
    connections = _Connections(design, ports, own=function)
    spec = design.spec
    kept = [port for port in spec.outputs if port.name not in design.without]
    declared = [_declared("input", port) for port in spec.inputs] + [_declared("output", port) for port in spec.outputs]
    body = [*_own(design)] if function else [f"  assign {name} = 0;" for name in design.without]
    raw = {port.name: f"raw_{port.name}" for port in kept}
    if spec.stages:
        declared += ["input wire clk, rst, in_valid, out_ready", "output wire in_ready, out_valid"]
        body += unclocked(kept) if function else timing(design, latency, kept)
    else:
        body += [f"  assign {port.name} = raw_{port.name};" for port in kept]
    lines = connections.lines(raw)
    head = f"module {spec.name}({', '.join(declared)});"
    wires = [f"  wire [{port.width - 1}:0] raw_{port.name};" for port in kept]
    pins = ", ".join(f".{name}(their_{name})" for name in ports)
    instance = f"  {design.top} {parameters} unit({pins});"
    # The user's files come first, because packages must precede the code that uses them.
    return "\n".join(
        [
            design.verilog,
            '`line 1 "fp9" 0',
            head,
            *wires,
            *lines,
            *body,
            instance,
            "endmodule",
            "",
        ]
    )


def own_name(spec: Unit) -> str:
    # The wrapper contains fp9's own circuit next to the DUT.
    return f"own_{spec.name}"


def _own(design: Design) -> Iterator[str]:
    lacking = absent(design)
    pins = [f".{port.name}({port.name})" for port in design.spec.inputs]
    for port in (port for port in design.spec.outputs if port.name in lacking):
        yield f"  wire [{port.width - 1}:0] own_{port.name};"
        pins.append(f".{port.name}(own_{port.name})")
    if lacking:
        yield f"  {own_name(design.spec)} own({', '.join(pins)});"
    yield from (f"  assign {name} = own_{name};" for name in design.without)


def absent(design: Design) -> tuple[str, ...]:
    """Return the missing outputs of the DUT, including the flags port if the DUT has only some of the flags."""
    partial = FLAGS_PORT.name if design.flags and design.flag_bits != (1 << FLAG_BITS) - 1 else ""
    return (*design.without, *filter(None, [partial]))


def _declared(direction: str, port: Port) -> str:
    return f"{direction} wire [{port.width - 1}:0] {port.name}"


# --- connections ----------------------------------------------------------------------------------------------------


class _Connections:
    """The drivers of DUT inputs, and the parts of DUT outputs that form results."""

    def __init__(self, design: Design, ports: Mapping[str, TheirPort], own: bool) -> None:
        self.design, self.ports, self._no_flag = design, ports, "own_flags[{bit}]" if own else "1'b0"
        self.drivers: dict[tuple[str, str], list[tuple[int, int, str, str]]] = {}
        spec, control = design.spec, bool(design.spec.stages)
        for port in spec.inputs:
            if port.name not in design.held:
                self._drive_pieces(port)
        for key, value in design.constants.items():
            at = self._place(key, "constants")
            self._drive(at, self._sized(key, value, at.width), "constants")
        for pin, name, ours in (
            (design.clock, "clock", "clk" if control else "1'b0"),
            (design.reset, "reset", "rst" if control else "1'b0"),
            (design.enable, "enable", "go"),
        ):
            if pin:
                self._drive(self._place(pin[0], f"{name}.port"), f"{'!' * pin[1]}{ours}", name)
        for name, ours in (("in_valid", "give_valid"), ("start", "give_start"), ("out_ready", "give_ready")):
            if name in design.handshake:
                port_name, inverted = design.handshake[name]
                at = self._place(port_name, f"handshake.{name}")
                self._drive(at, f"{'!' * inverted}{ours}", "handshake")
        self._check_driven()

    def _place(self, path: str, key: str) -> Place:
        return place(self.ports, path, f"{self.design.path}: {key}")

    def _sized(self, key: str, value: Value, width: int) -> str:
        if isinstance(value, str):
            return value
        if not -(1 << (width - 1)) <= value < 1 << width:
            raise ValueError(f"{self.design.path}: constants.{key} = {value} given; {key} has {width} bits")
        return f"{width}'d{value % (1 << width)}"

    def _drive_pieces(self, port: Port) -> None:
        key = f"ports.{port.name}"
        places = [self._place(path, key) for path in self.design.ports[port.name]]
        self._check_width(key, port, places)
        low = port.width
        for at in places:
            low -= at.width
            self._drive(at, f"{operand(self.design, port)}[{low + at.width - 1}:{low}]", key)

    def _check_width(self, key: str, port: Port, places: list[Place]) -> None:
        width = sum(at.width for at in places)
        if width != port.width:
            theirs = ", ".join(self.design.ports[port.name])
            part = f"name a part such as {theirs}[{port.width - 1}:0]" if width > port.width else "set its [parameters]"
            raise ValueError(
                f"{self.design.path}: {key} = {theirs} given, of {width} bits; {port.name} of the spec has "
                f"{port.width}; {part}, or give another format"
            )

    def _drive(self, at: Place, ours: str, key: str) -> None:
        if at.port.direction == "OUTPUT":
            raise ValueError(f"{self.design.path}: {key} names {at.port.name}, which is an output; name an input")
        taken = self.drivers.setdefault((at.port.name, at.element), [])
        for low, width, _, by in taken:
            if low == at.low and width == at.width and key.startswith("ports.") and by.startswith("ports."):
                return  # two wrapper inputs share a DUT input: the suites give both the same value
            if at.low < low + width and low < at.low + at.width:
                raise ValueError(f"{self.design.path}: {key} and {by} both drive {at.port.name}; name it once")
        taken.append((at.low, at.width, ours, key))

    def _check_driven(self) -> None:
        for port in self.ports.values():
            for element in port.elements if port.direction == "INPUT" else ():
                driven = sum(width for _, width, _, _ in self.drivers.get((port.name, element), ()))
                if driven < port.type.width:
                    what = f"{port.name}{element}" if not driven else f"a part of {port.name}{element}"
                    raise ValueError(
                        f"{self.design.path}: nothing drives {what}, an input of {self.design.top}; name it in "
                        "[ports], [constants], [clock], [reset], [enable] or [handshake]"
                    )

    def lines(self, raw: Mapping[str, str]) -> Iterator[str]:
        for port in self.ports.values():
            bounds = "".join(f" [{left}:{right}]" for left, right in port.dimensions)
            yield f"  wire [{port.type.width - 1}:0] their_{port.name}{bounds};"
        for (name, element), drivers in self.drivers.items():
            for low, width, ours, _ in drivers:
                yield f"  assign their_{name}{element}[{low + width - 1}:{low}] = {ours};"
        spec = self.design.spec
        if self.design.exact:
            yield from self._exact(self.design.exact)
        for output in spec.outputs:
            if output.name in raw:
                yield f"  assign {raw[output.name]} = {self._taken(output)};"
        for name, ours in (("in_ready", "takes"), ("out_valid", "comes"), ("done", "comes")):
            if name in self.design.handshake:
                port_name, inverted = self.design.handshake[name]
                at = self._place(port_name, f"handshake.{name}")
                yield f"  wire {ours} = {'!' * inverted}{_bits(at)};"

    def _taken(self, output: Port) -> str:
        if output.name == FLAGS_PORT.name and self.design.flags:
            return "{" + ", ".join(self._flag(place) for place in reversed(range(FLAG_BITS))) + "}"
        if output.name == "result" and self.design.exact:
            return "exact_code"
        key = f"ports.{output.name}"
        places = [self._place(path, key) for path in self.design.ports[output.name]]
        self._check_width(key, output, places)
        return "{" + ", ".join(_bits(at) for at in places) + "}"

    def _exact(self, parts: Exact) -> Iterator[str]:
        """Yield Verilog that packs an exact result into a code of the result format."""
        # Subnormal results, and results above the largest number, become NaN.
        spec = sum_of(self.design.spec)
        assert spec is not None, "the mapping has checked it"
        fmt = spec.engine.output
        significand, exponent = self._part("significand", parts.significand), self._part("exponent", parts.exponent)
        if significand.width > fmt.precision:
            raise ValueError(
                f"{self.design.path}: exact.significand has {significand.width} bits; {fmt.name} holds {fmt.precision}"
            )
        fraction, top, bits = fmt.fraction_bits, (1 << fmt.exponent_bits) - 1, fmt.bits
        sign, nan, inf = (
            "1'b0" if path is None else _bits(self._part(name, path))
            for name, path in (("sign", parts.sign), ("nan", parts.nan), ("inf", parts.inf))
        )
        nan_code = f"{bits}'d{fmt.nan_code(False)}"
        yield from (
            f"  wire [{fraction}:0] exact_significand = {_bits(significand)};",
            "  integer exact_top, exact_place;",
            "  always @* begin",
            "    exact_top = 0;",
            f"    for (exact_place = 0; exact_place <= {fraction}; exact_place = exact_place + 1)",
            "      if (exact_significand[exact_place]) exact_top = exact_place;",
            "  end",
            f"  wire [{fraction}:0] exact_normal = exact_significand << ({fraction} - exact_top);",
            f"  wire signed [31:0] exact_exponent = $signed({_bits(exponent)});",
            f"  wire signed [31:0] exact_biased = exact_exponent + exact_top + ({parts.offset + fmt.bias});",
            f"  wire [{fmt.exponent_bits - 1}:0] exact_field = exact_biased[{fmt.exponent_bits - 1}:0];",
            f"  wire [{bits - 1}:0] exact_code = {nan} ? {nan_code}",
            f"    : {inf} ? {{{sign}, {bits - 1}'d{fmt.inf_code(False)}}}",
            f"    : exact_significand == 0 ? {{{sign}, {bits - 1}'d0}}",
            f"    : exact_biased > 0 && exact_biased < {top} ? {{{sign}, exact_field, exact_normal[{fraction - 1}:0]}}",
            f"    : {nan_code};",
        )

    def _part(self, name: str, path: str) -> Place:
        at = self._place(path, f"exact.{name}")
        if at.width != 1 and name not in ("significand", "exponent"):
            raise ValueError(f"{self.design.path}: exact.{name} has {at.width} bits; name one")
        return at

    def _flag(self, bit: int) -> str:
        name = (Flags(1 << bit).name or "").lower()
        if name not in self.design.flags:
            return self._no_flag.format(bit=bit)
        at = self._place(self.design.flags[name], f"flags.{name}")
        if at.width != 1:
            raise ValueError(f"{self.design.path}: flags.{name} has {at.width} bits; name one")
        return _bits(at)


def _bits(at: Place) -> str:
    return f"their_{at.port.name}{at.element}[{at.low + at.width - 1}:{at.low}]"
