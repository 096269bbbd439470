"""A scenario's text with other thresholds: comments, order and style of everything else stay as they were written."""

import io
from collections.abc import Mapping

from ruamel.yaml import YAML

WIDTH = 120


def with_policy_values(text: str, name: str, changes: Mapping[str, Mapping[str, str | int]]) -> str:
    """The text of a valid scenario, called `name`, with keys of some policies set; `changes` are by letter and key."""
    yaml = YAML(typ="rt")
    yaml.width = WIDTH
    yaml.preserve_quotes = True
    # As the shipped scenarios write lists.
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(text)
    document["name"] = name
    for letter, values in changes.items():
        for key, value in values.items():
            document["policies"][letter][key] = value
    written = io.StringIO()
    yaml.dump(document, written)
    return written.getvalue()
