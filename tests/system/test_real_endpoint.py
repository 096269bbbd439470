"""A whole drill against an endpoint that is not the lab's: a second mock behind TLS, under an authority of its own."""

from pathlib import Path

import pytest

from tests.service.model_thread import running_model
from tests.service.tls import Authority
from tests.system.drills import LATENCY, events, report, stack_processes, start, write_drill

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

KEY = "sk-planted-0123456789"
MODEL_FAULT = "[{kind: model, at: 1s, for: 1s, slow_factor: 2}]"


def test_workers_reach_a_tls_endpoint_by_the_proxy_and_the_report_says_whose_numbers_these_are(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert_file, key_file = authority.certificate("localhost")
    with running_model(TLS_CERT_FILE=cert_file, TLS_KEY_FILE=key_file) as url:
        address = f"localhost:{url.rpartition(':')[2]}"
        told = {"MODEL_URL": f"https://{address}/v1", "MODEL_API_KEY": KEY, "MODEL_CA_FILE": str(authority.file)}
        run = start(write_drill(tmp_path, faults=LATENCY), tmp_path / "reports", variables=told)
        code, said = run.finish()
    assert code == 0, said
    assert events(run, "A-1", "run")[0]["endpoint"] == f"https://{address}"
    assert report(run.run_dir)["sandbox_observation"] is True
    assert f"A sandbox observation: https://{address} answered" in said
    assert {event["outcome"] for event in events(run, "A-1", "outcome")} == {"ok"}
    # The latency toxic lies between worker and endpoint, so the calls went through the proxy.
    began, ended = (event["applied_at"] for event in events(run, "A-1", "fault"))
    slowed = [e["ttft_s"] for e in events(run, "A-1", "attempt") if began + 0.2 < e["started_at"] < ended - 0.3]
    assert slowed
    assert min(slowed) >= 0.1
    written = [path for path in run.run_dir.rglob("*") if path.is_file() and KEY in path.read_text(errors="replace")]
    assert written == []
    assert KEY not in said
    assert stack_processes(run.run_dir) == []


def test_a_fault_of_the_model_itself_is_refused_for_an_endpoint_that_is_not_ours(tmp_path: Path) -> None:
    told = {"MODEL_URL": "https://api.example.com/v1", "MODEL_API_KEY": KEY}
    run = start(write_drill(tmp_path, faults=MODEL_FAULT), tmp_path / "reports", variables=told)
    code, said = run.finish()
    assert code == 3
    assert "has a fault of the model itself, which https://api.example.com:443 will not do for us" in said
    assert KEY not in said
