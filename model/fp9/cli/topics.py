"""Command `fp9 help`: show documentation pages and glossary entries in the terminal."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from fp9.cli.support import Command, UserError, show, table
from fp9.cli.words import Words
from fp9.names import unknown

FOLDERS = ("start", "how-to", "reference", "explanation")
GLOSSARY = "glossary.md"
FRONT = "index.md"
LISTED = 8
_REPOSITORY = Path(__file__).parents[3] / "docs"


def _home() -> Traversable:
    installed = importlib.resources.files("fp9.cli") / "pages"
    return installed if installed.is_dir() else _REPOSITORY


def topics() -> dict[str, str]:
    """Return a dictionary that maps page titles and glossary terms to their texts."""
    found = {}
    for page in _pages(_home(), FOLDERS):
        text = page.read_text(encoding="utf-8")
        found[_key(text.partition("\n")[0].lstrip("# "))] = text
        if page.name == GLOSSARY:
            found |= _entries(text)
    return found


def _pages(folder: Traversable, inside: tuple[str, ...] | None = None) -> Iterator[Traversable]:
    entries = sorted(folder.iterdir(), key=lambda path: path.name)
    yield from (path for path in entries if path.name.endswith(".md") and path.name != FRONT)
    for path in entries if inside is None else map(folder.joinpath, inside):
        if path.is_dir():
            yield from _pages(path)


def _entries(glossary: str) -> dict[str, str]:
    entries = re.findall(r"^### (.+)\n+((?:[^\n]+\n)+)", glossary, re.MULTILINE)
    return {_key(term): f"### {term}\n\n{text}" for term, text in entries}


def _key(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def matching(words: str) -> list[str]:
    """Return the help topics that match the given words.

    If `words` is exactly the name of a help topic, the function returns only that help topic. If no topic is named
    `words`, the function returns the topics whose names contain all of the words. If no name contains all of the words,
    the function returns the topics whose texts contain the words. British and American spellings match each other.
    """
    key, texts = _key(words), topics()
    if key in texts:
        return [key]
    patterns = [re.compile(_pattern(part), re.IGNORECASE) for part in key.split("-")]
    named = [name for name in texts if all(pattern.search(name) for pattern in patterns)]
    return named or mentioning(words)


def mentioning(words: str) -> list[str]:
    texts = topics()
    patterns = [re.compile(_pattern(part), re.IGNORECASE) for part in _key(words).split("-")]
    if found := _mentioning(patterns, texts):
        return found
    names = [name for entries in other_names(words).values() for name in entries]
    either = "|".join(_pattern(re.escape(name)) for name in names)
    return _mentioning([re.compile(either, re.IGNORECASE)], texts) if names else []


def other_names(words: str) -> dict[str, list[str]]:
    from fp9.engines.devices import DEVICE_NAMES  # slow to load
    from fp9.formats import BLOCK_NAMES, FORMAT_NAMES
    from fp9.formats.rounding import OVERFLOW_NAMES, ROUNDING_NAMES

    catalogues = (FORMAT_NAMES, BLOCK_NAMES, ROUNDING_NAMES, OVERFLOW_NAMES, DEVICE_NAMES)
    return {names.what: found for names in catalogues if (found := names.choices(words))}


# The end of a verb such as "quantize", or of a noun made from the verb.
_SPELLED = re.compile(r"i[sz](?:e[drs]?|ers?|ing|ations?)$")


def _pattern(word: str) -> str:
    # Short words, such as AXI, match whole words only. Long words also match with another ending.
    if _SPELLED.search(word):
        return rf"\b{_SPELLED.sub('i[sz]', word)}(?:e|ing|ation)\w*"
    return rf"\b{word.removesuffix('s')}\w*" if len(word) > 3 else rf"\b{word}\d*\b"


def _mentioning(patterns: list[re.Pattern[str]], texts: dict[str, str]) -> list[str]:
    def rank(name: str) -> tuple[bool, int]:
        headings = "\n".join(re.findall(r"^#+ .*", texts[name], re.MULTILINE))
        return all(pattern.search(headings) for pattern in patterns), mentions[name]

    mentions = {name: min(len(pattern.findall(text)) for pattern in patterns) for name, text in texts.items()}
    return sorted((name for name, count in mentions.items() if count), key=rank, reverse=True)[:LISTED]


def _words() -> list[str]:
    context = click.get_current_context(silent=True)
    top = context.find_root().command if context is not None else None
    commands = top.list_commands(context) if isinstance(top, click.Group) and context is not None else []
    return [*topics(), *commands]


@click.command("help", cls=Command, page="index.md")
@click.argument("topic", nargs=-1, type=Words(_words))
def help_command(topic: tuple[str, ...], as_json: bool) -> None:
    """Show a documentation page, a glossary entry or a command's help.

    TOPIC is a glossary term, a command, or words of a documentation page. Without TOPIC, the command lists the topics.

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
    meant = [f"As {what}, {name!r} means {' or '.join(names)}." for what, names in other_names(name).items()]
    if len(found) > 1:
        _show_list(f"Topics with {name!r}", found, as_json, meant)
        return
    from rich.markdown import Markdown  # slow to load

    text = topics()[found[0]]
    pages = [page for page in mentioning(name) if page != found[0]] if text.startswith("###") else []
    more = [f"Other topics with {name!r}: {', '.join(pages)}"] if pages else []
    show({"topic": found[0], "text": text}, as_json, *meant, Markdown(text), *more)


def _show_list(title: str, names: list[str], as_json: bool, notes: Iterable[str] = ()) -> None:
    texts = topics()
    rows = [[name, _first_sentence(texts[name])] for name in names]
    show(names, as_json, table(title, ["topic", "begins"], rows), *notes, "A command's name is a topic, too.")


def _first_sentence(text: str) -> str:
    paragraph = next((part for part in text.split("\n\n")[1:] if re.match(r"\w|`[^`]", part)), "")
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
