# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The allow list: who is refused and how, what the log tells of it, and changing it live.

Nothing here needs a network: names below .example exist nowhere, so that one which the policy
allows fails at its address and one which it refuses fails at the policy, and the answers tell
the two apart."""

import json
import re
import threading
import time

import pytest

from openshell_cli import plain, scaled, wait_until

# CONNECT HOST:PORT through the sandbox's proxy by the shell alone: a child that held the
# connection too would have it refused. One line for each: host|status line|body.
ASK = r"""
ask() {
  local line= status=
  exec 3<>/dev/tcp/10.200.0.1/3128
  printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' "$1" "$1" >&3
  read -r -t 20 status <&3
  while IFS= read -r -t 20 line <&3; do [[ $line == $'\r' ]] && break; done
  line=
  [[ $status == *" 200 "* ]] || IFS= read -r -t 20 line <&3
  exec 3>&-
  printf '%s|%s|%s\n' "$1" "${status%$'\r'}" "$line"
}
for host in "$@"; do ask "$host"; done"""
# The same by a child, while the shell holds the connection too.
SHARED = r"""
exec 3<>/dev/tcp/10.200.0.1/3128
printf 'CONNECT %s HTTP/1.1\r\n\r\n' "$1" >&3
timeout 20 cat <&3
"""
# The refusal as `logs` tells it; the program is - (0) where it could not be told.
LINE = re.compile(
    r"^\[(\d+)\.(\d{3})\] \[sandbox\] \[OCSF \] \[ocsf\] NET:OPEN \[MED\] DENIED "
    r"(\S+)\((\d+)\) -> (\S+):(\d+) \[policy:(\S+) engine:(\w+)\] \[reason:(.*)\]$")
ALLOWED = "listed.example:443"


class Answer:
    """What the proxy said to one CONNECT."""

    def __init__(self, line):
        self.asked, self.status, body = line.split("|", 2)
        self.body = json.loads(body) if body.startswith("{") else {}

    def __repr__(self):
        return f"{self.asked}: {self.status!r} {self.body}"

    @property
    def refused(self):
        """By the policy: what a person may be asked about."""
        return self.body.get("error") == "policy_denied"

    @property
    def passed(self):
        """The policy lets it through; beyond that it is a matter of addresses."""
        return " 200 " in self.status or self.body.get("error") in (
            "ssrf_denied", "upstream_unreachable")


@pytest.fixture(scope="module")
def net(openshell):
    """A sandbox with an allow list of every kind."""
    name = openshell.made_box(policy=openshell.policy(hosts=[
        ("listed.example", 443), ("*.one.example", 443), ("**.every.example", 443),
        ("127.0.0.1", 443), ("localhost", 443), ("169.254.169.254", 443),
        ("203.0.113.10", 6443), ("203.0.113.10", 2379)]))
    yield name
    openshell.delete(name)


def ask(openshell, name, *hosts):
    """[Answer] of each HOST:PORT, or the one."""
    done = openshell.exec(name, "bash", "-c", ASK, "bash", *hosts)
    answers = [Answer(line) for line in done.text.splitlines()]
    assert [answer.asked for answer in answers] == list(hosts), done
    return answers if len(hosts) > 1 else answers[0]


def refusals(openshell, name):
    """Matches of LINE in the log up to now."""
    text = openshell.run("logs", name, "-n", "500").text
    return [found for found in map(LINE.match, text.splitlines()) if found]


def told_of(openshell, name, host):
    """The refusals of @host, waited for."""
    return wait_until(lambda: [found for found in refusals(openshell, name)
                               if found.group(5) == host], 10, f"the line of {host}")


# --- asking ---

def test_host_off_the_list_is_refused_with_403_and_json_N02(openshell, net):
    answer = ask(openshell, net, "unlisted.example:443")
    assert answer.status == "HTTP/1.1 403 Forbidden", answer
    assert answer.body == {
        "error": "policy_denied",
        "detail": "CONNECT unlisted.example:443 not permitted by policy",
        "reason": "endpoint unlisted.example:443 is not allowed by any policy"}, answer


def test_host_on_the_list_is_let_through(openshell, net):
    answer = ask(openshell, net, ALLOWED)
    assert answer.passed and not answer.refused, answer


def test_port_and_spelling_are_part_of_the_list_S14(openshell, net):
    other_port, upper, dot, below = ask(
        openshell, net, "listed.example:80", "LISTED.Example:443", "listed.example.:443",
        "a.listed.example:443")
    assert other_port.refused and below.refused, (other_port, below)
    assert upper.passed, upper
    assert dot.refused, dot


def test_one_star_is_one_label_and_two_are_every_depth_N01(openshell, net):
    one, deep_one, none_one, every, deep_every, none_every = ask(
        openshell, net, "a.one.example:443", "a.b.one.example:443", "one.example:443",
        "a.every.example:443", "a.b.every.example:443", "every.example:443")
    assert one.passed and deep_one.refused and none_one.refused, (one, deep_one, none_one)
    assert every.passed and deep_every.passed and none_every.refused, (every, deep_every)


def test_loopback_and_link_local_are_refused_though_listed_N03(openshell, net):
    for answer in ask(openshell, net, "127.0.0.1:443", "localhost:443", "169.254.169.254:443"):
        assert answer.body.get("error") == "ssrf_denied", answer
        assert answer.status == "HTTP/1.1 403 Forbidden", answer


def test_ports_of_clusters_are_refused_though_listed(openshell, net):
    for answer in ask(openshell, net, "203.0.113.10:6443", "203.0.113.10:2379"):
        assert answer.body.get("error") == "ssrf_denied", answer


def test_nothing_but_the_proxy_is_reached(openshell, net):
    for address in ("192.0.2.1/443", "127.0.0.1/22", "172.17.0.1/22"):
        done = openshell.exec(net, "timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{address}")
        assert done.status != 0, done


def test_connection_that_two_programs_hold_is_refused(openshell, net):
    """Even to a listed host: the runner forwards by itself, and through no child."""
    done = openshell.exec(net, "bash", "-c", SHARED, "bash", ALLOWED)
    head, _, body = done.text.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 403 Forbidden"), done
    assert json.loads(body)["error"] == "policy_denied", done
    assert "ambiguous shared socket ownership" in json.loads(body)["reason"], done


# --- the log ---

def test_refusal_stands_in_the_log_with_host_port_and_program_N02(openshell, net):
    before = time.time()
    ask(openshell, net, "logged.example:8443")
    found = told_of(openshell, net, "logged.example")[0]
    assert found.group(3).endswith("/bash") and int(found.group(4)) > 1, found.group()
    assert found.group(6) == "8443" and found.group(8) == "opa", found.group()
    assert found.group(9) == "endpoint logged.example:8443 is not allowed by any policy"
    assert abs(int(found.group(1)) - before) < 60, found.group()


def test_address_that_is_none_is_told_apart_from_a_refused_host(openshell, net):
    """It says DENIED as well, but by another engine: nobody is to be asked about it."""
    ask(openshell, net, "nowhere.one.example:443", "127.0.0.1:443")
    for host in ("nowhere.one.example", "127.0.0.1"):
        assert {found.group(8) for found in told_of(openshell, net, host)} == {"ssrf"}


def test_refusal_of_a_shared_connection_names_no_program(openshell, net):
    openshell.exec(net, "bash", "-c", SHARED, "bash", "shared.example:443")
    found = told_of(openshell, net, "shared.example")[0]
    assert found.group(3, 4, 8) == ("-", "0", "opa"), found.group()
    assert found.group(9).startswith("ambiguous shared socket ownership"), found.group()


def line_of(call, seconds=30):
    """The next line that a call beside the test prints, or b"" when none comes in time."""
    timer = threading.Timer(scaled(seconds), call.kill)
    timer.start()
    try:
        return call.stdout.readline()
    finally:
        timer.cancel()


def test_log_is_followed_within_a_second_N02(openshell, net):
    """And the call goes on, for the next one."""
    following = openshell.popen("logs", net, "--tail", "--source", "sandbox")
    try:
        time.sleep(scaled(1))
        for host in ("followed.example", "followed-too.example"):
            asking = openshell.popen("sandbox", "exec", "-n", net, "--no-tty", "--", "bash",
                                     "-c", ASK + "; sleep 3", "bash", f"{host}:443")
            assert Answer(line_of(asking).decode()).refused
            answered = time.monotonic()
            while f"-> {host}:443 ".encode() not in (line := line_of(following)):
                assert line, "the log ended"
            assert time.monotonic() - answered < scaled(1)
            assert LINE.match(line.decode().rstrip("\n")), line
            asking.kill()
            asking.communicate()
    finally:
        following.kill()
        following.communicate()


def test_log_of_an_unknown_sandbox(openshell):
    done = openshell.run("logs", "ow-ct-none")
    assert done.failed_with("sandbox not found"), done


def test_log_is_cut_to_the_last_lines_asked_for(openshell, net):
    lines = openshell.run("logs", net, "-n", "3").text.splitlines()
    assert len(lines) == 3, lines
    assert all(re.match(r"\[\d+\.\d{3}\] \[(sandbox|gateway)\] \[", line) for line in lines)


def test_log_by_source_has_that_source_alone(openshell, net):
    for source, other in (("sandbox", "gateway"), ("gateway", "sandbox")):
        text = openshell.run("logs", net, "--source", source, "-n", "50").text
        assert f"] [{source}] [" in text and f"] [{other}] [" not in text, text


# --- changing the list ---

def update(openshell, name, *words):
    return openshell.run("policy", "update", name, *words, "--wait", timeout=60)


def test_endpoint_is_added_and_taken_away_live_N02(openshell, net):
    assert ask(openshell, net, "added.example:443").refused
    added = update(openshell, net, "--add-endpoint", "added.example:443:full",
                   "--binary", "/**")
    assert added.status == 0 and not added.out, added
    assert re.search(r"Policy version \d+ loaded", plain(added.error)), added
    answer, other, listed = ask(openshell, net, "added.example:443", "unlisted.example:443",
                                ALLOWED)
    assert answer.passed and other.refused and listed.passed, (answer, other, listed)
    gone = update(openshell, net, "--remove-endpoint", "added.example:443")
    assert gone.status == 0, gone
    answer, listed = ask(openshell, net, "added.example:443", ALLOWED)
    assert answer.refused and listed.passed, (answer, listed)


def test_endpoint_without_a_program_allows_nothing(openshell, net):
    done = update(openshell, net, "--add-endpoint", "nobody.example:443:full")
    assert done.status == 0, done
    assert ask(openshell, net, "nobody.example:443").refused


def test_change_is_seen_by_what_runs_already(openshell, net):
    """The program that was refused need not be started again."""
    script = ASK + "; until [ -e /tmp/ow-ct-go ]; do sleep 0.1; done; ask \"$1\""
    asking = openshell.popen("sandbox", "exec", "-n", net, "--no-tty", "--", "bash", "-c", script,
                             "bash", "waiting.example:443")
    assert Answer(line_of(asking).decode()).refused
    assert update(openshell, net, "--add-endpoint", "waiting.example:443:full",
                  "--binary", "/**").status == 0
    assert openshell.exec(net, "touch", "/tmp/ow-ct-go").status == 0
    assert Answer(line_of(asking).decode()).passed
    asking.communicate()


def test_change_of_an_unknown_sandbox(openshell):
    done = update(openshell, "ow-ct-none", "--add-endpoint", "a.example:443:full",
                  "--binary", "/**")
    assert done.failed_with("sandbox not found"), done


@pytest.mark.parametrize("endpoint", ["a.example", "a.example:0:full", "*:443:full",
                                      "a.example:99999:full", ":443:full"])
def test_endpoint_that_is_none_is_refused_S14(openshell, net, endpoint):
    done = update(openshell, net, "--add-endpoint", endpoint, "--binary", "/**")
    assert done.status != 0 and done.error, done


def test_refused_host_becomes_a_draft_in_ten_seconds(openshell, net):
    ask(openshell, net, "drafted.example:443")
    begun = time.monotonic()

    def drafted():
        done = openshell.run("rule", "get", net)
        assert done.status == 0, done
        return re.search(r"Endpoints: drafted\.example:443 \[L4\]$", plain(done.text),
                         re.MULTILINE)

    wait_until(drafted, 30, "the draft")
    assert time.monotonic() - begun < scaled(25)
    assert ask(openshell, net, "drafted.example:443").refused
