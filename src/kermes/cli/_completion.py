"""``kermes completion``: the script that lets a shell complete commands, options and names."""

from __future__ import annotations

import click

from ._options import command


@command("kermes completion zsh")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    Put the line eval "$(kermes completion bash)" into ~/.bashrc, or the same with zsh into ~/.zshrc; for fish, the
    line kermes completion fish | source into ~/.config/fish/config.fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "kermes", "_KERMES_COMPLETE").source())
