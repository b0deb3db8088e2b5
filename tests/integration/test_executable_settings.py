# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""S08: what a session made or changed that other programs run later is listed at its end, whatever
wrote it, found behind the wall, and shown as data."""

import json
import os
import signal
import time

import pytest
from engine_client import EngineClient
from engines import Up, wait_begun
from model_server import ModelServer, calls
from test_undo import Made, edit, shell, write


def fill(account, folder):
    """A project."""
    script = """git init -q "$1" && cd "$1" && mkdir scripts && echo one > notes.txt
    echo '{"version": "one", "scripts": {"test": "true"}}' > package.json
    printf '#!/bin/sh\\nexit 0\\n' > scripts/hook && chmod +x scripts/hook"""
    assert account.run(["sh", "-ec", script, "sh", folder]).returncode == 0
    account.give(folder)


@pytest.fixture
def made(account, workspace, openworker, wall):
    fill(account, workspace.folder)
    with ModelServer([{"text": "Done."}]) as server:
        yield Made(account, openworker, wall, server)


def found(event_or_result, folder):
    return {os.path.relpath(entry["path"], folder): (entry["kind"], entry["what"])
            for entry in event_or_result["settings"]}


def told(made):
    """The settings of the session's events, by name below its folder."""
    return {name: said for event in made.events("executable-settings")
            for name, said in found(event, made.folder).items()}


# How each is made, and what is told of it.
WAYS = {
    "git-hook": (["printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"],
                 {".git/hooks/pre-commit": ("git-hook", "created")}),
    "git-fsmonitor": (["git config core.fsmonitor ./run"], {".git/config": ("git-config", "changed")}),
    "git-filter": (["git config filter.any.name.clean ./run"], {".git/config": ("git-config", "changed")}),
    "git-unknown": (["printf '[nobody \"knows\"]\\n\\tthis = ./run\\n' >> .git/config"],
                    {".git/config": ("git-config", "changed")}),
    "git-hooks-path": (["git config core.hooksPath .hooks; mkdir .hooks; echo x > .hooks/pre-push"],
                       {".git/config": ("git-config", "changed"), ".hooks/pre-push": ("git-hook", "created")}),
    "git-include": (["git config include.path ../more; printf '[core]\\n\\tsshCommand = ./run\\n' > more"],
                    {".git/config": ("git-config", "changed"), "more": ("git-config", "created")}),
    "git-nested": (["git init -q deep/er"],
                   {"deep/er/.git": ("git-repository", "created"),
                    "deep/er/.git/config": ("git-config", "created")}),
    "git-bare": (["git init -q --bare docs"],
                 {"docs": ("git-repository", "created"), "docs/config": ("git-config", "created")}),
    "git-file": (["mkdir sub; echo 'gitdir: ../elsewhere' > sub/.git"],
                 {"sub/.git": ("git-repository", "created")}),
    "git-module": (["git init -q --bare .git/modules/one"],
                   {".git/modules/one": ("git-repository", "created"),
                    ".git/modules/one/config": ("git-config", "created")}),
    "git-moved": (["git init -q --template= x; mv x/.git y; mv y .git/modules-away; mkdir .git/modules;"
                   " mv .git/modules-away .git/modules/two"],
                  {".git/modules/two": ("git-repository", "created"),
                   ".git/modules/two/config": ("git-config", "created")}),
    "editor": ([("write", ".vscode/tasks.json", "{}")], {".vscode/tasks.json": ("editor", "created")}),
    "environment": ([("write", ".envrc", "run\n")], {".envrc": ("environment", "created")}),
    "agent": ([("write", ".any/settings.json", "{}"), ("write", ".other/hooks/x.sh", "y")],
              {".any/settings.json": ("agent", "created"), ".other/hooks/x.sh": ("agent", "created")}),
    "pipeline": ([("write", ".github/workflows/a.yml", "on: push\n")],
                 {".github/workflows/a.yml": ("pipeline", "created")}),
    "package": (["sed -i s/true/false/ package.json"], {"package.json": ("package", "changed")}),
    "upper-case": ([("write", ".VSCode/Tasks.json", "{}")], {".VSCode/Tasks.json": ("editor", "created")}),
    "old-content-moved": (["mv scripts/hook .git/hooks/post-checkout"],
                          {".git/hooks/post-checkout": ("git-hook", "created")}),
    "bit": (["chmod -x scripts/hook; ln -s ../../scripts/hook .git/hooks/post-merge"],
            {".git/hooks/post-merge": ("git-hook", "created")}),
}


def to_call(step, folder):
    if isinstance(step, str):
        return shell(f"(cd {folder}; {step})")
    return write(f"{folder}/{step[1]}", step[2])


def test_S08_each_kind_is_told_at_the_end(made):
    """Each in a project of its own."""
    for way in WAYS:
        fill(made.account, made.folder / way)
    made.turns([to_call(step, way) for way in WAYS for step in WAYS[way][0]])
    expected = {f"{way}/{name}": said for way in WAYS for name, said in WAYS[way][1].items()}
    assert told(made) == expected
    assert found(made.changes(), made.folder) == expected


def test_S08_what_a_task_makes_later_is_told(made):
    made.turns([("task_start", {"command": "sleep 0.3; echo x > .envrc"}), shell("sleep 0.6")])
    assert told(made) == {".envrc": ("environment", "created")}


def test_S08_what_runs_nothing_is_not_told(made):
    made.turns([shell("touch .git/config package.json; echo two > notes.txt; git add notes.txt;"
                      " git -c user.name=a -c user.email=a@example.com commit -qm x;"
                      " cp -p .git/config c;"
                      " cat c > .git/config; rm c; sed -i s/one/two/ package.json;"
                      " echo x > .git/hooks/any.sample; printf 'all:\\n\\ttrue\\n' > Makefile; chmod +x notes.txt"),
                write("src/main.c", "int main;\n")])
    assert made.events("executable-settings") == []
    assert made.changes()["settings"] == []


def test_S08_the_words_a_person_reads(made):
    name = "a\u202eb\x1b[31m"
    made.turns([shell(f"mkdir -p '{name}/.vscode'; echo '{{}}' > '{name}/.vscode/tasks.json'"),
                write(".envrc", "run\n")])
    shown = made.run("attach", made.id).stdout
    lines = [line for line in shown.splitlines() if ".envrc: " in line]
    assert len(lines) == 1 and "created" in lines[0] and "a shell may load it" in lines[0], shown
    assert "run later by other programs" in shown
    assert "\x1b[31m" not in shown and "\u202e" not in shown
    assert "▸ settings" not in shown
    text = made.run("sessions", "changes", made.id).stdout
    assert ".envrc: a shell may load it" in text and "\u202e" not in text
    recorded = made.run("audit", "show", made.id, "--json").stdout
    assert [json.loads(line) for line in recorded.splitlines() if '"executable-settings"' in line]


def test_S08_each_is_told_once_and_its_next_change_again(made):
    made.turns([write(".envrc", "one\n")], [write("notes.txt", "two\n")], [write(".envrc", "two\n")])
    events = made.events("executable-settings")
    assert [found(event, made.folder) for event in events] == [
        {".envrc": ("environment", "created")}, {".envrc": ("environment", "changed")}]
    assert found(made.changes(), made.folder) == {".envrc": ("environment", "changed")}


def test_S08_link_and_where_it_leads(made):
    """A hook that is a link to a script of the project: who changes the script changes the hook."""
    made.account.run(["ln", "-s", "../../scripts/hook", made.folder / ".git/hooks/pre-commit"])
    made.turns([edit("scripts/hook", "exit 0", "exit 1")])
    assert told(made) == {".git/hooks/pre-commit": ("git-hook", "changed")}


def test_S08_killed_session_is_told_at_the_next_look(account, workspace, openworker, wall):
    """What it made is found by a sandbox that is younger, also under the name of something older."""
    fill(account, workspace.folder)
    time.sleep(0.05)
    with ModelServer([calls(write(".envrc", "run\n"), shell("echo x > .git/hooks/pre-push; touch begun; sleep 100"))
                      ]) as server:
        up = Up(account, openworker)
        session = up.detach(server, provider=wall.name)
        wait_begun(workspace)
        up.stop(signal.SIGKILL)
        made = Made(account, openworker, wall, server)
        made.id = session
        looked = made.changes()
        expected = {".envrc": "environment", ".git/hooks/pre-push": "git-hook"}
        named = found(looked, workspace.folder)
        assert {name: kind for name, (kind, _) in named.items()} == expected
        assert [event.get("late") for event in made.events("executable-settings")] == [True]
        assert found(made.changes(), workspace.folder) == named
        assert len(made.events("executable-settings")) == 1 and made.state() == "interrupted"


def test_S08_folders_that_change_meanwhile(account, workspace, openworker, wall):
    """The sandbox that is there at the end is younger than what was made before it, and an added
    folder counts from then on."""
    other = account.mkdir(workspace.path / "other")
    account.write(other / ".envrc", "old\n")
    time.sleep(0.05)
    with ModelServer([calls(write(".envrc", "one\n")), {"text": "Done."},
                      calls(write(f"{other}/.mise.toml", "x = 1\n")), {"text": "Done."}]) as server:
        up = Up(account, openworker)
        made = Made(account, openworker, wall, server)
        with EngineClient(account) as client:
            client.command("face.watch", {"answers": False})
            made.id = client.command("session.start", {
                "folders": [str(workspace.folder)], "task": "Do it.", "model": "openai:demo",
                "base_url": server.url, "keep": True, "provider": wall.name,
                "approve": "sandboxed"})["session"]
            client.wait_event(lambda event: event["type"] == "turn-ended")
            client.events.clear()
            client.command("session.folders", {"session": made.id, "add": [str(other)]}, seconds=30)
            client.command("session.say", {"session": made.id, "text": "Go on."})
            client.wait_event(lambda event: event["type"] == "turn-ended")
            client.command("session.end", {"session": made.id})
            client.wait_event(lambda event: event["type"] == "session-ended")
        assert told(made) == {".envrc": ("environment", "changed"),
                              "../other/.mise.toml": ("environment", "created")}
        up.stop()


def test_S08_session_without_changes_has_no_look(made):
    made.turns([("read", {"path": "notes.txt"})])
    assert "settings" not in [event["tool"] for event in made.events("tool-asked")]
    assert made.events("executable-settings") == []


def test_S08_no_model_can_ask(made):
    made.turns([("settings", {})])
    ended = [event for event in made.events("tool-ended") if event["tool"] == "settings"]
    assert [event["outcome"] for event in ended] == ["failed"]
    offered = [tool["function"]["name"] for tool in json.loads(made.server.requests[0].body)["tools"]]
    assert "write" in offered and "settings" not in offered
