"""What of a specification a preview may use: everything but secrets and code."""

from typing import Any, Final

REFERENCE: Final = "${env:"
WITHHELD_WHOLE: Final = ("plugins", "webhooks", "archive", "schedule")
MAY_HOLD_SECRETS: Final = ("auth", "headers", "cookies", "body", "user_agent", "user_agents")


def previewed(url: str, spec: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The specification for a preview of this URL, and the names of what was left out because it must not be used.

    Plugins are code, secrets belong to the fetchers, and a proxy is an address that nobody has checked: whoever may ask
    for a preview shall get none of them from the gateway.
    """
    kept = {name: value for name, value in spec.items() if name not in WITHHELD_WHOLE}
    withheld = [name for name in ("plugins",) if spec.get(name)]
    fetch = dict(kept.get("fetch") or {})
    if fetch.pop("proxies", None):
        withheld.append("fetch.proxies")
    for name in MAY_HOLD_SECRETS:
        if REFERENCE in repr(fetch.get(name)):
            del fetch[name]
            withheld.append(f"fetch.{name}")
    if fetch:
        kept["fetch"] = fetch
    else:
        kept.pop("fetch", None)
    return kept | {"seeds": kept.get("seeds") or [url]}, withheld
