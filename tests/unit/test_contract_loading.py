"""Whatever is wrong in a scenario file becomes one sentence with its line."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from lab.contract.loading import MAX_SCENARIO_BYTES, ScenarioError, load_scenario, parse_scenario

# Line numbers below count from the first line of this text.
VALID = """\
name: sound
summary: A sound scenario.
slo: {within: 3.5s}
stack: {workers: 2}
workload:
  seed: 7
  duration: 60s
  arrivals:
    kind: poisson
    rate: 10/s
  classes:
    chat:
      weight: 1
      output_tokens: {kind: uniform, low: 10, high: 90}
      service: {kind: constant, time: 100ms}
      deadline: 7s
faults:
  - kind: latency
    at: 20s
    for: 20s
    latency: 800ms
policies:
  A: {kind: none}
  B: {kind: queue_age, max_age: 2s}
expect:
  A: {verdict: breached}
"""

# (id, what is replaced, by what, the sentence after the file's name)
BAD: list[tuple[str, str, str, str]] = [
    (
        "unknown key",
        "slo: {within: 3.5s}",
        "slo: {within: 3.5s, percentil: 99}",
        "3: slo.percentil: is not a known key; did you mean 'percentile'?",
    ),
    (
        "unknown key like no other",
        "stack: {workers: 2}",
        "client: {colour: red}",
        "4: client.colour: is not a known key; known here are answer_timeout",
    ),
    ("missing key", "  seed: 7\n", "", "5: workload.seed: is missing; add this key"),
    ("missing key of the file", "name: sound\n", "", "1: name: is missing; add this key"),
    (
        "missing unit of a duration",
        "latency: 800ms",
        "latency: 800",
        (
            "21: faults[0].latency: 800 is not a duration; "
            "write a number that is not negative and a unit, such as 350ms, 2s or 5m"
        ),
    ),
    (
        "missing unit of a deadline",
        "deadline: 7s",
        "deadline: 7",
        (
            "16: workload.classes.chat.deadline: 7 is not a duration; "
            "write a number that is not negative and a unit, such as 350ms, 2s or 5m"
        ),
    ),
    (
        "missing unit of a rate",
        "rate: 10/s",
        "rate: 10",
        (
            "10: workload.arrivals.rate: 10 is not a rate; "
            "write a number that is not negative and a unit, such as 40/s or 6/m"
        ),
    ),
    (
        "negative rate",
        "rate: 10/s",
        "rate: -1/s",
        (
            "10: workload.arrivals.rate: '-1/s' is not a rate; "
            "write a number that is not negative and a unit, such as 40/s or 6/m"
        ),
    ),
    (
        "count too small",
        "workers: 2",
        "workers: 0",
        "4: stack.workers: input should be greater than or equal to 1, not 0",
    ),
    (
        "weights sum to zero",
        "weight: 1",
        "weight: 0",
        "11: workload.classes: the weights of all classes sum to 0; give at least one class a weight above 0",
    ),
    (
        "fault past the end",
        "    for: 20s",
        "    for: 50s",
        (
            "20: faults[0].for: this fault ends at 70 s, past the end of the workload at 60 s; "
            "shorten it or lengthen workload.duration"
        ),
    ),
    (
        "unknown policy",
        "kind: queue_age,",
        "kind: queue_agee,",
        (
            "24: policies.B: kind 'queue_agee' is unknown; "
            "known are 'none', 'queue_age', 'queue_depth', 'utilization', 'deadline_slack', 'slack_v1', 'age_or_full'; "
            "did you mean 'queue_age'?"
        ),
    ),
    ("policy without a kind", "A: {kind: none}", "A: {}", "23: policies.A: needs `kind:`"),
    ("policy that is text", "A: {kind: none}", "A: none", "23: policies.A: must be a mapping of keys, not 'none'"),
    (
        "letter that is none",
        "  A: {kind: none}",
        "  AB: {kind: none}",
        "23: policies.AB: 'AB' does not match ^[A-Z]$",
    ),
    (
        "expectation of no policy",
        "  A: {verdict",
        "  Q: {verdict",
        "26: expect.Q: policy Q is not declared; declared are A, B",
    ),
    (
        "range upside down",
        "low: 10, high: 90",
        "low: 90, high: 10",
        "14: workload.classes.chat.output_tokens.low: low is 90 and high is 10; low must not be above high",
    ),
    (
        "deadline upside down",
        "deadline: 7s",
        "deadline: {low: 7s, high: 2s}",
        "16: workload.classes.chat.deadline.low: low is 7 s and high is 2 s; low must not be above high",
    ),
    (
        "worker that is not there",
        "kind: latency\n    at: 20s\n    for: 20s\n    latency: 800ms",
        "{kind: process, at: 1s, for: 1s, service: worker, action: kill, index: 3}",
        "18: faults[0].index: there is no worker 3; the stack has 2",
    ),
    (
        "class that is not there",
        "kind: latency\n    at: 20s\n    for: 20s\n    latency: 800ms",
        "{kind: model, at: 1s, for: 1s, classes: [caht]}",
        "18: faults[0].classes: class 'caht' is not declared; declared are chat",
    ),
    (
        "bound without a bound",
        "verdict: breached",
        "verdict: held, bounds: [{measure: shed_rate}]",
        "26: expect.A.bounds[0]: this expectation bounds nothing; give at_least, at_most or both",
    ),
    ("list where keys belong", "slo: {within: 3.5s}", "slo: [1]", "3: slo: must be a mapping of keys, not a list"),
    (
        "keys where a list belongs",
        "  - kind: latency\n    at: 20s\n    for: 20s\n    latency: 800ms",
        "  kind: latency",
        "17: faults: must be a list, not a mapping",
    ),
    (
        "stages too short",
        "kind: poisson\n    rate: 10/s",
        "kind: stages\n    stages: [{lasts: 50s, start_rate: 1/s, end_rate: 1/s}]",
        "10: workload.arrivals.stages: the stages last 50 s and duration is 60 s; they must be equal",
    ),
    (
        "duplicate key",
        "expect:\n",
        "name: twice\nexpect:\n",
        '25: is not YAML: found duplicate key "name" with value "twice" (original value: "sound"); keep one of the two',
    ),
    (
        "tab",
        "  seed: 7",
        "\tseed: 7",
        "6: is not YAML: a tab stands where YAML allows only spaces; indent with spaces",
    ),
    (
        "second document",
        "expect:",
        "---\nexpect:",
        "25: is not YAML: a second document begins here; a file holds one scenario",
    ),
    ("key that is no text", "stack: {workers: 2}", "1: x", "4: [1]: keys should be strings, not 1"),
]


@pytest.mark.parametrize(("right", "wrong", "sentence"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_mistake_is_one_sentence_with_its_line(right: str, wrong: str, sentence: str) -> None:
    assert VALID.count(right) == 1
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(VALID.replace(right, wrong), "bad.yaml")
    assert str(raised.value) == f"bad.yaml:{sentence}"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("2026-01-01", "a date"),
        ("2026-01-01 10:00:00", "a date"),
        ("true", "true or false"),
        ("False", "true or false"),
        ("1.50", "a number"),
        ("1e3", "a number"),
        ("010", "a number"),
        ("0o17", "a number"),
        ("0x1F", "a number"),
        (".inf", "a number"),
    ],
)
def test_a_name_that_yaml_takes_for_something_else_is_told_in_the_users_own_words(word: str, kind: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(VALID.replace("name: sound", f"name: {word}"), "bad.yaml")
    remedy = f'put it in quotes: "{word}"'
    assert str(raised.value) == f"bad.yaml:1: name: {word} is {kind} to YAML, and this must be text; {remedy}"


@pytest.mark.parametrize(("word", "shown"), [("null", "null"), ("~", "~"), ("", "nothing")])
def test_a_name_without_a_value_is_told_so(word: str, shown: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(VALID.replace("name: sound", f"name: {word}"), "bad.yaml")
    said = f"{shown} is no value to YAML, and this must be text; write a text"
    assert str(raised.value) == f"bad.yaml:1: name: {said}"


@pytest.mark.parametrize("word", ["on", "no", "off", "yes"])
def test_words_that_older_yaml_took_for_true_or_false_are_names(word: str) -> None:
    assert parse_scenario(VALID.replace("name: sound", f"name: {word}"), "fine.yaml").name == word


@pytest.mark.parametrize("word", ["2026-01-01", "010", "0x1F", "true", "null", "1e3"])
def test_a_duration_that_yaml_takes_for_something_else_is_told_in_the_users_own_words(word: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(VALID.replace("at: 20s", f"at: {word}"), "bad.yaml")
    assert f"{word} is not a duration" in str(raised.value)
    assert "datetime" not in str(raised.value)


def test_several_mistakes_are_a_sentence_each() -> None:
    text = VALID.replace("workers: 2", "workers: 0").replace("seed: 7", "seed: -1")
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "bad.yaml")
    assert [line.split(":")[1] for line in str(raised.value).splitlines()] == ["4", "6"]


def test_a_key_merged_in_is_named_at_the_mapping_that_merges_it() -> None:
    text = VALID.replace("  A: {kind: none}", "  A: &odd {kind: none, max: 2}").replace(
        "  B: {kind: queue_age, max_age: 2s}", "  B:\n    <<: *odd"
    )
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(text, "bad.yaml")
    assert [line.split(":")[1] for line in str(raised.value).splitlines()] == ["23", "25"]


@pytest.mark.parametrize("text", ["", "- a\n", "just words\n", "# only a comment\n"])
def test_a_file_that_holds_no_keys_says_how_a_scenario_begins(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^bad\.yaml:1: is not a mapping of keys; a scenario starts with `name:`"):
        parse_scenario(text, "bad.yaml")


def test_aliases_of_aliases_do_not_fill_the_memory() -> None:
    letters = "abcdefghijkl"
    lines = [f"{letter}: &{letter} [{', '.join([f'*{before}'] * 10)}]" for before, letter in pairwise(letters)]
    bomb = "\n".join([f"a: &a [{', '.join('1' * 10)}]", *lines])
    with pytest.raises(
        ScenarioError, match=r"^bad\.yaml:1: holds more than 20,000 values once its aliases are written out$"
    ):
        parse_scenario(f"{bomb}\n{VALID}", "bad.yaml")


def test_an_alias_of_itself_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^bad\.yaml:1: loop: is not a known key"):
        parse_scenario(f"loop: &loop [*loop]\n{VALID}", "bad.yaml")


def test_a_key_called_like_its_kind_is_named_at_its_own_line() -> None:
    with pytest.raises(ScenarioError, match=r"^bad\.yaml:21: faults\[0\]\.latency: "):
        parse_scenario(VALID.replace("latency: 800ms", "latency: soon"), "bad.yaml")


def test_an_honest_alias_is_fine() -> None:
    text = VALID.replace("A: {kind: none}", "A: &none {kind: none}").replace("{kind: queue_age, max_age: 2s}", "*none")
    assert parse_scenario(text, "fine.yaml").policies["B"].kind == "none"


def test_brackets_without_end_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^bad\.yaml:1: is nested too deeply for a scenario$"):
        parse_scenario("a: " + "[" * 3000, "bad.yaml")


def test_a_control_character_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^bad\.yaml:1: is not YAML: unacceptable character"):
        parse_scenario(VALID.replace("A sound", "\x01"), "bad.yaml")


@pytest.fixture(name="file")
def file_to_write(tmp_path: Path) -> Path:
    return tmp_path / "bad.yaml"


def test_a_sound_file_is_read_with_its_text_and_hash(file: Path) -> None:
    file.write_text(VALID, encoding="utf-8")
    loaded = load_scenario(file)
    assert (loaded.scenario.name, loaded.text, loaded.path) == ("sound", VALID, file)
    assert len(loaded.sha256) == 64


def test_a_byte_order_mark_and_windows_line_ends_are_fine(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode())
    assert load_scenario(file).scenario.name == "sound"


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        load_scenario(file)
    assert str(raised.value) == f"{file}: cannot be read: No such file or directory; give the path of a scenario file"


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        load_scenario(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(file: Path) -> None:
    file.write_text(VALID, encoding="utf-8")
    file.chmod(0)
    with pytest.raises(ScenarioError, match="cannot be read: Permission denied"):
        load_scenario(file)


def test_a_huge_file_is_refused_before_it_is_parsed(file: Path) -> None:
    file.write_text("#" * (MAX_SCENARIO_BYTES + 1), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"is larger than 100,000 bytes; a scenario is a short YAML file"):
        load_scenario(file)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(ScenarioError, match="is larger than"):
        load_scenario(Path("/dev/zero"))


def test_bytes_that_are_no_utf_8_are_named_by_line(file: Path) -> None:
    file.write_bytes(b"name: ok\nsummary: caf\xe9\n")
    with pytest.raises(ScenarioError) as raised:
        load_scenario(file)
    assert str(raised.value) == f"{file}:2: is not UTF-8 text; a scenario is a YAML file in UTF-8"
