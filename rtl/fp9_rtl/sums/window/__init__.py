"""Sums in a window of fraction bits below the largest exponent, what lies further right cut off."""
