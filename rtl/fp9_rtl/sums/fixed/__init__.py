"""Add products exactly in one wide fixed-point field."""
