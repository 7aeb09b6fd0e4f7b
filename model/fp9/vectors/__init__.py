"""Suites with their expected results, as sets and as files with manifests."""

from fp9.vectors.sets import (
    VectorSet,
    check,
    concatenate,
    digest,
    export,
    from_inputs,
    generate,
    manifest_path,
    policies,
    read,
    read_manifest,
)

__all__ = [
    "VectorSet",
    "check",
    "concatenate",
    "digest",
    "export",
    "from_inputs",
    "generate",
    "manifest_path",
    "policies",
    "read",
    "read_manifest",
]
