"""System services: atomic file writes, threads, caches, and errors for missing tools."""
