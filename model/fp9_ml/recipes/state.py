"""Saved states of scalers, as dictionaries that can be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

State = dict[str, Any]


class Stateful:
    """Base class of scalers whose state can be saved and restored."""

    # Names of the saved attributes.
    remembers: ClassVar[tuple[str, ...]] = ()

    def state_dict(self) -> State:
        """Return a copy of the state, which `json.dumps` writes without loss."""
        return {name: _copied(getattr(self, name)) for name in self.remembers}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state_dict` returned.

        Raises ValueError if a key of `state` is wrong, or a value is impossible, such as NaN. After an error, the
        object is unchanged.
        """
        check_keys(state, self.remembers, type(self).__name__)
        self.check_state(state)
        for name in self.remembers:
            setattr(self, name, _copied(state[name]))

    def check_state(self, state: Mapping[str, Any]) -> None:
        for name in self.remembers:
            now = getattr(self, name)
            wanted = "a whole number, 0 or more" if isinstance(now, int) else "a number"
            if isinstance(now, int | float) and not _fits(state[name], now):
                raise ValueError(f"state of {type(self).__name__}: {name} = {state[name]!r} given; give {wanted}")


def check_keys(state: Mapping[str, Any], names: tuple[str, ...], whose: str) -> None:
    if set(state) != set(names):
        expected, given = ", ".join(names) or "nothing", ", ".join(map(str, state)) or "nothing"
        raise ValueError(f"state with {given} given; that of {whose} has {expected}: load a state from its state_dict")


def _fits(value: Any, now: int | float) -> bool:
    if isinstance(now, int):
        return isinstance(value, int) and value >= 0
    return isinstance(value, int | float) and math.isfinite(value)


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
