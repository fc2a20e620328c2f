"""The ``kermes`` command: errors of one line, Ctrl-C without a traceback."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..exceptions import KermesError
from ._demo import demo
from ._reproduce import reproduce


class Group(click.Group):
    """A group whose commands report kermes' own errors in one line and exit with status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; ``--debug`` lets errors through with their traceback."""
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except (KermesError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="kermes", prog_name="kermes")
def main(debug: bool) -> None:
    """Distances and kernels between measures: images, histograms, point clouds, bags of features."""


main.add_command(demo)
main.add_command(reproduce)
