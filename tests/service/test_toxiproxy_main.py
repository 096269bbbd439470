"""The command line of the embedded proxy, and of the original where they agree."""

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.service.redis_servers import LOOPBACK
from tests.service.toxiproxy_servers import (
    EMBEDDED,
    PROGRAMS,
    PROJECT_ROOT,
    Proxied,
    command_of,
    toxiproxy_running,
)

ENDS_WITHIN_S = 15


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command_of(EMBEDDED), *flags],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )


@pytest.mark.parametrize("flavour", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_closes_its_connections(flavour: str, number: signal.Signals) -> None:
    with toxiproxy_running(flavour) as server:
        link = Proxied(server)
        client, _ = link.connect()
        server.process.send_signal(number)
        assert server.process.wait(ENDS_WITHIN_S) == 0
        assert client.recv(1) == b""
        link.close()
        if flavour == EMBEDDED:
            assert server.process.stderr is not None
            (said,) = server.process.stderr.read().splitlines()
            assert said.startswith(f"listening on {LOOPBACK}:{server.port}, seed ")


@pytest.mark.parametrize("flavour", PROGRAMS)
@pytest.mark.parametrize("flag", ["-version", "--version"])
def test_the_version_is_the_same(flavour: str, flag: str) -> None:
    done = subprocess.run(
        [*command_of(flavour), flag],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=True,
    )
    assert done.stdout.startswith("toxiproxy-server version 2.12.0")


def test_a_busy_port_is_one_sentence_and_status_3() -> None:
    with socket.create_server((LOOPBACK, 0)) as busy:
        busy_port = busy.getsockname()[1]
        done = run("--host", LOOPBACK, "--port", str(busy_port))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert f"{LOOPBACK}:{busy_port}" in done.stderr
    assert "in use" in done.stderr


BROKEN = {
    "not JSON": "{",
    "no array": "{}",
    "no name": '[{"upstream":"u:1"}]',
    "no such toxic": '[{"name":"p","upstream":"u:1","toxics":[{"type":"bogus"}]}]',
    "two toxics of one name": '[{"name":"p","upstream":"u:1","toxics":[{"type":"noop"},{"type":"noop"}]}]',
    "toxics no list": '[{"name":"p","upstream":"u:1","toxics":5}]',
    "a toxic no object": '[{"name":"p","upstream":"u:1","toxics":[5]}]',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_config_is_one_sentence_that_names_the_file_and_status_2(text: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(text)
    done = run("--port", "0", "--config", str(config))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(config) in done.stderr


def test_a_config_that_is_not_there_is_one_sentence_and_status_2(tmp_path: Path) -> None:
    done = run("--port", "0", "--config", str(tmp_path / "none.json"))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_proxy_of_the_config_on_a_busy_port_is_one_sentence_and_status_3(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    with socket.create_server((LOOPBACK, 0)) as busy:
        config.write_text(f'[{{"name":"p","upstream":"u:1","listen":"{LOOPBACK}:{busy.getsockname()[1]}"}}]')
        done = run("--port", "0", "--config", str(config))
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)
    assert "address already in use" in done.stderr


@pytest.mark.parametrize("flags", [("--port", "x"), ("--port", "70000"), ("--seed", "x"), ("--bogus",)])
def test_wrong_usage_is_status_2(flags: tuple[str, ...]) -> None:
    done = run(*flags)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
