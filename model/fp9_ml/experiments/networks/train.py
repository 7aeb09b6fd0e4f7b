"""Train the character model, and read and write files of trained models.

The training text is Python's language help (`pydoc_data.topics`), under the PSF License Agreement in `manual.LICENSE`.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.system.files import write_whole
from fp9_ml.experiments.networks.characters import ALPHABET, CONTEXT, Parameters, backward, codes_of, forward, initial
from fp9_ml.experiments.networks.layers import Adam, cross_entropy

FILE = "manual.npz"
SEED = 7
STEPS = 400
BATCH = 16
RATE = 3e-3
HELD_OUT = 20_000
COPYRIGHT = (
    "Text: documentation of Python, copyright Python Software Foundation, all rights reserved; used under the PSF "
    "License Agreement, https://docs.python.org/3/license.html. Changes: characters outside printable ASCII left out."
)


@dataclass(frozen=True)
class Trained:
    """Trained character model, and the held-out text as indices in `ALPHABET`."""

    parameters: Parameters
    text: NDArray[np.uint8]
    origin: dict[str, Any]

    def windows(self, start: int, count: int) -> NDArray[np.uint8]:
        """Return consecutive windows of the held-out text, shape (count, 65)."""
        end = start + count * CONTEXT + 1
        if not 0 <= start < end <= len(self.text):
            raise ValueError(f"{count} windows from character {start} asked for; the text has {len(self.text)}")
        places = start + CONTEXT * np.arange(count)[:, None] + np.arange(CONTEXT + 1)
        found: NDArray[np.uint8] = self.text[places]
        return found


def manual() -> NDArray[np.uint8]:
    from pydoc_data.topics import topics  # slow to load

    return codes_of("\n".join(topics[name] for name in sorted(topics)))


def train(seed: int, steps: int = STEPS, progress: Callable[[str, int, int], None] | None = None) -> Trained:
    text = manual()
    learnt, kept = text[:-HELD_OUT], text[-HELD_OUT:]
    parameters = initial(seed)
    adam, rng = Adam(parameters), np.random.default_rng([seed, 1])
    losses: list[float] = []
    for step in range(steps):
        places = rng.integers(0, len(learnt) - CONTEXT, BATCH)[:, None] + np.arange(CONTEXT + 1)
        batch = learnt[places]
        run = forward(parameters, batch[:, :-1])
        loss, gradient = cross_entropy(run.logits, batch[:, 1:])
        adam.step(backward(run, gradient), RATE * min((step + 1) / 20, 1 - step / steps))
        losses.append(loss)
        if progress:
            progress(f"loss {loss:.3f}", step + 1, steps)
    # Model files store float16.
    rounded = {name: value.astype(np.float16).astype(np.float32) for name, value in parameters.items()}
    origin = {"seed": seed, "steps": steps, "loss": round(float(np.mean(losses[-50:])), 4)}
    return Trained(rounded, kept, origin | {"python": platform.python_version(), "copyright": COPYRIGHT})


def save(trained: Trained, path: Path) -> None:
    arrays: dict[str, Any] = {name: value.astype(np.float16) for name, value in trained.parameters.items()}
    arrays |= {"text": trained.text, "origin": np.frombuffer(json.dumps(trained.origin).encode(), dtype=np.uint8)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_whole(path, buffer.getvalue())


def load(path: Path | None = None) -> Trained:
    """Read a trained model from a file, or the model that the package contains."""
    data = path.read_bytes() if path else resources.files(__package__).joinpath(FILE).read_bytes()
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        text, origin = found.pop("text"), json.loads(found.pop("origin").tobytes())
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{path or FILE} holds no character model; make one with `{COMMAND}`") from error
    expected = {name: value.shape for name, value in initial(0).items()}
    if {name: value.shape for name, value in found.items()} != expected or text.max() >= len(ALPHABET):
        raise ValueError(f"{path or FILE} holds another model's parameters; make them with `{COMMAND}`")
    return Trained({name: found[name].astype(np.float32) for name in expected}, text, origin)


COMMAND = "python -m fp9_ml.experiments.networks.train"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the character model on Python's help on its language.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(FILE))
    asked = parser.parse_args()
    trained = train(asked.seed, asked.steps)
    save(trained, asked.out)
    print(f"{asked.out}: training loss {trained.origin['loss']} nats per character")


if __name__ == "__main__":
    main()
