"""The command `fp9 help`: the guide and the rules of the numerics in the terminal, by topic."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import click

from fp9.cli.support import Command, UserError, show, table
from fp9.cli.words import Words
from fp9.names import unknown

PAGES = ("guide", "numerics")
_HEADING = re.compile(r"^(##+) (.+)$", re.MULTILINE)
_REPOSITORY = Path(__file__).parents[3] / "docs"


def page(name: str) -> str:
    """The text of a page: of the installed package, or of the repository. OSError where it is in neither."""
    installed = importlib.resources.files("fp9.cli") / f"{name}.md"
    return installed.read_text() if installed.is_file() else (_REPOSITORY / f"{name}.md").read_text()


def topics() -> dict[str, str]:
    """Sections of the pages by the names that one asks for: a heading in small letters with hyphens.

    A section holds its subsections, which have names of their own as well.
    """
    found = {}
    for name in PAGES:
        text = page(name)
        headings = list(_HEADING.finditer(text))
        for i, heading in enumerate(headings):
            level = len(heading[1])
            ends = (later.start() for later in headings[i + 1 :] if len(later[1]) <= level)
            found[re.sub(r"\W+", "-", heading[2].lower()).strip("-")] = text[heading.start() : next(ends, len(text))]
    return found


def _words() -> list[str]:
    context = click.get_current_context(silent=True)
    top = context.find_root().command if context is not None else None
    commands = top.list_commands(context) if isinstance(top, click.Group) and context is not None else []
    return [*topics(), *commands]


@click.command("help", cls=Command)
@click.argument("topic", nargs=-1, type=Words(_words))
def help_command(topic: tuple[str, ...], as_json: bool) -> None:
    """Show what the guide says of TOPIC, or a command's help.

    Without TOPIC: list the topics.

    \b
      fp9 help casts
      fp9 help vectors export
    """
    if not topic:
        rows = [[name, text.split("\n\n")[1].split(". ")[0].replace("\n", " ")] for name, text in topics().items()]
        show(
            [row[0] for row in rows],
            as_json,
            table("Topics", ["topic", "begins"], rows),
            "A command's name is one too.",
        )
        return
    name, sections = " ".join(topic), topics()
    text = _help_of_command(topic) if (key := name.lower().replace(" ", "-")) not in sections else sections[key]
    if text is None:
        raise UserError(unknown("topic", name, _words(), "`fp9 help` lists all"))
    if key in sections:
        from rich.markdown import Markdown  # slow to load

        show({"topic": key, "text": text}, as_json, Markdown(text))
    else:
        show({"topic": name, "text": text}, as_json, text)


def _help_of_command(words: tuple[str, ...]) -> str | None:
    """The help of a command by its words; None where there is none."""
    context = click.get_current_context().find_root()
    command: click.Command | None = context.command
    for word in words:
        command = command.get_command(context, word) if isinstance(command, click.Group) else None
        if command is None:
            return None
        context = click.Context(command, info_name=word, parent=context)
    return context.get_help()
