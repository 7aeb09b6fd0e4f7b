"""The command `fp9`, and its subcommands that need only the model."""

from fp9.cli import accuracy, cache, cmodel, explore, listing, model, topics
from fp9.cli.entry import main

COMMANDS = {
    "Numbers": (listing.formats, listing.accumulators, model.cast, accuracy.accuracy, explore.explore),
    "Units": (model.units, model.vectors, cmodel.cmodel),
    "Project": (cache.cache, topics.help_command),
}

__all__ = ["COMMANDS", "main"]
