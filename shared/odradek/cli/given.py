"""What a person gave on the command line, beside a job file."""

from typing import Any


def with_seeds(values: dict[str, Any], urls: list[str]) -> dict[str, Any]:
    """URLs are added to the file's seeds; what is no list there is left for validation to name."""
    seeds = values.get("seeds")
    if not urls or (seeds is not None and not isinstance(seeds, list)):
        return dict(values)
    return {**values, "seeds": [*(seeds or []), *urls]}
