"""Commands that compare other implementations with fp9."""

from fp9_compare.cli import identify, software

COMMANDS = {"Other implementations": (identify.identify, software.check_python)}

__all__ = ["COMMANDS"]
