"""Specifications of units that convert: casts, decoders, quantisers, running maxima."""
