"""Engines (accumulator models), their parameters, and the catalogue of presets."""

from fp9.engines.about import Accumulator, about, accumulators
from fp9.engines.catalogue import ALIASES, ENGINES, engine
from fp9.engines.devices import DEVICE_NAMES, DEVICES, UNMEASURED, Device, devices_of, operands_of
from fp9.engines.engine import (
    MAX_PRODUCTS,
    MAX_WINDOW,
    NO_EXPONENT,
    Engine,
    MacOp,
    alignment_exponent,
    is_accumulator,
)
from fp9.engines.groups import Addend, Chunk, NanPolicy, Result, Scaling, Step, Truncation, Window
from fp9.engines.operand_formats import check_exponents
from fp9.engines.parameters import GROUPS, PARAMETERS, Parameter
from fp9.engines.scales import check_grouped, format_of_scales

__all__ = [
    "ALIASES",
    "DEVICES",
    "DEVICE_NAMES",
    "ENGINES",
    "GROUPS",
    "MAX_PRODUCTS",
    "MAX_WINDOW",
    "NO_EXPONENT",
    "PARAMETERS",
    "UNMEASURED",
    "Accumulator",
    "Addend",
    "Chunk",
    "Device",
    "Engine",
    "MacOp",
    "NanPolicy",
    "Parameter",
    "Result",
    "Scaling",
    "Step",
    "Truncation",
    "Window",
    "about",
    "accumulators",
    "alignment_exponent",
    "check_exponents",
    "check_grouped",
    "devices_of",
    "engine",
    "format_of_scales",
    "is_accumulator",
    "operands_of",
]
