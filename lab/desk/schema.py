"""`shedlab schema`: the JSON Schema of scenario files, generated from the models."""

import json

from lab.contract.names import EXIT_OK
from lab.contract.scenario import Scenario


def print_schema() -> int:
    """Prints the schema; `make schema` keeps scenarios/scenario.schema.json equal to it."""
    print(json.dumps(Scenario.model_json_schema(by_alias=True), indent=2, ensure_ascii=False))
    return EXIT_OK
