"""Simulators: found, built for, run."""
