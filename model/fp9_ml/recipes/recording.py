"""Record the casts and matrix products of a training step, for test vectors of hardware."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.engines import Engine, engine
from fp9.formats import Format, format
from fp9.formats.rounding import Overflow, Rounding
from fp9.system.files import write_whole
from fp9_ml.recipes.linear import Backward, Operand, Saved, taken
from fp9_ml.recipes.roles import Product, Role

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_KIND = "fp9 recording 1"


@dataclass(frozen=True)
class Recorded:
    """Recorded matrix product of a layer: the codes of both operands and of the result."""

    layer: str
    product: Product
    a: Operand
    b: Operand
    engine: Engine
    result: NDArray[Any]


@dataclass(frozen=True)
class RecordedCast:
    """Recorded cast of FP32 numbers `numbers` (n,) to codes `codes` (n,).

    Before rounding, the cast multiplied the numbers by 2^`exponent`.
    """

    layer: str
    role: Role
    numbers: NDArray[np.float32]
    exponent: int
    codes: NDArray[Any]
    format: Format
    rounding: Rounding
    overflow: Overflow


@dataclass
class Recording:
    """Recorded matrix products and operand casts of a training step."""

    products: list[Recorded] = field(default_factory=list)
    casts: list[RecordedCast] = field(default_factory=list)

    def forward(self, layer: str, saved: Saved, x: ArrayLike | None = None, w: ArrayLike | None = None) -> None:
        """Record the forward product of a layer.

        To also record the casts of the two operands, pass the uncast activations `x` and the uncast weights `w`.

        Products in plain FP32 and casts with stochastic rounding are not recorded. If w holds several matrices, the
        name of each product ends with the index of its matrix. Raises ValueError if x or w does not have as many
        elements as the operand of the recorded product.
        """
        rows, weights = _cast(layer, saved, Role.ACTIVATIONS, x, saved.x), _cast(layer, saved, Role.WEIGHTS, w, saved.w)
        self.casts += [*rows, *weights]
        self._keep(layer, saved, Product.FORWARD, saved.x, saved.w.transposed, saved.product)

    def backward(self, layer: str, saved: Saved, back: Backward, g: ArrayLike | None = None) -> None:
        """Record both backward products of a layer, and the cast of the gradient `g` if it is given."""
        e = back.gradient
        self.casts += _cast(layer, saved, Role.GRADIENTS, g, e)
        self._keep(layer, saved, Product.DGRAD, e, saved.w, back.dx_product)
        self._keep(layer, saved, Product.WGRAD, e.transposed, saved.x, back.dw_product)

    def _keep(self, layer: str, saved: Saved, product: Product, a: Operand, b: Operand, result: NDArray[Any]) -> None:
        chosen = saved.recipe.engine_of(product)
        if chosen is None:
            return
        for place in np.ndindex(result.shape[:-2]):
            one, other = (Operand(o.codes[place], o.format, o.factor) for o in (a, b))
            name = ".".join([layer, *map(str, place)])
            self.products.append(Recorded(name, product, one, other, chosen, result[place]))

    def save(self, path: Path | str) -> None:
        """Write the recorded products and casts to a .npz file, atomically.

        Raises ValueError if nothing was recorded, or if a format or accumulator model has no name.
        """
        if not self.products:
            raise ValueError(
                "a recording without products given; take a training step of a layer whose recipe names an engine"
            )
        arrays: dict[str, Any] = {}
        records = []
        for number, kept in enumerate(self.products):
            arrays |= {f"a{number}": kept.a.codes, f"b{number}": kept.b.codes, f"result{number}": kept.result}
            records.append(
                {
                    "layer": kept.layer,
                    "product": kept.product.value,
                    "engine": _spelled(kept.engine, engine),
                    **{f"{side}_format": _spelled(o.format, format) for side, o in (("a", kept.a), ("b", kept.b))},
                    **{f"{side}_factor": o.factor for side, o in (("a", kept.a), ("b", kept.b))},
                }
            )
        casts = []
        for number, cast in enumerate(self.casts):
            arrays |= {f"numbers{number}": cast.numbers, f"codes{number}": cast.codes}
            casts.append(
                {
                    "layer": cast.layer,
                    "role": cast.role.value,
                    "exponent": cast.exponent,
                    "format": _spelled(cast.format, format),
                    "rounding": cast.rounding.value,
                    "overflow": cast.overflow.value,
                }
            )
        text = json.dumps({"kind": _KIND, "products": records, "casts": casts})
        buffer = io.BytesIO()
        np.savez_compressed(buffer, recording=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
        write_whole(Path(path), buffer.getvalue())


def _cast(layer: str, saved: Saved, role: Role, tensor: ArrayLike | None, operand: Operand) -> tuple[RecordedCast, ...]:
    if tensor is None or operand.format is None:
        return ()
    if np.size(tensor) != operand.codes.size:
        raise ValueError(
            f"{role.value} of shape {np.shape(tensor)} given, and the layer took {operand.codes.size} numbers; give "
            "the tensor that the layer was given"
        )
    policy = saved.recipe.policy(role)
    rounding = policy.rounding_for(operand.format)
    if rounding.needs_bits:
        return ()
    with np.errstate(over="ignore", invalid="ignore"):
        given = np.array(tensor, dtype=np.float32).reshape(-1)
    numbers, exponent = taken(given, operand.factor)
    codes = operand.codes.reshape(-1)
    return (RecordedCast(layer, role, numbers, exponent, codes, operand.format, rounding, policy.overflow),)


def read_recording(path: Path | str) -> Recording:
    """Read a recording from a file.

    Raises ValueError for a file without a recording, and OSError for an unreadable file.
    """
    data = Path(path).read_bytes()
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays["recording"].tobytes())
        if about["kind"] != _KIND:
            raise ValueError(about["kind"])
        return Recording(
            [_read(number, record, arrays) for number, record in enumerate(about["products"])],
            [_read_cast(number, record, arrays) for number, record in enumerate(about.get("casts", ()))],
        )
    except (KeyError, ValueError, OSError, TypeError, EOFError) as error:
        raise ValueError(f"{path} is no recording of a training step; write one with Recording.save") from error


def _read(number: int, record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Recorded:
    a, b = (
        Operand(arrays[f"{side}{number}"], format(record[f"{side}_format"]), float(record[f"{side}_factor"]))
        for side in "ab"
    )
    product, result = Product(record["product"]), arrays[f"result{number}"]
    if a.codes.ndim != 2 or b.codes.ndim != 2 or result.shape != (a.codes.shape[0], b.codes.shape[1]):
        raise ValueError(f"codes of shapes {a.codes.shape} and {b.codes.shape}")
    return Recorded(record["layer"], product, a, b, engine(record["engine"]), result)


def _read_cast(number: int, record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> RecordedCast:
    numbers, codes = arrays[f"numbers{number}"], arrays[f"codes{number}"]
    if numbers.ndim != 1 or numbers.dtype != np.float32 or codes.shape != numbers.shape:
        raise ValueError(f"numbers of shape {numbers.shape} and codes of shape {codes.shape}")
    choices = Rounding(record["rounding"]), Overflow(record["overflow"])
    place = record["layer"], Role(record["role"])
    return RecordedCast(*place, numbers, int(record["exponent"]), codes, format(record["format"]), *choices)


def _spelled(record: Any, find: Any) -> str:
    try:
        known = find(record.name) == record
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"{record.name} is no name of a format or engine; record a recipe of named ones")
    return str(record.name)
