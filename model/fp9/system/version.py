"""The version of fp9."""

__version__ = "0.1.0"
