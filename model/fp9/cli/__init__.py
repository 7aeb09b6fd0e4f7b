"""The command `fp9`, and the commands that need the model alone."""

from fp9.cli import cache, chips, error, explore, fit, model, papers, recipes, software, streams, topics
from fp9.cli.entry import main

COMMANDS = (
    *model.COMMANDS,
    *papers.COMMANDS,
    *error.COMMANDS,
    *chips.COMMANDS,
    *fit.COMMANDS,
    *recipes.COMMANDS,
    *cache.COMMANDS,
    *explore.COMMANDS,
    *streams.COMMANDS,
    *topics.COMMANDS,
    *software.COMMANDS,
)

__all__ = ["COMMANDS", "main"]
