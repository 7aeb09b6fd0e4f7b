"""System services: atomic file writes, work on threads, caches, and errors for missing tools."""
