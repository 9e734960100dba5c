"""What a person gave on the command line, beside a job file."""

from typing import Annotated, Any, TypeAlias

import typer

MaxPages: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Keep at most so many pages.")]
MaxDepth: TypeAlias = Annotated[int | None, typer.Option(min=0, help="Follow links so many steps from a seed.")]
Delay: TypeAlias = Annotated[str | None, typer.Option(help="Between two fetches of a host, such as 500ms.")]


def given(
    values: dict[str, Any], urls: list[str], max_pages: int | None, max_depth: int | None, delay: str | None
) -> dict[str, Any]:
    """A job file's values with those of the command line: flag over file, and URLs are added to the file's seeds.

    What is no list or mapping there is left as it is for validation to name.
    """
    merged = dict(values)
    seeds = values.get("seeds")
    if urls and (seeds is None or isinstance(seeds, list)):
        merged["seeds"] = [*(seeds or []), *urls]
    for section, name, value in (
        ("scope", "max_pages", max_pages),
        ("scope", "max_depth", max_depth),
        ("politeness", "delay", delay),
    ):
        inner = merged.get(section) or {}
        if value is not None and isinstance(inner, dict):
            merged[section] = {**inner, name: value}
    return merged
