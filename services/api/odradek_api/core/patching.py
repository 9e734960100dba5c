"""Changing the specification of a job that runs: a JSON merge patch (RFC 7396), within what can be changed."""

from typing import Any

from odradek_api.core.problems import Problem, wrong_fields

FIXED = {
    "seeds": "add seeds with POST /v1/jobs/{id}/seeds",
    "scope.drop_query_parameters": "it is part of the identity of the URLs known so far; submit a new job",
    "scope.sort_query": "it is part of the identity of the URLs known so far; submit a new job",
    "items.collection": "items stored so far would stay behind; submit a new job",
    "fetch.method": "it is part of the identity of the URLs known so far; submit a new job",
    "fetch.body": "it is part of the identity of the URLs known so far; submit a new job",
}
"""Fields that stay as they were submitted, and what to do instead."""


def merge_patch(target: Any, patch: Any) -> Any:
    """`target` with the patch applied; null takes a field back to its default."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def changed_specification(spec: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The specification that a patch asks for, not yet validated.

    Raises:
        Problem: 422 for a body that is no mapping, or touches a field that cannot be changed.
    """
    if not isinstance(patch, dict):
        raise Problem(422, "Not a change", "Send a JSON object with the fields to change.")
    touched = [name for name in FIXED if _named(patch, name)]
    if touched:
        raise wrong_fields(
            [{"field": name, "message": f"cannot be changed while the job lives: {FIXED[name]}"} for name in touched]
        )
    return dict(merge_patch(spec, patch))


def lifts_limit(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """True when a specification allows more pages than the one before it."""
    old, new = ((spec.get("scope") or {}).get("max_pages") for spec in (before, after))
    return old is not None and (new is None or new > old)


def _named(patch: dict[str, Any], path: str) -> bool:
    first, _, rest = path.partition(".")
    inner = patch.get(first)
    return first in patch and (not rest or (isinstance(inner, dict) and _named(inner, rest)))
