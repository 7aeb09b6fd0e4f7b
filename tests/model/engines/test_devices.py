"""Devices as names of accumulators."""

from __future__ import annotations

import pytest

import fp9
from fp9.engines import DEVICE_NAMES, DEVICES, ENGINES, UNMEASURED, Device, devices_of
from fp9.names import plain


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.architecture)
def test_every_instruction_of_a_product_finds_its_engine(device: Device) -> None:
    assert device.source
    for instruction in device.instructions:
        assert ENGINES[instruction.engine].output.name in (instruction.result, "e8m13")
        for product in device.products:
            for name in instruction.names:
                spelled = f"{product} {name} {instruction.operands.word} {instruction.result}"
                assert fp9.engine(spelled) is fp9.engine(spelled.upper()) is ENGINES[instruction.engine]
            assert f"{product} {instruction.name}" in devices_of(instruction.engine)
            assert fp9.engine(f"{product} {instruction.name}") is ENGINES[instruction.engine]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.architecture)
def test_a_product_alone_is_its_one_engine_with_fp32_results_or_refused(device: Device) -> None:
    first = device.instructions[0].operands.word
    single = [i.engine for i in device.instructions if (i.result, i.operands.word) == ("fp32", first)]
    for product in device.products:
        if len(single) == 1:
            assert fp9.engine(product) is ENGINES[single[0]]
        else:
            with pytest.raises(ValueError, match="is ambiguous; choose") as caught:
                fp9.engine(product)
            assert all(f"({name})" in str(caught.value) for name in single)


def test_choices_of_ambiguous_names_lead_to_engines() -> None:
    for choices in DEVICE_NAMES.ambiguous.values():
        for spelled, engine in choices.items():
            assert fp9.engine(spelled) is ENGINES[engine]


def test_no_device_takes_the_name_of_another_preset() -> None:
    assert not {plain(name) for name in ENGINES} & {*map(plain, DEVICE_NAMES.names()), *DEVICE_NAMES.ambiguous}


def test_parameters_are_changed_behind_a_device() -> None:
    assert fp9.engine("H100 wgmma (chunk=64, promotion=fp32)") == fp9.engine("hopper(chunk=64,promotion=fp32)")


@pytest.mark.parametrize(("name", "engine"), [("wgmma", "hopper"), ("tcgen05.mma", "blackwell"), ("v_mfma", "cdna3")])
def test_an_instruction_that_one_architecture_has_is_a_name(name: str, engine: str) -> None:
    assert fp9.engine(name) is ENGINES[engine]


def test_an_instruction_of_several_architectures_is_refused() -> None:
    with pytest.raises(ValueError, match=r"choose h100 mma .*, l40s mma .* b200 mma .* or rtx5090 mma"):
        fp9.engine("mma.sync")


@pytest.mark.parametrize("product", [product for products in UNMEASURED.values() for product in products])
def test_a_device_that_nobody_measured_is_refused_with_the_way_to_measure_it(product: str) -> None:
    with pytest.raises(ValueError, match=r"is not known.*fp9 identify --program"):
        fp9.engine(f"{product.upper()} mma")
