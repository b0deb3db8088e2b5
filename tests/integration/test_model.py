# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker run` with model servers of all kinds and in all states: those that differ do the demo's
task, those that fail have their sentence and exit status, and nothing runs of an answer that was
cut (P08, P09, A39)."""

import itertools
import json
import shutil
import time
from pathlib import Path

import pytest
from conftest import scaled
from model_server import ModelServer, body_of, calls, from_recording, status

DEMO = Path(__file__).resolve().parents[2] / "data/demo"
KEY = "sk-test-7f3a9d0c51e84b26"


def shell(command, **more):
    return calls(("shell", {"command": command}), **more)


@pytest.fixture
def run(ordinary_user, workspace, openworker):
    def start(server, *options, folder=None, env=None, task="Do it."):
        return ordinary_user.run(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
             folder or workspace.folder, "--model", "openai:m", "--base-url", getattr(server, "url", server),
             *options, task], env=env, timeout=120)
    return start


def said(done):
    """The one sentence of a failure."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("openworker: ")]
    assert len(lines) == 1, done.stdout + done.stderr
    return lines[0]


def events_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- servers that differ

DIALECTS = {
    "one byte a write": {"chunk": 1, "split": 40},
    "CR only, a mark, comments": {"line_end": "\r", "bom": True, "comments": "keep-alive"},
    "CRLF, characters cut": {"line_end": "\r\n", "chunk": 3, "split": 30},
    "no ids": {"dialect": ["no-ids"]},
    "no index": {"dialect": ["no-index"], "split": 9},
    "arguments as objects": {"dialect": ["object-arguments", "stop-for-calls"]},
    "late names": {"dialect": ["late-name"]},
    "names again": {"dialect": ["twice-name", "role-chunks", "null-content", "reasoning"]},
    "no [DONE]": {"done": False, "dialect": ["usage-in-choice"]},
    "ends with the connection": {"framing": "close", "split": 12},
}


@pytest.mark.parametrize("how", DIALECTS.values(), ids=DIALECTS.keys())
def test_servers_that_differ_do_the_task(run, ordinary_user, workspace, how):
    """REQ-A01: the demo's task, whatever the server writes; the server checks each request."""
    project = workspace.folder / "project"
    shutil.copytree(DEMO / "project", project)
    ordinary_user.give(project)
    with ModelServer.for_recording(DEMO / "replay.jsonl", **how) as server:
        done = run(server, folder=project)
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.faults == []
        assert len(server.requests) == len(from_recording(DEMO / "replay.jsonl")[0])
    assert "% 400" in (project / "leap.sh").read_text()


def test_usage_is_kept(run):
    with ModelServer([{"text": "Done.", "usage": True}]) as server:
        done = run(server, "--json")
        assert server.requests[0].json["stream_options"] == {"include_usage": True}
    messages = [event for event in events_of(done) if event["type"] == "model-message"]
    assert messages[0]["usage"] == {"input_tokens": 120, "output_tokens": 34}


def test_server_that_cannot_tell_tokens(run):
    """Some servers refuse a wish that they do not know: it is left out, and the task is done."""
    def script(request):
        if "stream_options" in request.json:
            return status(422, "Extra inputs are not permitted: stream_options.include_usage")
        return shell("touch made") if request.n_answers == 0 else {"text": "Done."}
    with ModelServer(script) as server:
        done = run(server)
        assert (done.returncode, len(server.requests)) == (0, 3), done.stderr


# ---- answers that are cut

def test_P08_cut_anywhere_runs_nothing(run, ordinary_user, workspace, openworker):
    """Cut at places all over an answer with two calls, by a closed connection or cleanly: no call
    runs, the person is told, and the session goes on with a request that the server takes."""
    answer = calls(("shell", {"command": "touch one"}), ("shell", {"command": "touch two"}),
                   text="I touch two files.", split=6)
    pieces = body_of(answer)
    whole = len(b"".join(pieces))
    end = whole - sum(len(piece) for piece in pieces[-2:])
    assert b'"finish_reason": "tool_calls"' in pieces[-2]
    begun = len(pieces[0])
    for at, framing in zip(range(begun, end, (end - begun) // 11), itertools.cycle(["chunked", "close"])):
        with ModelServer([{**answer, "cut_at": at, "framing": framing}, {"text": "I go on."}]) as server:
            done = run(server, "--json")
            assert done.returncode == 1, (at, done.stdout)
            ended = events_of(done)[-1]
            assert ended["message"].startswith("The model's answer was cut, so nothing of it ran: "), ended
            message = [event for event in events_of(done) if event["type"] == "model-message"][-1]
            assert (message["finish"], message["tool_calls"]) == ("cut", []) and message["cut"], at
            assert message["text"] == "I touch two files."
            asked = [event for event in events_of(done) if event["type"] == "tool-asked"]
            assert {event.get("purpose") for event in asked} <= {"instructions", "project"}, at
            on = ordinary_user.run([openworker, "attach", message["session"], "--say", "Go on.", "--json"], timeout=60)
            assert on.returncode == 0 and "I go on." in on.stdout, on.stdout + on.stderr
            assert server.faults == []
            told_again = [told["content"] for told in server.requests[-1].messages if told["role"] == "assistant"]
            assert any("I touch two files." in text for text in told_again), told_again
        assert list(workspace.folder.iterdir()) == []


def test_A39_clean_end_within_a_call(run, workspace):
    """The report's own stream: it ends cleanly after half of the arguments."""
    half = calls(("shell", '{"command": "touch made; rm -r'), finish=None, done=False)
    with ModelServer([half]) as server:
        done = run(server)
        assert done.returncode == 1 and not list(workspace.folder.iterdir())
        assert "It ended without saying that it is at its end." in said(done)
        assert "The answer is not whole" in done.stdout
        assert len(server.requests) == 1


def test_A39_cut_after_a_call_that_ran(run, workspace):
    """What ran before is in the record once, and is not asked for again."""
    with ModelServer([shell("echo x >> made"), {**shell("echo y >> made"), "cut_at": 400}]) as server:
        done = run(server)
        assert done.returncode == 1, done.stdout
        assert (workspace.folder / "made").read_text() == "x\n"
        assert len(server.requests) == 2 and server.faults == []


MALFORMED = {
    "torn arguments": (calls(("shell", '{"command":"touch made')), "no whole JSON object"),
    "arguments that are a list": (calls(("shell", '["touch made"]')), "no whole JSON object"),
    "no name": (calls(("", {"command": "touch made"})), "no name"),
    "nonsense after a call": ({"raw": b"".join(body_of(shell("touch made"))[:-2]) + b"data: nonsense\n\n"},
                              "cannot be read"),
    "an error after a call": ({**shell("touch made"), "error_event": {"error": {"message": "No \x1b[2Jroom."}}},
                              'error: "No ^[[2Jroom."'),
    "the limit of tokens": (shell("touch made", finish="length"), "the most that the model may say"),
    "a filter": (shell("touch made", finish="content_filter"), "filter"),
    "calls none": ({"text": "I call.", "finish": "tool_calls"}, "calls none"),
    "bytes that are no text": ({"raw": b"".join(body_of(shell("touch made"))[:-2]) + b'data: "\xff"\n\n'},
                               "cannot be read"),
}


@pytest.mark.parametrize("answer,words", MALFORMED.values(), ids=MALFORMED.keys())
def test_P08_malformed_answer_runs_nothing(run, workspace, answer, words):
    with ModelServer([answer]) as server:
        done = run(server)
        assert done.returncode == 1, done.stdout
        assert said(done).startswith("openworker: The model's answer was cut, so nothing of it ran: ")
        assert words in said(done), done.stderr
        assert len(server.requests) == 1
    assert list(workspace.folder.iterdir()) == []


ENDLESS = {
    "endless": "text is longer than 512 KiB",
    "endless-call": "arguments of its tool calls are longer than 4 MiB",
    "endless-line": "longer than 4 MiB",
    "big-event": "longer than 4 MiB",
}


@pytest.mark.parametrize("how", ENDLESS)
def test_P08_answer_without_end_ends(run, workspace, how):
    with ModelServer([{"misbehave": how}]) as server:
        done = run(server)
        assert done.returncode == 1 and ENDLESS[how] in said(done), done.stderr
        assert len(server.requests) == 1
    assert list(workspace.folder.iterdir()) == []


# ---- servers that fail

FAILURES = {
    "asks for a key": (status(401, "Who are you?"), 1, 69,
                       'The model\'s server asks for a key (status 401): it says "Who are you?". Give the key of'
                       ' this server with "openworker model add", or in OPENWORKER_API_KEY.'),
    "forbids": (status(403, "Not here."), 1, 69, 'asks for a key (status 403): it says "Not here."'),
    "no such model": (status(404, "No model m."), 1, 1, 'There is no model "m" at http://127.0.0.1:'),
    "too long": (status(400, "maximum context length is 8192 tokens"), 1, 1,
                 'does not take the request (status 400): it says "maximum context length is 8192 tokens". Begin'),
    "hostile words": (status(400, "\x1b]52;c;eA==\x07\u202e" + "x" * 50000), 1, 1, "^[]52;c;eA==^G\\u{202E}xxx"),
    "storm": (status(429, "Slow down."), 5, 1,
              'has too much to do (status 429, asked 5 times): it says "Slow down.". Try again later.'),
    "no credit": ({**status(429), "body": '{"error":{"message":"Pay.","code":"insufficient_quota"}}'}, 1, 1,
                  "has no credit left for this key (status 429)"),
    "failed": (status(503, "Down."), 5, 1, 'has failed (status 503, asked 5 times): it says "Down."'),
    "hangs up": ({"misbehave": "hang-up"}, 5, 1, "closed the connection without an answer"),
    "login page": ({"content_type": "text/html", "body": "<html>Log in</html>"}, 1, 1,
                   "sends no stream of events: it is text/html."),
    "no stream": ({"content_type": "application/json", "body": '{"choices":[]}'}, 1, 1,
                  "sends no stream of events: it is application/json."),
    "not HTTP": ({"misbehave": "not-http"}, 1, 1, "it is not HTTP"),
    "leads elsewhere": ({"status": 307, "headers": {"Location": "http://127.0.0.1:1/v1"}, "body": "",
                         "content_type": "text/plain"}, 1, 1, "leads elsewhere, to http://127.0.0.1:1/v1"),
    "nonsense": ({"raw": "data: nonsense\n\n"}, 1, 1, "The model gave no answer: a chunk of it cannot be read"),
    "error at once": ({"text": "", "error_event": {"error": {"message": "Full."}}}, 1, 1,
                      'The model gave no answer: the server reported an error: "Full."'),
}


@pytest.mark.parametrize("answer,asked,code,words", FAILURES.values(), ids=FAILURES.keys())
def test_failure_has_its_sentence_and_status(run, answer, asked, code, words):
    with ModelServer([answer]) as server:
        done = run(server)
        assert done.returncode == code, done.stdout + done.stderr
        assert words in said(done), done.stderr
        assert len(said(done)) < 1000 and "\x1b" not in done.stdout + done.stderr
        assert len(server.requests) == asked


def test_passing_trouble_is_waited_for(run, workspace):
    """Each try before the good one is one more request, and nothing is done twice."""
    script = [status(429, retry_after=1), status(503), {"misbehave": "hang-up"}, shell("echo x >> made"),
              status(500), {"text": "Done."}]
    with ModelServer(script) as server:
        done = run(server)
        assert (done.returncode, len(server.requests)) == (0, 6), done.stderr
        assert server.requests[1].at - server.requests[0].at >= 1
        assert server.faults == []
    assert (workspace.folder / "made").read_text() == "x\n"


def test_slow_answer_is_waited_for(run):
    with ModelServer([{"text": ["One ", "by ", "one."], "wait": 1, "delay": 0.4}]) as server:
        begin = time.monotonic()
        done = run(server)
        assert done.returncode == 0 and "One by one." in done.stdout, done.stdout
        assert 2 < time.monotonic() - begin < scaled(40)


# ---- keys

def test_key_goes_into_its_header_only(run):
    """A server that says the key back, in every way it can: it is in nothing that is shown."""
    for answer in [status(401, f"Incorrect API key provided: {KEY}."), {"content_type": KEY, "body": KEY},
                   {"text": "", "error_event": {"error": f"no {KEY}"}},
                   {"text": "Half.", "error_event": {"error": {"message": KEY}}}]:
        with ModelServer([answer]) as server:
            done = run(server, "--json", env={"OPENWORKER_API_KEY": KEY})
            assert done.returncode in (1, 69)
            assert KEY not in done.stdout + done.stderr
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
            assert KEY.encode() not in server.requests[0].body


def test_no_key_no_header(run):
    with ModelServer([{"text": "Done."}]) as server:
        assert run(server).returncode == 0
        assert "authorization" not in server.requests[0].headers


def test_key_is_not_sent_in_the_clear(run):
    done = run("http://model.example.org/v1", env={"OPENWORKER_API_KEY": KEY})
    assert done.returncode == 69 and KEY not in done.stdout + done.stderr
    assert "The key is not sent to http://model.example.org/v1" in said(done)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "127.0.0.1:8080", "http://", f"https://{KEY}@example.org/v1",
                                 f"https://example.org/v1?key={KEY}", "http://127.0.0.1:99999"])
def test_address_that_is_none(run, url):
    done = run(url)
    assert done.returncode == 2 and "no address of a model" in said(done), done.stderr
    assert KEY not in done.stdout + done.stderr
