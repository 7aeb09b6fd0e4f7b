"""Tools that are missing."""


class MissingTool(RuntimeError):
    """A program, package or data file that is not installed; the message is one sentence that says how to get it."""
