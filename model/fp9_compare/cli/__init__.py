"""The commands that compare other implementations with the model."""

from fp9_compare.cli import chips, fit, software

COMMANDS = (*chips.COMMANDS, *fit.COMMANDS, *software.COMMANDS)

__all__ = ["COMMANDS"]
