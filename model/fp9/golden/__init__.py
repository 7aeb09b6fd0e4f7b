"""Expected results of a unit spec, one function a kind: `evaluate`."""
