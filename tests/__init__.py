"""Tests, in folders like those of the packages."""
