"""Helpers that tests share: rows of the catalogues, random formats, references, programs, costs."""
