"""Commands that are imported when they are used, so that help and others come at once."""

from __future__ import annotations

from importlib import import_module

import click


class Later(click.Command):
    """A command that is known by name and what it does."""

    def __init__(self, name: str, path: str, short_help: str) -> None:
        """`path` is its module below `openmsmq.cli`, and its name there behind a colon."""
        super().__init__(name, short_help=short_help)
        self._path = path

    def load(self) -> click.Command:
        """The command itself."""
        module, _, attribute = self._path.partition(":")
        command = getattr(import_module(f"openmsmq.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command


class LaterGroup(click.Group):
    """A group of commands, of which only the one that runs is imported."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Later) else command, rest
