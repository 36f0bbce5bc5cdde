"""The reference of the command line, docs/cli.md, from the commands themselves.

`tools.generate_docs` writes it with the other pages; the text does not depend on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from textwrap import dedent, fill
from typing import Final, NamedTuple

import click

from openmsmq.cli.later import Later
from openmsmq.cli.main import main

WIDTH: Final = 125
PROGRAM: Final = "openmsmq"
TITLE: Final = "The command line"
EXIT_CODES: Final = {
    0: "done",
    1: "refused; the error's name, its HRESULT and what it means are on stderr",
    2: "wrong usage, nothing was done",
    3: "`message peek` and `message receive`: nothing came in time",
    130: "interrupted with Ctrl-C",
}
_EVERY: Final = "[every command](#exit-codes)."
_AS_IT_IS: Final = "\b\n"
"Begins a paragraph that click does not wrap."
_EXIT: Final = re.compile(r"\bexits? (?:with|code)\b", re.IGNORECASE)
_SENTENCES: Final = re.compile(r"(?<=[.]) (?=[A-Z])")
_CODE: Final = re.compile(r"(?<!\S)([(]?)(-|--?[a-z][\w-]*|\S*[\\$*{}]\S*?)([).,;:]*)(?!\S)")


class Entry(NamedTuple):
    """A command and what stands before it on the line."""

    name: str
    command: click.Command
    context: click.Context


class Help(NamedTuple):
    """The help of a command, taken apart."""

    summary: str
    text: list[str]
    "Paragraphs, and blocks that begin with a title."
    exit_codes: list[str]
    "The sentences that tell of them."
    examples: list[str]
    "Lines."


def entries(group: click.Group = main, parent: click.Context | None = None) -> Iterator[Entry]:
    """Every command, each group before its commands."""
    context = parent or _context(group, PROGRAM)
    for name, known in sorted(group.commands.items()):
        command = known.load() if isinstance(known, Later) else known
        inner = _context(command, name, context)
        yield Entry(inner.command_path, command, inner)
        if isinstance(command, click.Group):
            yield from entries(command, inner)


def _context(
    command: click.Command, name: str, parent: click.Context | None = None
) -> click.Context:
    """As click itself makes it: a command keeps what it finds in its first one."""
    return click.Context(command, parent, name, **command.context_settings)


def read_help(command: click.Command) -> Help:
    """Take the help of a command apart."""
    first, *rest = cleandoc(command.help or "").split("\n\n")
    found = Help(_joined(first), [], [], [])
    for paragraph in rest:
        if not paragraph.startswith(_AS_IT_IS):
            sentences = _SENTENCES.split(_joined(paragraph))
            found.exit_codes.extend(s for s in sentences if _EXIT.search(s))
            found.text.append(" ".join(s for s in sentences if not _EXIT.search(s)))
        else:
            title, _, lines = paragraph.removeprefix(_AS_IT_IS).partition("\n")
            if title.startswith("Example"):
                found.examples.extend(dedent(lines).splitlines())
            else:
                found.text.append(f"{title}\n{dedent(lines)}")
    return found


def page() -> str:
    """The text of docs/cli.md."""
    found = list(entries())
    overview = [f"| [`{e.name}`](#{_anchor(e.name)}) | {_prose(_summary(e))} |" for e in found]
    codes = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    sections = [line for entry in found for line in _section(entry)]
    lines = [
        f"# {TITLE}",
        "",
        "Every command with its options, as `--help` shows it. Written by `make docs`.",
        "[Concepts](concepts.md) tells what the words mean and leads through a first session.",
        "",
        *_paragraphs(read_help(main).text),
        "Queues are named by path names, format names, or bare: `orders` is `.\\private$\\orders`.",
        "Quote names with a backslash, a dollar or a semicolon for the shell.",
        "",
        *_options(main, _context(main, PROGRAM)),
        "| Command | Does |",
        "|---|---|",
        *overview,
        "",
        "## Exit codes",
        "",
        "| Code | Means |",
        "|---|---|",
        *codes,
        "",
        *sections,
    ]
    return "\n".join(lines).rstrip() + "\n"


def _summary(entry: Entry) -> str:
    return read_help(entry.command).summary


def _section(entry: Entry) -> Iterator[str]:
    words = read_help(entry.command)
    level = "#" * entry.name.count(" ")
    yield from (f"#{level} {entry.name}", "")
    pieces = entry.command.collect_usage_pieces(entry.context)
    yield from ("```sh", " ".join((entry.name, *pieces)), "```", "")
    yield from _paragraphs([words.summary, *words.text])
    yield from _options(entry.command, entry.context)
    if not isinstance(entry.command, click.Group):
        own = _prose("".join(f"{sentence} " for sentence in words.exit_codes))
        yield from (_filled(f"**Exit codes.** {own}{'Otherwise as' if own else 'As'} {_EVERY}"), "")
    if words.examples:
        yield from ("```sh", *words.examples, "```", "")


def _paragraphs(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        title, newline, lines = paragraph.partition("\n")
        if newline:
            yield from (_prose(title), "", "```", lines, "```", "")
        elif paragraph:
            yield from (_filled(_prose(paragraph)), "")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """A table of the options; that every command has --help is not worth a row."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if rows:
        yield from ("| Option | Meaning |", "|---|---|")
        yield from (
            f"| `{_cell(name)}` | {_cell(_prose(_joined(meaning)))} |" for name, meaning in rows
        )
        yield ""


def _filled(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _prose(text: str) -> str:
    """Text with names, options and patterns marked as code, so that Markdown leaves them alone."""
    return _CODE.sub(r"\1`\2`\3", text).replace("[", r"\[").replace("<", r"\<")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _anchor(name: str) -> str:
    return name.replace(" ", "-").lower()
