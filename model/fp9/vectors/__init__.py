"""Golden vectors: operations with expected results, in memory and in files with manifests."""

from fp9.vectors.checks import Checked, WrongValue, check, read_for
from fp9.vectors.manifests import manifest_path, policies, read_manifest
from fp9.vectors.sets import VectorSet, concatenate, digest, export, from_inputs, generate, read

__all__ = [
    "Checked",
    "VectorSet",
    "WrongValue",
    "check",
    "concatenate",
    "digest",
    "export",
    "from_inputs",
    "generate",
    "manifest_path",
    "policies",
    "read",
    "read_for",
    "read_manifest",
]
