"""Where registers stand, and how operations wait."""
