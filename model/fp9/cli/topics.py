"""Command `fp9 help`: show documentation pages and glossary entries in the terminal."""

from __future__ import annotations

import importlib.resources
import re
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from fp9.cli.support import Command, UserError, show, table
from fp9.cli.words import Words
from fp9.names import unknown

FOLDERS = ("how-to", "reference", "explanation")
GLOSSARY = "glossary.md"
_REPOSITORY = Path(__file__).parents[3] / "docs"


def _home() -> Traversable:
    installed = importlib.resources.files("fp9.cli") / "pages"
    return installed if installed.is_dir() else _REPOSITORY


def topics() -> dict[str, str]:
    """Return the texts of documentation pages and glossary entries, by title or term.

    Titles and terms are in lower case, with hyphens.
    """
    found = {}
    for folder in FOLDERS:
        for page in sorted((_home() / folder).iterdir(), key=lambda path: path.name):
            if page.name.endswith(".md"):
                text = page.read_text(encoding="utf-8")
                found[_key(text.partition("\n")[0].lstrip("# "))] = text
                if page.name == GLOSSARY:
                    found |= _entries(text)
    return found


def _entries(glossary: str) -> dict[str, str]:
    entries = re.findall(r"^### (.+)\n+((?:[^\n]+\n)+)", glossary, re.MULTILINE)
    return {_key(term): f"### {term}\n\n{text}" for term, text in entries}


def _key(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def matching(words: str) -> list[str]:
    """Return the topic with exactly this name. If there is none, return every topic whose name contains all
    the words.
    """
    key, names = _key(words), topics()
    parts = [part.removesuffix("s") for part in key.split("-")]
    return [key] if key in names else [name for name in names if all(part in name for part in parts)]


def _words() -> list[str]:
    context = click.get_current_context(silent=True)
    top = context.find_root().command if context is not None else None
    commands = top.list_commands(context) if isinstance(top, click.Group) and context is not None else []
    return [*topics(), *commands]


@click.command("help", cls=Command)
@click.argument("topic", nargs=-1, type=Words(_words))
def help_command(topic: tuple[str, ...], as_json: bool) -> None:
    """Show a documentation page, a glossary entry or a command's help.

    TOPIC is words of a page's title, a term of the glossary, or a command. Without TOPIC: list the topics.

    \b
      fp9 help mutation testing
      fp9 help check your rtl
      fp9 help vectors export
    """
    if not topic:
        _show_list("Topics", list(topics()), as_json)
        return
    name = " ".join(topic)
    if (text := _help_of_command(topic)) is not None:
        show({"topic": name, "text": text}, as_json, text)
        return
    found = matching(name)
    if not found:
        raise UserError(unknown("topic", name, _words(), "`fp9 help` lists all"))
    if len(found) > 1:
        _show_list(f"Topics with {name!r}", found, as_json)
        return
    from rich.markdown import Markdown  # slow to load

    text = topics()[found[0]]
    show({"topic": found[0], "text": text}, as_json, Markdown(text))


def _show_list(title: str, names: list[str], as_json: bool) -> None:
    texts = topics()
    rows = [[name, _first_sentence(texts[name])] for name in names]
    show(names, as_json, table(title, ["topic", "begins"], rows), "A command's name is a topic, too.")


def _first_sentence(text: str) -> str:
    paragraph = next((part for part in text.split("\n\n")[1:] if part[0].isalpha() or part[0] == "`"), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph.replace("\n", " "))
    return re.split(r"(?<=[.:]) ", plain)[0]


def _help_of_command(words: tuple[str, ...]) -> str | None:
    context = click.get_current_context().find_root()
    command: click.Command | None = context.command
    for word in words:
        command = command.get_command(context, word) if isinstance(command, click.Group) else None
        if command is None:
            return None
        context = click.Context(command, info_name=word, parent=context)
    return context.get_help()
