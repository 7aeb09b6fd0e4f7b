"""Scaled matrix products with the arithmetic of GPU libraries such as cuBLASLt.

>>> import numpy as np
>>> import fp9
>>> from fp9.profiles import profiles
>>> [p.name for p in profiles()]
['h100', 'h200', 'rtx4060', 'l40s', 'b200', 'rtx5070', 'deepgemm']
"""

from fp9.profiles.catalogue import PROFILES, profile, profiles
from fp9.profiles.records import Call, Epilogue, Profile, Scaling, Split
from fp9.profiles.scaled_mm import scaled_mm, sums

__all__ = [
    "PROFILES",
    "Call",
    "Epilogue",
    "Profile",
    "Scaling",
    "Split",
    "profile",
    "profiles",
    "scaled_mm",
    "sums",
]
