"""The command `fp9`, and the commands that need the model alone."""

from fp9.cli import cache, chips, error, model, papers, recipes
from fp9.cli.entry import main

COMMANDS = (
    *model.COMMANDS,
    *papers.COMMANDS,
    *error.COMMANDS,
    *chips.COMMANDS,
    *recipes.COMMANDS,
    *cache.COMMANDS,
)

__all__ = ["COMMANDS", "main"]
