"""Options that commands share: where data come from, names of kernels, where results go."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from .._checks import guess
from .._dry_run import Planned, dry_run
from ..exceptions import InvalidParameterError
from . import _naming as naming
from ._output import new_file, print_estimates
from ._reading import Reading

Function = Callable[..., Any]

DATA = (
    "DATA is a table with a row for each point (.csv, .tsv, .parquet; - for standard input), annotated cells (.h5ad), "
    "a folder of .fcs files, saved measures or a stack of images (.npz, .npy), an IDX file, or a folder of images in "
    "folders of classes."
)
#: What options that people may look for are called here.
OTHER_NAMES = {
    **dict.fromkeys(
        ("--group", "--groups"), " --label names the class or group of each measure, --units what has several measures."
    ),
    **dict.fromkeys(
        ("--metric", "--distance"), " Distances are -d NAME, kernels -k NAME; kermes list has their names."
    ),
    "--length-scale": " It is a parameter of the kernel: -k sliced:length_scale=2.",
}


class Command(click.Command):
    """A command with examples at the end of its help; the tests run them."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; of options that are none, suggest only those that are near, and commas between names."""
        given = list(args)  # the parser empties it
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            shown = [option.opts[:1] if isinstance(option, Renamed) else option.opts for option in self.params]
            near = guess(error.option_name, [name for names in shown for name in names if name.startswith("--")])
            hint = OTHER_NAMES.get(error.option_name, near)
            raise click.UsageError(f"There is no option {error.option_name}.{hint}", ctx) from None
        except click.UsageError as error:
            lists = [name for name in ("--columns", "--covariates") if name in given]
            if not lists or not error.message.startswith("Got unexpected extra argument"):
                raise
            hint = f"Commas without spaces divide the names after {' and '.join(lists)}: a,b."
            raise click.UsageError(f"{error.message}. {hint}", ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        if any(parameter.name == "data" for parameter in self.params):
            formatter.write_paragraph()
            formatter.write_text(DATA)
        formatter.write("\nExamples:\n")
        for example in self.examples:
            formatter.write(f"  {example}\n")


def command(*examples: str, name: str | None = None) -> Callable[[Function], Command]:
    """Return the decorator of a command with examples."""
    return click.command(name, cls=Command, examples=examples)


class Renamed(click.Option):
    """An option whose help shows its first name only; the others are older spellings of it. It may be given once."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "multiple": True})

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the one value; refuse two, of which click would take the last."""
        given: tuple[str, ...] = super().process_value(ctx, value) or ()
        if len(given) > 1:
            names = f"{self.opts[0]}{''.join(f' (or {name}, its older name)' for name in self.opts[1:])}"
            raise click.UsageError(f"{names} is given {len(given)} times: {', '.join(given)}. Give it once.", ctx)
        return given[0] if given else None

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help without the older spellings."""
        spellings, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = spellings


def split(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Split names with commas between them."""
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


def _spacing(ctx: click.Context, param: click.Parameter, value: str | None) -> str | float | None:
    """Return the word, or the number."""
    if value in (None, "pixel", "unit"):
        return value
    try:
        return float(str(value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither 'pixel', 'unit' nor a number.") from None


class Name(click.ParamType):  # type: ignore[type-arg]
    """A divergence or kernel by its short name; it becomes a ``Named``."""

    def __init__(self, kind: str) -> None:
        self.name, self._kind = "name[:key=value,...]", kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> naming.Named:
        """Check the name and its parameters before any data are read."""
        try:
            return naming.Named(str(value), getattr(naming, self._kind)(value), naming.parse(value).options)
        except InvalidParameterError as error:
            known = str(value).partition(":")[0].strip() in [entry.name for _, entry in naming.entries()]
            self.fail(f"{error}{'' if known else ' All names: kermes list.'}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Offer the names."""
        from click.shell_completion import CompletionItem

        known = [entry for kind, entry in naming.entries() if kind == "divergence" or self._kind == "kernel"]
        return [CompletionItem(e.name, help=e.summary) for e in known if e.name.startswith(incomplete)]


def flag(name: str, *spellings: str, help: str) -> Callable[[Function], Function]:
    """Return a flag that no command takes: the context keeps it under its name."""
    kept: dict[str, Any] = {"expose_value": False, "callback": lambda ctx, _, value: ctx.meta.update({name: value})}
    return click.option(*spellings, is_flag=True, is_eager=True, help=help, **kept)


PATH = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**32 - 1)  # what NumPy's older generator takes
column = functools.partial(click.option, metavar="COLUMN")
READING_OPTIONS = [
    column("--by", help="Tables, cells: the column that names the measures."),
    click.option(
        "--columns",
        metavar="A,B,...",
        callback=split,
        help="Tables: the coordinates; all other numbers by default. Cells: genes or channels.",
    ),
    column("--weights", help="Tables, cells: the column of masses."),
    click.option("--drop-missing", is_flag=True, default=None, help="Tables: drop rows that lack a number."),
    click.option("--separator", metavar="CHARACTER", help="Text: what divides cells; by the first line."),
    click.option(
        "--decimal", type=click.Choice([".", ","]), metavar="CHARACTER", help="Text: the decimal point or comma."
    ),
    click.option("--encoding", metavar="NAME", help="Text: other than UTF-8, such as latin-1."),
    click.option("--use", metavar="NAME", help=".h5ad: X, a layer, or a key of obsm such as X_pca."),
    click.option("--arcsinh", type=float, metavar="COFACTOR", help="Tables, cells: arcsinh(x / cofactor); 5 is usual."),
    click.option("--compensate", is_flag=True, default=None, help=".fcs: undo the spillover that the files state."),
    click.option(
        "--standardize/--no-standardize",
        default=None,
        help="Divide each coordinate by its standard deviation; compare, fit, test, explain do if they differ tenfold.",
    ),
    click.option("--threshold", type=float, metavar="GREY", help="Images: keep brighter pixels only."),
    click.option("--binary", is_flag=True, default=None, help="Images: mass 1 for every pixel kept."),
    click.option("--spacing", metavar="PIXEL|UNIT|NUMBER", callback=_spacing, help="Images: unit of the coordinates."),
    click.option("--invert", is_flag=True, default=None, help="Images: dark ink on bright ground."),
    click.option("--atoms", type=click.IntRange(1), metavar="N", help="Draw at most N atoms of each measure."),
]
label = functools.partial(column, help="The column (or array) of labels: the class, group or number of each measure.")
LABEL_OPTIONS = [
    click.option("--labels", type=PATH, metavar="FILE", help="A file of labels, in order."),
    click.option(
        "--samples",
        type=PATH,
        metavar="TABLE",
        help="A table with a row for each measure, by its name; --label is a column of it.",
    ),
]
dry_run_option = flag(
    "dry_run", "--dry-run", help="Only print the pairs, and the time and memory that they would take."
)
as_json = flag("json", "--json", help="Print JSON instead of text.")


def reads(labels: bool = True, groups: bool = False) -> Callable[[Function], Function]:
    """Add the argument DATA and the options of :class:`Reading`, which the command gets as ``reading``.

    Also ``--json``, and ``--dry-run``, which ends a command where its engine would begin to compute. In commands that
    compare groups, the older spelling of ``--label`` is heard too.
    """
    one_label = label("--label", "--group", cls=Renamed) if groups else label("--label")
    first = [dry_run_option, click.argument("data", type=PATH), *([one_label, *LABEL_OPTIONS] if labels else [])]

    def decorate(command: Function) -> Function:
        @functools.wraps(command)
        def with_reading(data: Path, **options: Any) -> Any:
            known = [field.name for field in fields(Reading) if field.name in options]
            options["reading"] = Reading(data, **{name: options.pop(name) for name in known})
            if not click.get_current_context().meta["dry_run"]:
                return command(**options)
            try:
                with dry_run():
                    return command(**options)
            except Planned as planned:
                print_estimates({planned.name: planned.estimate} if planned.estimate is not None else {})

        decorated = as_json(with_reading)
        of_command: list[click.Parameter] = vars(decorated)["__click_params__"]
        of_command.insert(0, of_command.pop())  # the last in the help
        for option in reversed([*first, *READING_OPTIONS]):
            decorated = option(decorated)
        return decorated

    return decorate


class OutputOption(click.Option):
    """A file to write; a dry run writes none, so that it needs none and looks at none."""

    def __init__(self, *args: Any, unwritten: str | None = None, endings: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self._unwritten, self._endings = None if unwritten is None else Path(unwritten), endings

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the path, of a kind that can be written; in a dry run one of the same kind that is not touched."""
        if not ctx.meta.get("dry_run"):
            path = super().process_value(ctx, value)
        else:
            path = self._unwritten if self.value_is_missing(value) else self.type_cast_value(ctx, value)
        if path is not None and self._endings and path.suffix.lower() not in self._endings:
            raise InvalidParameterError(f"`output` (-o) must end in {', '.join(self._endings)}; got {path.name!r}.")
        return path


def output(help: str, *endings: str, unwritten: str | None = None) -> Callable[[Function], Function]:
    """Add ``-o`` and ``--force``; it is required if there is a name that a dry run, which writes nothing, may take."""
    kind: dict[str, Any] = {"cls": OutputOption, "unwritten": unwritten, "required": unwritten is not None}
    kind["endings"] = endings
    where = click.option("-o", "--output", type=PATH, callback=new_file, help=help, **kind)
    force = flag("force", "-f", "--force", help="Replace a file that exists.")
    return lambda command: force(where(command))


html = functools.partial(
    click.option, "--html", cls=OutputOption, type=click.Path(dir_okay=False, path_type=Path), callback=new_file
)
task = click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    help="What to learn; auto: by the labels.",
)
divergence = click.option(
    "-d", "--divergence", type=Name("divergence"), default="sliced", show_default=True, help="The distance."
)
kernel = click.option("-k", "--kernel", type=Name("kernel"), default="sliced", show_default=True, help="The kernel.")
seed = click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of all draws.")
units = column(
    *("--units", "--groups"),
    cls=Renamed,
    help="What has several measures (donor, batch): those of one unit are never parted by a split.",
)
blocks = column(
    "--blocks", help="Permute within these only, and remove what differs between them: site, batch, donor seen twice."
)
assigned = column("--units", help="What labels were assigned to, if it has several measures: donor.")
