"""Build the datapath of an exact fixed-point sum as a chain of stages."""

from __future__ import annotations

from amaranth.lib import data

from fp9.units import Dot
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import gating
from fp9_rtl.sums.fixed.places import exact_facts, product_bias, window_of
from fp9_rtl.sums.fixed.sum import Add, Normalise, Place
from fp9_rtl.sums.multiply import DecodeOperands, Multiply


def product_steps(unit: Dot, passed: tuple[str, ...]) -> list[Step]:
    decode = DecodeOperands(unit, passed, normalise=False)
    multiply = Multiply(unit, sum_facts(unit), decode.o.shape(), passed, normalise=False, bias=product_bias(unit))
    return gating.product_steps(unit, decode, multiply)


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    window, fmt = window_of(unit), unit.engine.result.format
    place = Place(unit, i)
    add = Add(window, place.o.shape())
    normalise = Normalise(fmt, window, add.o.shape())
    return [place, add, normalise, Round(unit.engine, exact_facts(unit, window), normalise.o.shape())]
