"""Add terms that are truncated to a window of fraction bits below the largest exponent."""
