"""Keeps a key out of what others say: endpoints repeat a wrong one in their error messages. Pure."""

import json
from collections.abc import Callable
from typing import Final

SHOWN: Final = "[key]"


def hiding(key: str) -> Callable[[str], str]:
    """A function that takes the key out of a text, also as JSON writes it; without a key it changes nothing."""
    spellings = {key, json.dumps(key)[1:-1], key.replace("/", "\\/")} if key else set()
    # The longest first, since one may hold another.
    ordered = sorted(spellings, key=len, reverse=True)

    # A closure, since the repr of anything else would show what it holds.
    def hide(text: str) -> str:
        for spelling in ordered:
            text = text.replace(spelling, SHOWN)
        return text

    return hide
