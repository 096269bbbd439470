"""The embedded proxy and Toxiproxy 2.12.0 behave alike: every test runs on both, the original also as a container.

The tests named `on_purpose` say where they differ. Times are lower bounds, give or take the milliseconds by which
timers may differ; upper bounds are seconds away from what a delay would be.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from toxiproxy import Toxiproxy
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from tests.service.redis_servers import LOOPBACK
from tests.service.toxiproxy_servers import (
    EMBEDDED,
    FLAVOURS,
    Proxied,
    ToxiproxyServer,
    program_on_path,
    received,
    toxiproxy_running,
)

EARLY_S = 0.02
SOON_S = 2.0


@pytest.fixture(scope="module", params=FLAVOURS)
def running(request: pytest.FixtureRequest) -> Iterator[ToxiproxyServer]:
    with toxiproxy_running(request.param, "--seed", "7") as server:
        yield server


@pytest.fixture
def server(running: ToxiproxyServer) -> Iterator[ToxiproxyServer]:
    yield running
    running.clear()


@pytest.fixture
def api(server: ToxiproxyServer) -> httpx.Client:
    return server.api


@pytest.fixture
def link(server: ToxiproxyServer) -> Iterator[Proxied]:
    proxied = Proxied(server)
    yield proxied
    proxied.close()


def a_proxy(api: httpx.Client, name: str = "p", **fields: Any) -> dict[str, Any]:
    given = {"name": name, "listen": f"{LOOPBACK}:0", "upstream": "127.0.0.1:1", **fields}
    answer = api.post("/proxies", json=given)
    assert answer.status_code == 201
    return dict(answer.json())


def send_after(sock: socket.socket, data: bytes) -> float:
    sent_at = time.monotonic()
    sock.sendall(data)
    return sent_at


# ---- the API


def test_a_proxy_is_created_shown_listed_and_deleted(api: httpx.Client) -> None:
    made = a_proxy(api)
    assert list(made) == ["name", "listen", "upstream", "enabled", "Logger", "toxics"]
    assert made["listen"].startswith(f"{LOOPBACK}:")
    assert not made["listen"].endswith(":0")
    assert api.get("/proxies/p").json() == made
    assert api.get("/proxies").json() == {"p": made}
    deleted = api.delete("/proxies/p")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert api.get("/proxies").json() == {}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_proxy_is_updated_by_post_and_patch_and_keeps_what_is_not_given(api: httpx.Client, method: str) -> None:
    made = a_proxy(api)
    answer = api.request(method, "/proxies/p", json={"upstream": "127.0.0.1:2", "name": "other"})
    assert (answer.status_code, answer.json()) == (200, {**made, "upstream": "127.0.0.1:2"})
    assert api.request(method, "/proxies/p", json={"enabled": False}).json()["enabled"] is False


@pytest.mark.parametrize("listen", ["", ":0", "0.0.0.0:0"])
def test_a_wildcard_address_is_echoed_as_resolved(api: httpx.Client, listen: str) -> None:
    echoed = a_proxy(api, listen=listen)["listen"]
    assert echoed.startswith(("[::]:", "0.0.0.0:"))
    assert not echoed.endswith(":0")


def test_the_address_of_a_disabled_proxy_is_resolved_once_it_is_enabled(api: httpx.Client) -> None:
    assert a_proxy(api, listen="localhost:0", enabled=False)["listen"] == "localhost:0"
    assert api.patch("/proxies/p", json={"enabled": True}).json()["listen"].startswith(f"{LOOPBACK}:")


BAD_REQUESTS = [
    ("POST", "/proxies", '{"upstream":"u:1"}', 400, "missing required field: name"),
    ("POST", "/proxies", '{"name":"n"}', 400, "missing required field: upstream"),
    ("POST", "/proxies", "null", 400, "missing required field: name"),
    ("POST", "/proxies", "", 400, "bad request body: EOF"),
    ("POST", "/proxies", '{"name":', 400, "bad request body: unexpected EOF"),
    ("POST", "/proxies", '{"name":"p","upstream":"u:1"}', 409, "proxy already exists"),
    ("POST", "/proxies", '{"name":"n","upstream":"u:1","listen":"foo"}', 500, "listen tcp: address foo: missing port"),
    ("POST", "/proxies", '{"name":"n","upstream":"u:1","listen":"h:99999"}', 500, "listen tcp: address 99999: invalid"),
    ("PATCH", "/proxies/p", '{"listen":"foo"}', 500, "address foo: missing port in address"),
    ("PATCH", "/proxies/p", '{"enabled":"yes"}', 400, "bad request body: json: cannot unmarshal string"),
    ("GET", "/proxies/x", "", 404, "proxy not found"),
    ("PATCH", "/proxies/x", "", 404, "proxy not found"),
    ("DELETE", "/proxies/x", "", 404, "proxy not found"),
    ("GET", "/proxies/x/toxics", "", 404, "proxy not found"),
    ("POST", "/proxies/x/toxics", "", 404, "proxy not found"),
    ("GET", "/proxies/p/toxics/x", "", 404, "toxic not found"),
    ("PATCH", "/proxies/p/toxics/x", "[", 404, "toxic not found"),
    ("DELETE", "/proxies/p/toxics/x", "", 404, "toxic not found"),
    ("POST", "/proxies/p/toxics", "", 400, "bad request body: EOF"),
    ("POST", "/proxies/p/toxics", '{"type":"x"}', 400, "invalid toxic type"),
    ("POST", "/proxies/p/toxics", '{"type":"noop","stream":"x"}', 400, "stream was invalid, can be either upstream or"),
    ("POST", "/proxies/p/toxics", '{"type":"noop","toxicity":"x"}', 400, "bad request body: json: cannot unmarshal"),
    ("POST", "/proxies/p/toxics", '{"type":"noop","toxicity":1e40}', 400, "bad request body: json: cannot unmarshal"),
    (
        "POST",
        "/proxies/p/toxics",
        '{"type":"latency","attributes":[]}',
        400,
        "bad request body: json: cannot unmarshal",
    ),
    *(
        (
            "POST",
            "/proxies/p/toxics",
            f'{{"type":"latency","attributes":{{"latency":{number}}}}}',
            400,
            "bad request body",
        )
        for number in ("1.5", "1.0", "1e2", '"1"', "true", "9223372036854775808")
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), BAD_REQUESTS)
def test_an_error_has_its_status_its_sentence_and_its_type(  # noqa: PLR0917 - one column of the table each
    api: httpx.Client, method: str, path: str, body: str, status: int, message: str
) -> None:
    a_proxy(api)
    answer = api.request(method, path, content=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.endswith("}\n")
    assert set(answer.json()) == {"error", "status"}
    assert answer.json()["error"].startswith(message)
    assert answer.json()["status"] == status
    assert answer.headers["x-toxiproxy-request-id"]


def test_a_listener_on_a_busy_port_is_an_error_500_and_leaves_no_proxy(api: httpx.Client) -> None:
    with socket.create_server((LOOPBACK, 0)) as busy:
        address = f"{LOOPBACK}:{busy.getsockname()[1]}"
        answer = api.post("/proxies", json={"name": "p", "listen": address, "upstream": "u:1"})
    assert answer.status_code == 500
    assert answer.json()["error"] == f"listen tcp {address}: bind: address already in use"
    assert api.get("/proxies").json() == {}


def test_unknown_routes_and_methods_are_answered_as_by_a_go_router(api: httpx.Client) -> None:
    for path in ("/nowhere", "/proxies/", "/metrics"):
        answer = api.get(path)
        assert (answer.status_code, answer.text) == (404, "404 page not found\n")
    assert (api.put("/proxies").status_code, api.head("/proxies").status_code) == (405, 405)
    assert api.get("/proxies//p").headers["location"] == "/proxies/p"


def test_browsers_are_kept_out_and_every_answer_has_a_request_id(api: httpx.Client) -> None:
    refused = api.get("/proxies", headers={"User-Agent": "Mozilla/5.0"})
    assert (refused.status_code, refused.text) == (403, "User agent not allowed\n")
    ids = {answer.headers["x-toxiproxy-request-id"] for answer in (refused, api.get("/version"), api.post("/reset"))}
    assert len(ids) == 3


def test_the_version_is_json_with_a_charset(api: httpx.Client) -> None:
    answer = api.get("/version")
    assert (answer.text, answer.headers["content-type"]) == (
        '{"version": "2.12.0"}\n',
        "application/json;charset=utf-8",
    )


def test_keys_match_without_regard_to_case_unknown_ones_are_ignored_and_only_the_first_value_counts(
    api: httpx.Client,
) -> None:
    body = '{"NAME":"P<>&é","Upstream":"u:1","listen":null,"bogus":[1]} and more'
    made = api.post("/proxies", content=body.encode())
    assert made.status_code == 201
    assert made.text.startswith('{"name":"P\\u003c\\u003e\\u0026é",')
    assert api.delete("/proxies/P%3C%3E%26%C3%A9").status_code == 204


def test_a_toxic_has_defaults_and_is_answered_with_200(api: httpx.Client) -> None:
    a_proxy(api)
    made = api.post("/proxies/p/toxics", json={"type": "latency"})
    expected = '{"attributes":{"latency":0,"jitter":0},"name":"latency_downstream","type":"latency",'
    assert (made.status_code, made.text) == (200, expected + '"stream":"downstream","toxicity":1}')
    assert api.get("/proxies/p/toxics/latency_downstream").text == made.text
    assert api.delete("/proxies/p/toxics/latency_downstream").status_code == 204


ATTRIBUTES = {
    "latency": ["latency", "jitter"],
    "bandwidth": ["rate"],
    "slow_close": ["delay"],
    "timeout": ["timeout"],
    "reset_peer": ["timeout"],
    "slicer": ["average_size", "size_variation", "delay"],
    "limit_data": ["bytes"],
    "noop": [],
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_every_kind_of_toxic_echoes_its_attributes_in_order(api: httpx.Client, kind: str) -> None:
    a_proxy(api)
    given = {name: 9 - place for place, name in enumerate(ATTRIBUTES[kind])}
    made = api.post("/proxies/p/toxics", json={"type": kind, "attributes": given | {"bogus": 1}})
    assert list(made.json()["attributes"].items()) == list(given.items())


def test_a_toxics_stream_is_case_insensitive_and_kept_as_written(api: httpx.Client) -> None:
    a_proxy(api)
    api.post("/proxies/p/toxics", json={"type": "noop"})
    made = api.post("/proxies/p/toxics", json={"type": "noop", "stream": "UpStream", "toxicity": 0.1}).json()
    assert (made["name"], made["stream"], made["toxicity"]) == ("noop_UpStream", "UpStream", 0.1)
    # Upstream toxics come first, whenever they were made.
    assert [toxic["name"] for toxic in api.get("/proxies/p/toxics").json()] == ["noop_UpStream", "noop_downstream"]


def test_a_toxics_name_is_unique_over_both_streams_and_all_kinds(api: httpx.Client) -> None:
    a_proxy(api)
    api.post("/proxies/p/toxics", json={"type": "noop", "name": "t", "stream": "upstream"})
    again = api.post("/proxies/p/toxics", json={"type": "latency", "name": "t", "stream": "downstream"})
    assert (again.status_code, again.json()["error"]) == (409, "toxic already exists")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_toxic_is_updated_by_post_and_patch_and_attributes_are_merged(api: httpx.Client, method: str) -> None:
    a_proxy(api)
    made = api.post("/proxies/p/toxics", json={"type": "latency", "name": "t", "attributes": {"latency": 5}}).json()
    change = {
        "attributes": {"JITTER": 2, "latency": None},
        "toxicity": 0.25,
        "name": "x",
        "type": "noop",
        "stream": "x",
    }
    changed = api.request(method, "/proxies/p/toxics/t", json=change)
    assert changed.status_code == 200
    assert changed.json() == {**made, "attributes": {"latency": 5, "jitter": 2}, "toxicity": 0.25}


def test_populate_creates_and_leaves_alone_what_is_already_so(api: httpx.Client) -> None:
    made = a_proxy(api, "kept")
    api.post("/proxies/kept/toxics", json={"type": "noop"})
    api.patch("/proxies/kept", json={"enabled": False})
    entries = [
        {"name": "kept", "listen": made["listen"], "upstream": made["upstream"], "enabled": True},
        {"name": "new", "listen": f"{LOOPBACK}:0", "upstream": "u:1"},
        {"name": "off", "listen": f"{LOOPBACK}:0", "upstream": "u:1", "enabled": False},
    ]
    answer = api.post("/populate", json=entries)
    assert answer.status_code == 201
    told = [(proxy["name"], proxy["enabled"], len(proxy["toxics"])) for proxy in answer.json()["proxies"]]
    assert told == [("kept", False, 1), ("new", True, 0), ("off", False, 0)]


def test_populate_replaces_what_differs_and_its_toxics_are_lost(api: httpx.Client) -> None:
    made = a_proxy(api)
    api.post("/proxies/p/toxics", json={"type": "noop"})
    entry = {"name": "p", "listen": made["listen"], "upstream": "127.0.0.1:2"}
    (told,) = api.post("/populate", json=[entry]).json()["proxies"]
    assert (told["listen"], told["upstream"], told["toxics"]) == (made["listen"], "127.0.0.1:2", [])


@pytest.mark.parametrize(
    ("second", "field"), [({"name": "b"}, "upstream"), ({"upstream": "u:1"}, "name")], ids=["upstream", "name"]
)
def test_populate_checks_the_whole_list_first_and_counts_from_one(
    api: httpx.Client, second: dict[str, str], field: str
) -> None:
    answer = api.post("/populate", json=[{"name": "a", "upstream": "u:1"}, second])
    error = f"missing required field: {field} at proxy 2"
    assert (answer.status_code, answer.json()) == (400, {"error": error, "status": 400, "proxies": None})
    assert answer.headers["content-type"] == "application/json"
    assert api.get("/proxies").json() == {}


def test_populate_that_fails_halfway_keeps_and_tells_what_was_done(api: httpx.Client) -> None:
    with socket.create_server((LOOPBACK, 0)) as busy:
        taken = f"{LOOPBACK}:{busy.getsockname()[1]}"
        entries = [
            {"name": name, "listen": listen, "upstream": "u:1"}
            for name, listen in (("a", f"{LOOPBACK}:0"), ("b", taken), ("c", f"{LOOPBACK}:0"))
        ]
        answer = api.post("/populate", json=entries)
    assert (answer.status_code, answer.json()["status"]) == (500, 500)
    assert answer.json()["error"].endswith("address already in use")
    assert [proxy["name"] for proxy in answer.json()["proxies"]] == ["a"]
    assert list(api.get("/proxies").json()) == ["a"]


@pytest.mark.parametrize("body", ["[]", "null"])
def test_populate_of_nothing_is_201_and_tells_null(api: httpx.Client, body: str) -> None:
    answer = api.post("/populate", content=body)
    assert (answer.status_code, answer.text) == (201, '{"proxies":null}')


def test_reset_enables_every_proxy_and_removes_every_toxic(api: httpx.Client) -> None:
    for name in ("a", "b"):
        a_proxy(api, name)
        api.post(f"/proxies/{name}/toxics", json={"type": "noop"})
        api.post(f"/proxies/{name}/toxics", json={"type": "timeout", "stream": "upstream"})
        api.patch(f"/proxies/{name}", json={"enabled": False})
    answer = api.post("/reset")
    assert (answer.status_code, answer.content) == (204, b"")
    assert [(proxy["enabled"], proxy["toxics"]) for proxy in api.get("/proxies").json().values()] == [(True, [])] * 2


# ---- its clients


def test_toxiproxy_python_does_its_work(server: ToxiproxyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(APIConsumer, "host", LOOPBACK)
    monkeypatch.setattr(APIConsumer, "port", server.port)
    client = Toxiproxy()
    assert client.running()
    assert client.version() == b'{"version": "2.12.0"}\n'
    proxy = client.create(name="p", upstream="127.0.0.1:1")
    proxy.add_toxic(type="latency", attributes={"latency": 5, "jitter": 1})
    assert client.get_proxy("p").get_toxic("latency_downstream").attributes == {"latency": 5, "jitter": 1}
    with pytest.raises(ProxyExists):
        client.create(name="p", upstream="127.0.0.1:1")
    with pytest.raises(InvalidToxic):
        proxy.add_toxic(type="bogus")
    with pytest.raises(NotFound):
        proxy.destroy_toxic("bogus")
    proxy.disable()
    assert client.get_proxy("p").enabled is False
    assert client.reset()
    assert (client.get_proxy("p").enabled, client.get_proxy("p").toxics()) == (True, {})
    assert [made.name for made in client.populate([{"name": "q", "upstream": "u:1", "listen": f"{LOOPBACK}:0"}])] == [
        "q"
    ]
    client.destroy_all()
    assert client.proxies() == {}


def test_toxiproxy_cli_does_its_work(server: ToxiproxyServer) -> None:
    cli = program_on_path("toxiproxy-cli")

    def told(*words: str) -> str:
        done = subprocess.run(
            [cli, "-host", f"http://{LOOPBACK}:{server.port}", *words],
            capture_output=True,
            text=True,
            timeout=SOON_S * 5,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    told("create", "-l", f"{LOOPBACK}:0", "-u", "127.0.0.1:1", "p")
    told("toxic", "add", "-t", "latency", "-n", "t", "-tox", "0.5", "-a", "latency=5", "-a", "jitter=1", "-u", "p")
    told("toxic", "update", "-n", "t", "-tox", "0.25", "-a", "latency=9", "p")
    (toxic,) = server.api.get("/proxies/p/toxics").json()
    assert (toxic["attributes"], toxic["stream"], toxic["toxicity"]) == ({"latency": 9, "jitter": 1}, "upstream", 0.25)
    assert "t" in told("inspect", "p")
    told("toxic", "remove", "-n", "t", "p")
    told("toggle", "p")
    assert "disabled" in told("list")
    told("delete", "p")
    assert server.api.get("/proxies").json() == {}


# ---- connections


def test_data_passes_both_ways_unchanged(link: Proxied) -> None:
    client, served = link.connect()
    up, down = bytes(range(256)) * 1000, bytes(range(255, -1, -1)) * 1000
    with ThreadPoolExecutor(4) as pool:
        pool.submit(client.sendall, up)
        pool.submit(served.sendall, down)
        assert pool.submit(received, served, len(up)).result() == up
        assert pool.submit(received, client, len(down)).result() == down


def test_data_sent_before_the_upstream_is_there_waits_for_it(link: Proxied) -> None:
    for number in range(50):
        client = link.dial()
        client.sendall(bytes([number]))
        assert link.accept().recv(1) == bytes([number])


@pytest.mark.parametrize("half", [True, False], ids=["half-close", "close"])
def test_the_end_of_the_stream_on_one_side_closes_the_other_whole(link: Proxied, half: bool) -> None:
    client, served = link.connect()
    client.sendall(b"bye")
    if half:
        client.shutdown(socket.SHUT_WR)
    else:
        client.close()
    assert received(served, 4) == b"bye"
    if half:
        # The answer is lost: half a close is not passed on.
        served.sendall(b"answer")
        assert client.recv(10) == b""


def test_an_upstream_that_refuses_closes_the_client_after_its_connect(link: Proxied) -> None:
    link.close_listener()
    assert link.dial().recv(1) == b""


def test_disabling_closes_every_connection_and_refuses_new_ones_until_enabled(link: Proxied) -> None:
    pairs = [link.connect() for _ in range(3)]
    link.request("PATCH", link.path, enabled=False)
    assert [sock.recv(1) for pair in pairs for sock in pair] == [b""] * 6
    with pytest.raises(ConnectionRefusedError):
        link.dial()
    link.request("PATCH", link.path, enabled=True)
    client, served = link.connect()
    client.sendall(b"x")
    assert served.recv(1) == b"x"


def test_clients_that_arrive_while_a_proxy_is_disabled_are_all_let_go(link: Proxied) -> None:
    for _ in range(30):
        clients = [link.dial() for _ in range(4)]
        link.request("PATCH", link.path, enabled=False)
        for client in clients:
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                # It was still waiting to be accepted.
                continue
        link.request("PATCH", link.path, enabled=True)


def test_deleting_a_proxy_or_moving_its_upstream_closes_its_connections(link: Proxied) -> None:
    client, served = link.connect()
    link.request("PATCH", link.path, upstream="127.0.0.1:1")
    assert (client.recv(1), served.recv(1)) == (b"", b"")
    link.request("PATCH", link.path, upstream=link.upstream)
    client, served = link.connect()
    link.request("DELETE", link.path)
    assert (client.recv(1), served.recv(1)) == (b"", b"")


# ---- toxics


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_latency_holds_one_direction(link: Proxied, stream: str) -> None:
    link.add("latency", latency=300, stream=stream)
    client, served = link.connect()
    slow, fast = ((client, served), (served, client))[:: 1 if stream == "upstream" else -1]
    slow_at = send_after(slow[0], b"slow")
    fast[0].sendall(b"fast")
    assert received(fast[1], 4) == b"fast"
    assert received(slow[1], 4) == b"slow"
    assert time.monotonic() - slow_at >= 0.3 - EARLY_S


def test_latency_counts_from_arrival_so_that_chunks_do_not_add_up(link: Proxied) -> None:
    link.add("latency", latency=300)
    client, served = link.connect()
    first_at = time.monotonic()
    for number in range(20):
        served.sendall(bytes([number]))
        time.sleep(0.01)
    assert received(client, 20) == bytes(range(20))
    assert 0.3 - EARLY_S <= time.monotonic() - first_at < SOON_S


def test_two_latencies_add_up(link: Proxied) -> None:
    link.add("latency", latency=150, name="one")
    link.add("latency", latency=150, name="two")
    client, served = link.connect()
    sent_at = send_after(served, b"x")
    assert client.recv(1) == b"x"
    assert time.monotonic() - sent_at >= 0.3 - EARLY_S


def test_jitter_keeps_the_order_and_a_negative_delay_is_none(link: Proxied) -> None:
    link.add("latency", latency=-50, jitter=100)
    client, served = link.connect()
    for number in range(20):
        served.sendall(bytes([number]))
        time.sleep(0.005)
    assert received(client, 20) == bytes(range(20))


def test_bandwidth_paces_data(link: Proxied) -> None:
    link.add("bandwidth", rate=200)
    client, served = link.connect()
    sent_at = send_after(served, b"x" * 80_000)
    assert len(received(client, 80_000)) == 80_000
    assert 0.4 - 0.1 <= time.monotonic() - sent_at < SOON_S


def test_bandwidth_is_not_shared_by_connections(link: Proxied) -> None:
    link.add("bandwidth", rate=100)
    pairs = [link.connect() for _ in range(10)]
    started_at = time.monotonic()
    for _, served in pairs:
        served.sendall(b"x" * 30_000)
    assert [len(received(client, 30_000)) for client, _ in pairs] == [30_000] * 10
    assert time.monotonic() - started_at < SOON_S


def test_bandwidth_of_zero_stalls_and_its_removal_lets_everything_through(link: Proxied) -> None:
    link.add("bandwidth", rate=0, name="stall")
    client, served = link.connect()
    data = bytes(range(256)) * 500
    served.sendall(data)
    client.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(SOON_S * 5)
    link.remove("stall")
    assert received(client, len(data)) == data


def test_slow_close_holds_the_end_but_no_data(link: Proxied) -> None:
    link.add("slow_close", delay=300)
    client, served = link.connect()
    closed_at = send_after(served, b"data")
    served.close()
    assert received(client, 4) == b"data"
    assert client.recv(1) == b""
    assert time.monotonic() - closed_at >= 0.3 - EARLY_S


def test_removing_slow_close_ends_its_wait(link: Proxied) -> None:
    link.add("slow_close", delay=60_000, name="slow")
    client, served = link.connect()
    served.close()
    time.sleep(0.2)
    link.remove("slow")
    assert client.recv(1) == b""


def test_timeout_drops_data_and_closes_after_silence(link: Proxied) -> None:
    link.add("timeout", timeout=300)
    started_at = time.monotonic()
    client, served = link.connect()
    for _ in range(6):
        served.sendall(b"lost")
        time.sleep(0.1)
    silent_at = time.monotonic() - 0.1
    assert client.recv(1) == b""
    # The clock began anew with each chunk.
    assert time.monotonic() - silent_at >= 0.3 - EARLY_S
    assert time.monotonic() - started_at >= 0.8


def test_timeout_of_zero_never_closes_and_its_removal_does(link: Proxied) -> None:
    link.add("timeout", timeout=0, name="hole")
    client, served = link.connect()
    served.sendall(b"lost")
    client.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(SOON_S * 5)
    link.remove("hole")
    assert client.recv(1) == b""


def test_removing_timeout_closes_the_connections_it_spared_too(link: Proxied) -> None:
    link.add("timeout", timeout=0, name="hole", toxicity=0)
    client, served = link.connect()
    served.sendall(b"x")
    assert client.recv(1) == b"x"
    link.remove("hole")
    assert client.recv(1) == b""


def test_reset_peer_resets_a_while_after_the_first_data(link: Proxied) -> None:
    link.add("reset_peer", timeout=200)
    client, served = link.connect()
    time.sleep(0.3)
    sent_at = send_after(served, b"lost")
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    assert time.monotonic() - sent_at >= 0.2 - EARLY_S
    with pytest.raises(ConnectionResetError):
        served.recv(1)


def test_reset_peer_only_closes_the_connections_older_than_itself(link: Proxied) -> None:
    client, served = link.connect()
    served.sendall(b"a")
    assert client.recv(1) == b"a"
    link.add("reset_peer", timeout=0)
    served.sendall(b"lost")
    assert client.recv(1) == b""


def test_reset_peer_makes_the_close_of_a_spared_connection_a_reset(link: Proxied) -> None:
    link.add("reset_peer", timeout=0, toxicity=0)
    client, served = link.connect()
    served.sendall(b"a")
    assert client.recv(1) == b"a"
    served.close()
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_slicer_cuts_with_pauses_in_microseconds_and_loses_nothing(link: Proxied) -> None:
    link.add("slicer", average_size=100, size_variation=20, delay=10_000)
    client, served = link.connect()
    data = bytes(range(250)) * 10
    sent_at = send_after(served, data)
    pieces: list[bytes] = []
    while len(b"".join(pieces)) < len(data):
        pieces.append(client.recv(len(data)))
    assert b"".join(pieces) == data
    # 2,500 bytes in pieces of at most 120 are at least 21, with 20 pauses between.
    assert time.monotonic() - sent_at >= 0.2 - EARLY_S
    assert len(pieces) > 5


def test_limit_data_passes_exactly_its_bytes_and_its_count_survives_an_update(link: Proxied) -> None:
    link.add("limit_data", bytes=100, name="limit")
    client, served = link.connect()
    served.sendall(b"x" * 60)
    assert len(received(client, 60)) == 60
    link.update("limit", attributes={"bytes": 80})
    served.sendall(b"y" * 60)
    assert received(client, 100) == b"y" * 20
    assert client.recv(1) == b""


def test_limit_data_of_zero_closes_at_the_first_chunk_and_not_before(link: Proxied) -> None:
    link.add("limit_data", bytes=0)
    client, served = link.connect()
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(SOON_S * 5)
    served.sendall(b"x")
    assert client.recv(1) == b""


def test_noop_and_a_toxicity_of_zero_change_nothing(link: Proxied) -> None:
    link.add("noop")
    link.add("timeout", timeout=0, toxicity=0)
    client, served = link.connect()
    served.sendall(b"hello")
    assert received(client, 5) == b"hello"


def test_toxicity_is_drawn_once_a_connection(link: Proxied) -> None:
    link.add("limit_data", bytes=1, toxicity=0.5)
    cut = 0
    for _ in range(40):
        client, served = link.connect()
        served.sendall(b"ab")
        cut += len(received(client, 2)) == 1
    # A fair coin gives 0 or 40 of 40 once in half a billion runs.
    assert 0 < cut < 40


def test_an_update_acts_on_open_connections(link: Proxied) -> None:
    link.add("timeout", timeout=0, name="hole", toxicity=0)
    client, served = link.connect()
    served.sendall(b"x")
    assert client.recv(1) == b"x"
    link.update("hole", toxicity=1, attributes={"timeout": 100})
    assert client.recv(1) == b""


def test_removing_latency_lets_go_what_it_holds(link: Proxied) -> None:
    link.add("latency", latency=60_000, name="late")
    client, served = link.connect()
    for number in range(5):
        served.sendall(bytes([number]))
        time.sleep(0.02)
    link.remove("late")
    assert received(client, 5) == bytes(range(5))


def test_toxics_come_change_and_go_on_a_busy_connection_and_no_byte_is_lost(link: Proxied) -> None:
    client, served = link.connect()
    data = bytes(range(256)) * 4000
    with ThreadPoolExecutor(2) as pool:
        pool.submit(served.sendall, data)
        arrived = pool.submit(received, client, len(data))
        for _ in range(4):
            link.add("latency", latency=20, jitter=10, name="a")
            link.add("slicer", average_size=700, size_variation=100, delay=10, name="b")
            link.add("bandwidth", rate=2000, name="c")
            link.update("a", attributes={"latency": 30}, toxicity=0.5)
            time.sleep(0.02)
            link.remove("b")
            link.remove("a")
            link.update("c", attributes={"rate": 5000})
            link.remove("c")
        assert arrived.result() == data


# ---- where the two differ, on purpose


def on_embedded(server: ToxiproxyServer, embedded: Any, original: Any) -> Any:
    return embedded if server.flavour == EMBEDDED else original


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("slicer", {"average_size": 0}),
        ("slicer", {"average_size": 5, "size_variation": 5}),
        ("bandwidth", {"rate": -1}),
        ("latency", {"jitter": 2**62}),
    ],
)
def test_on_purpose_attributes_that_crash_toxiproxy_are_refused(
    server: ToxiproxyServer, kind: str, attributes: dict[str, int]
) -> None:
    a_proxy(server.api)
    answer = server.api.post("/proxies/p/toxics", json={"type": kind, "attributes": attributes})
    assert answer.status_code == on_embedded(server, 400, 200)


def test_on_purpose_a_refused_update_changes_nothing(server: ToxiproxyServer) -> None:
    a_proxy(server.api)
    server.api.post("/proxies/p/toxics", json={"type": "latency", "name": "t"})
    refused = server.api.patch("/proxies/p/toxics/t", json={"attributes": {"latency": 9, "jitter": 1.5}})
    assert refused.status_code == 400
    kept = server.api.get("/proxies/p/toxics/t").json()["attributes"]["latency"]
    assert kept == on_embedded(server, 0, 9)


def test_on_purpose_connections_are_counted_and_so_are_those_a_toxic_touched(link: Proxied) -> None:
    link.add("limit_data", bytes=10, name="limit")
    link.connect()
    client, served = link.connect()
    client.sendall(b"abc")
    assert received(served, 3) == b"abc"
    served.sendall(b"x" * 50)
    assert len(received(client, 20)) == 10
    answer = link.server.api.get("/lab/connections")
    assert answer.status_code == on_embedded(link.server, 200, 404)
    if link.server.flavour == EMBEDDED:
        counts = answer.json()["link"]
        assert counts["connections_accepted"] == 2
        assert counts["received_bytes"] == {"upstream": 3, "downstream": 50}
        assert counts["sent_bytes"] == {"upstream": 3, "downstream": 10}
        assert counts["toxics"] == {"limit": 1}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_on_purpose_the_config_file_may_hold_toxics(flavour: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        f'[{{"name":"p","listen":"{LOOPBACK}:0","upstream":"u:1","toxics":[{{"type":"latency","attributes":{{"latency":5}}}}]}}]'
    )
    with toxiproxy_running(flavour, "--config", str(config)) as server:
        names = [toxic["name"] for toxic in server.api.get("/proxies/p/toxics").json()]
    assert names == (["latency_downstream"] if flavour == EMBEDDED else [])


def test_on_purpose_the_seed_decides_which_connections_a_toxic_hits() -> None:
    def hits(seed: str) -> list[int]:
        with toxiproxy_running(EMBEDDED, "--seed", seed) as server:
            link = Proxied(server)
            link.add("limit_data", bytes=1, toxicity=0.5)
            sizes = []
            for _ in range(24):
                client, served = link.connect()
                served.sendall(b"ab")
                sizes.append(len(received(client, 2)))
            link.close()
        return sizes

    assert hits("7") == hits("7")
    assert hits("7") != hits("8")


def test_on_purpose_a_black_hole_upstream_blocks_neither_the_api_nor_other_clients(link: Proxied) -> None:
    if link.server.flavour != EMBEDDED:
        pytest.skip("Toxiproxy dials inside its accept loop, and would hold the API up for minutes")
    with socket.socket() as hole:
        hole.bind((LOOPBACK, 0))
        hole.listen(0)
        address = hole.getsockname()
        # A backlog that is full does not answer the next SYN.
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        link.request("PATCH", link.path, upstream=f"{LOOPBACK}:{address[1]}")
        waiting = link.dial()
        link.request("PATCH", link.path, upstream=link.upstream)
        client, served = link.connect()
        client.sendall(b"x")
        assert served.recv(1) == b"x"
        assert waiting.recv(1) == b""
        for filler in fillers:
            filler.close()
