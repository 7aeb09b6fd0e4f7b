"""The command `fp9`, and the commands that need the model alone."""

from fp9.cli import cache, cmodel, error, explore, listing, model, papers, streams, topics
from fp9.cli.entry import main

COMMANDS = (
    *listing.COMMANDS,
    *model.COMMANDS,
    *papers.COMMANDS,
    *error.COMMANDS,
    *cmodel.COMMANDS,
    *cache.COMMANDS,
    *explore.COMMANDS,
    *streams.COMMANDS,
    *topics.COMMANDS,
)

__all__ = ["COMMANDS", "main"]
