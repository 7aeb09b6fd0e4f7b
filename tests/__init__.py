"""Tests, in the rooms of the three packages."""
