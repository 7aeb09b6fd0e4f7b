"""The one place where hardware rounds.

The decision is made in `decision`, and for HiFloat8's hybrid mode in `hybrid`; `rounder` takes a normalised sum to its
code, with flags and specials (`specials`). Callers state what cannot happen (`facts`), and that is not built.
"""
