"""Alerts: once per incident, never a secret, delivered to a server of this machine."""

import json
import logging
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tcg_core.alerts.channels import LogChannel
from tcg_core.alerts.incidents import channels, incident, notify, open_incidents, resolve, resolve_subject
from tcg_core.alerts.redact import redact
from tcg_core.alerts.remedies import FIRST, first_step
from tcg_core.alerts.webhook import Webhook
from tcg_core.base.errors import ConfigError, IntegrityError
from tcg_core.train.errors import Unfinished

CANARY = "canary-5f3a9c71e8"


@contextmanager
def server(status=200, headers=()):
    """A webhook on the loopback interface that keeps what it is sent; it ends with the block."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/hooks/{CANARY}", got
    finally:
        httpd.shutdown()
        thread.join(5)
        httpd.server_close()


def failed(error="check illegal_labels failed: 3 rows", run="1", step="build_day", day="2026-08-03"):
    return incident("ingest_day", step, error, partition=day, link=f"http://127.0.0.1:3000/runs/{run}")


def test_one_message_for_one_incident_however_often_it_happens(home, monkeypatch):
    with server() as (url, got):
        monkeypatch.setenv("TCG_WEBHOOK", url)
        assert notify(home, failed()).new
        for run in ("2", "3"):
            assert notify(home, failed(run=run)).results == {}
        assert len(got) == 1 and [held.count for held in open_incidents(home)] == [3]
        path, body = got[0]
        assert path.endswith(CANARY) and body["text"] == body["content"]
        for expected in ("build_day[2026-08-03] failed in ingest_day", "3 rows", "First: open the day's failed check", "/runs/1"):
            assert expected in body["text"]
        notify(home, failed("another check failed"))
        notify(home, failed(day="2026-08-04"))
        assert len(got) == 3


def test_a_success_closes_the_incident_and_the_next_failure_is_told_again(home, monkeypatch):
    with server() as (url, got):
        monkeypatch.setenv("TCG_WEBHOOK", url)
        notify(home, failed())
        assert resolve_subject(home, "build_day[2026-08-04]") == [] and len(open_incidents(home)) == 1
        assert [i.subject for i in resolve_subject(home, "build_day[2026-08-03]")] == ["build_day[2026-08-03]"]
        assert open_incidents(home) == []
        assert notify(home, failed()).new and len(got) == 2
        assert resolve(home, failed().key) and not resolve(home, failed().key)


def test_the_key_is_of_the_failure_and_not_of_the_run():
    assert failed("3 rows of 9f8e7d6c5b").key == failed("12 rows of 0a1b2c3d4e").key
    assert failed().key != failed("the archive is missing").key
    assert incident("nightly", "", "died").subject == "nightly"
    by_hand = incident("__ASSET_JOB", "build_day", "check illegal_labels failed: 3 rows", partition="2026-08-03")
    assert by_hand.key == failed().key and by_hand.title == "tcg: build_day[2026-08-03] failed"


def test_a_webhook_that_was_down_is_told_at_the_next_occurrence_and_the_log_only_once(home, monkeypatch, caplog):
    with server(status=503) as (url, got), caplog.at_level(logging.ERROR, "tcg.alert"):
        monkeypatch.setenv("TCG_WEBHOOK", url)
        assert notify(home, failed()).results == {"log": "", "webhook": "the webhook answered 503"}
        assert notify(home, failed()).results == {"webhook": "the webhook answered 503"} and len(got) == 2
    assert notify(home, failed()).results == {"webhook": "the webhook was not reached (URLError)"}
    with server() as (url, got):
        monkeypatch.setenv("TCG_WEBHOOK", url)
        assert notify(home, failed()).results == {"webhook": ""} and notify(home, failed()).results == {}
        assert len(got) == 1
    assert len(caplog.records) == 1


def test_a_redirect_is_not_followed(home):
    with server() as (target, got), server(302, (("Location", target),)) as (url, _):
        assert Webhook(url).send("t", "x") == "the webhook answered 302" and got == []


def test_no_secret_is_sent_stored_logged_or_shown(home, monkeypatch, caplog, capsys):
    with server(status=500) as (url, got), caplog.at_level(logging.DEBUG):
        monkeypatch.setenv("TCG_WEBHOOK", url)
        monkeypatch.setenv("KAGGLE_KEY", f"kaggle-{CANARY}")
        message = (
            f"401 for https://me:pw-{CANARY}@host/x with key kaggle-{CANARY}, Authorization: Bearer tok{CANARY},"
            f" api_key={CANARY}, sent to {url}"
        )
        sent = notify(home, incident("nightly", "mlx_checkpoint", message, link=f"http://u:{CANARY}@127.0.0.1/", first=message))
        hook = channels(home)[1]
        shown = [repr(hook), str(sent), str(open_incidents(home)), caplog.text, *capsys.readouterr()]
        shown += [str(body) for _, body in got]
        shown += [path.read_text() for path in home.root.rglob("*") if path.is_file() and path.suffix == ".json"]
    assert got and sent.results["webhook"]
    assert [text for text in shown if CANARY in text] == []
    assert "401 for" in open_incidents(home)[0].incident.what
    monkeypatch.setenv("TCG_WEBHOOK", f"file:///etc/{CANARY}")
    with pytest.raises(ConfigError) as error:
        channels(home)
    assert CANARY not in str(error.value)


def test_redaction_hides_values_by_name_and_leaves_the_rest():
    environment = {"MY_TOKEN": "abcdef123", "PATH": "/usr/bin", "SHORT_KEY": "abc"}
    assert redact("abcdef123 in /usr/bin, abc", environment) == "[hidden] in /usr/bin, abc"
    assert redact("day 2026-08-03: 12 rows", environment) == "day 2026-08-03: 12 rows"


def test_without_a_webhook_only_the_log_is_told(home, monkeypatch):
    monkeypatch.delenv("TCG_WEBHOOK", raising=False)
    assert [type(channel) for channel in channels(home)] == [LogChannel]
    assert notify(home, failed()).results == {"log": ""}


def test_a_state_that_cannot_be_read_is_named(home):
    (home.root / "notify").mkdir()
    (home.root / "notify" / "incidents.json").write_text("{")
    with pytest.raises(IntegrityError, match=r"incidents\.json"):
        notify(home, failed())


def test_a_night_that_ran_out_of_time_asks_for_nothing():
    place = {"epoch": 1, "microbatch": 2, "microbatches": 9, "update": 2, "updates": 27}
    line = str(Unfinished("its budget of 8 h is used up", place))
    assert incident("nightly", "mlx_checkpoint", line).first.startswith("nothing: the next night goes on")
    later = line.replace("update 2", "update 9")
    assert incident("nightly", "mlx_checkpoint", later).key == incident("nightly", "mlx_checkpoint", line).key, "told once"
    assert incident("nightly", "mlx_checkpoint", "it died").first.startswith("start `nightly` again")


def test_every_step_of_the_graph_has_a_first_thing_to_do():
    from tcg_assets.definitions import defs

    jobs = [defs.resolve_job_def(name) for name in ("ingest_day", "nightly")]
    steps = {node.name for job in jobs for node in job.graph.nodes}
    assert steps <= set(FIRST)
    assert "2026-08-03.zip" in first_step("day_archive", "2026-08-03") and "{" not in first_step("unheard of", "")
