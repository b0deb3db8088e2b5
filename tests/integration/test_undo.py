# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a session changed, as one diff, and taking a call or a turn of it back: shown first, done as
it was shown, never by what was changed since, in a session that runs as in one that has ended."""

import json
import os
import shutil

import pytest
from conftest import scaled
from engine_client import EngineClient
from engines import Up, said
from model_server import ModelServer, calls


def write(path, content):
    return ("write", {"path": path, "content": content})


def edit(path, old, new):
    return ("edit", {"path": path, "old_text": old, "new_text": new})


def shell(command):
    return ("shell", {"command": command})


class Made:
    """A session of some turns that has ended, and commands about it."""

    def __init__(self, account, openworker, wall, server):
        self.account, self.openworker, self.wall, self.server = account, openworker, wall, server
        self.folder = account.workspace.folder
        self.id = None

    def turns(self, *turns):
        """@turns: of each, the calls of its answers, one after the other."""
        for turn in turns:
            self.server.script = [{"text": ""}] * len(self.server.requests) + [calls(call) for call in turn]
            self.server.script.append({"text": "Done."})
            if self.id is None:
                argv = ["run", *self.wall.argv, "--approve", "sandboxed", "--json", "--model", "openai:demo",
                        "--base-url", self.server.url, "--folder", self.folder, "Do it."]
            else:
                argv = ["attach", self.id, "--say", "Go on.", "--json"]
            done = self.run(*argv, seconds=90)
            assert done.returncode == 0, done.stdout + done.stderr
            self.id = json.loads(done.stdout.splitlines()[0])["session"]
        return self

    def run(self, *argv, seconds=60):
        return self.account.run([self.openworker, *argv], timeout=scaled(seconds))

    def changes(self):
        done = self.run("sessions", "changes", self.id, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def undo(self, *options):
        return self.run("sessions", "undo", self.id, *options)

    def events(self, kind=None):
        lines = self.run("sessions", "show", self.id, "--json").stdout.splitlines()
        return [event for event in map(json.loads, lines) if kind in (None, event["type"])]

    def state(self):
        lines = self.run("sessions", "list", "--json").stdout.splitlines()
        return next(row["state"] for row in map(json.loads, lines) if row["session"] == self.id)

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else None

    @property
    def kept(self):
        """The session's folder of what was before."""
        return self.account.workspace.data / "sessions" / self.id / "undo"


@pytest.fixture
def made(account, workspace, openworker, wall):
    account.write(workspace.folder / "a.txt", "one\ntwo\nthree\n")
    with ModelServer([{"text": "Done."}]) as server:
        yield Made(account, openworker, wall, server)


def states(result):
    return {os.path.basename(file["path"]): file["state"] for file in result["files"]}


def test_turn_is_shown_and_taken_back(made):
    made.turns([edit("a.txt", "two", "TWO"), write("new.txt", "new\n")])
    looked = made.changes()
    assert states(looked) == {"a.txt": "changed", "new.txt": "created"}
    assert "-two\n+TWO\n" in looked["diff"] and "+new\n" in looked["diff"]
    shown = json.loads(made.undo("--json").stdout)
    assert not shown["applied"] and states(shown) == {"a.txt": "would restore", "new.txt": "would remove"}
    assert "-TWO\n+two\n" in shown["diff"]
    assert made.read("a.txt") == "one\nTWO\nthree\n" and made.read("new.txt") == "new\n"
    done = made.undo("--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-TWO\n+two\n" in done.stdout and "1 file put back, 1 removed." in done.stdout
    assert made.read("a.txt") == "one\ntwo\nthree\n" and made.read("new.txt") is None
    said(made.undo("--yes"), 1, "already undone")
    assert states(made.changes()) == {"a.txt": "same", "new.txt": "same"}
    assert made.state() == "done"


def test_record_says_who_undid_what(made):
    made.turns([edit("a.txt", "two", "TWO")])
    asked = [event for event in made.events("tool-asked") if event["tool"] == "edit"]
    assert made.undo("--yes", "--call", asked[0]["call"]).returncode == 0
    started = [event for event in made.events("tool-started") if event["tool"] == "undo"]
    assert [event["approval"] for event in started] == ["person", "person"]
    assert [event["arguments"]["apply"] for event in started] == [False, True]
    undoes = [event["undoes"] for event in made.events("tool-asked") if event["tool"] == "undo"]
    assert undoes == [[asked[0]["call"]]] * 2
    recorded = made.run("audit", "show", made.id, "--json").stdout
    kinds = [json.loads(line)["event"]["type"] for line in recorded.splitlines() if '"undo"' in line]
    assert kinds == ["tool-started", "tool-ended"] * 2
    verified = made.run("audit", "verify", "--json")
    assert json.loads(verified.stdout)["clean"] and json.loads(verified.stdout)["open"] == []


def test_turns_before_and_after_a_resume_count_alike(made):
    """Each turn ran in a sandbox of its own. The last one is undone first; the agent is told in one line."""
    made.turns([edit("a.txt", "one", "ONE")], [edit("a.txt", "two", "TWO")], [write("c.txt", "c\n")])
    assert states(made.changes()) == {"a.txt": "changed", "c.txt": "created"}
    first = made.undo("--yes", "--turn", "1")
    assert first.returncode == 1 and "changed since" in first.stdout
    assert made.read("a.txt") == "ONE\nTWO\nthree\n"
    assert made.undo("--yes", "--turn", "2").returncode == 0
    assert made.read("a.txt") == "ONE\ntwo\nthree\n"
    assert made.undo("--yes", "--turn", "1").returncode == 0
    assert made.read("a.txt") == "one\ntwo\nthree\n" and made.read("c.txt") == "c\n"
    said(made.undo("--yes", "--turn", "2"), 1, "already undone")
    said(made.undo("--turn", "4"), 2, "3 messages")
    said(made.undo("--turn", "0"), 2, "--turn")


def test_agent_is_told_in_one_line(made):
    made.turns([edit("a.txt", "two", "TWO"), write("new.txt", "new\n")])
    assert made.undo("--yes").returncode == 0
    made.turns([])
    told = "\n".join(str(message["content"]) for message in made.server.requests[-1].messages
                     if message["role"] != "assistant")
    lines = [line for line in told.splitlines() if "The person undid" in line]
    assert len(lines) == 1, told
    assert f"{made.folder}/a.txt" in lines[0] and f"removed again: {made.folder}/new.txt" in lines[0]
    assert "+two" not in told


def test_names_that_commands_changed_are_told(made):
    made.turns([shell("echo x > by-hand; echo y >> a.txt")])
    looked = made.changes()
    assert {(os.path.basename(c["path"]), c["what"]) for c in looked["commands"]} == {
        ("by-hand", "created"), ("a.txt", "changed")}
    assert "Changed by commands, which cannot be undone:" in made.run("sessions", "changes", made.id).stdout
    said(made.undo("--yes"), 1, "changed no file that could be put back")
    assert made.read("by-hand") == "x\n"


def test_what_was_changed_since_is_left(account, made):
    """By a person, by a command, gone, or another kind of thing in its place (S03: a link)."""
    names = ["by-person", "by-command", "gone", "linked", "kept"]
    made.turns([write(name, f"{name} old\n") for name in names],
               [write(name, f"{name} new\n") for name in names] + [shell("echo more >> by-command")])
    account.write(made.folder / "by-person", "mine\n")
    (made.folder / "gone").unlink()
    account.write(account.workspace.path / "outside", "outside\n")
    (made.folder / "linked").unlink()
    os.symlink(account.workspace.path / "outside", made.folder / "linked")
    shown = json.loads(made.undo("--json").stdout)
    assert states(shown) == {**dict.fromkeys(names, "skipped"), "kept": "would restore"}
    assert all(file["reason"] for file in shown["files"] if file["state"] == "skipped")
    done = made.undo("--yes")
    assert done.returncode == 1 and done.stdout.count("changed since") >= 2
    assert made.read("by-person") == "mine\n" and made.read("by-command") == "by-command new\nmore\n"
    assert made.read("gone") is None and made.read("kept") == "kept old\n"
    assert (account.workspace.path / "outside").read_text() == "outside\n"
    assert (made.folder / "linked").is_symlink()


def test_changed_between_showing_and_doing(account, made):
    made.turns([write("a.txt", "agent\n")])
    shown = json.loads(made.undo("--json").stdout)
    account.write(made.folder / "a.txt", "mine\n")
    up = Up(account, made.openworker)
    with EngineClient(account) as client:
        done = client.command("session.undo", {"session": made.id, "preview": shown["call"]}, seconds=60)
    assert up.stop() == 0
    assert states(done) == {"a.txt": "skipped"} and made.read("a.txt") == "mine\n"


def test_folder_made_again_and_what_is_kept_goes_with_the_session(account, made):
    """The project's folder was removed and made anew: what was kept is not in it. It goes when the
    session does, and only then."""
    made.turns([write("sub/a.txt", "agent\n"), edit("a.txt", "two", "TWO")])
    kept = sorted(path.name for path in made.kept.iterdir())
    assert kept and all(len(name) == 64 for name in kept)
    content = made.read("a.txt")
    shutil.rmtree(made.folder)
    account.mkdir(made.folder)
    account.give(made.folder)
    account.write(made.folder / "a.txt", content)
    done = made.undo("--yes")
    assert made.read("a.txt") == "one\ntwo\nthree\n", done.stdout + done.stderr
    assert made.kept.is_dir()
    deleted = made.run("sessions", "delete", made.id)
    assert deleted.returncode == 0 and not made.kept.parent.exists()
    said(made.undo("--yes"), 2, "no session")
    said(made.run("sessions", "changes", made.id), 2, "no session")


def test_folder_that_the_session_has_no_more(account, made, workspace):
    """REQ-W07: a path outside of what the session has now is left, with the reason."""
    account.mkdir(workspace.path / "other")
    account.give(workspace.path / "other")
    up = Up(account, made.openworker)
    with ModelServer([calls(write(str(workspace.path / "other/b.txt"), "b\n")), calls(write("a.txt", "a\n")),
                      {"text": "Done."}]) as server, EngineClient(account) as client:
        made.id = client.command("session.start", {
            "folders": [str(made.folder), str(workspace.path / "other")], "task": "Do it.", "model": "openai:demo",
            "base_url": server.url, "provider": made.wall.name, "approve": "sandboxed", "interactive": True,
            "keep": True}, seconds=30)["session"]
        client.wait_event(lambda event: event["type"] == "turn-ended", 60)
        client.command("session.folders", {"session": made.id, "remove": [str(workspace.path / "other")]}, seconds=60)
        shown = client.command("session.undo", {"session": made.id}, seconds=60)
        assert states(shown) == {"a.txt": "would restore"}
        assert [(os.path.basename(s["path"]), s["state"]) for s in shown["skipped"]] == [("b.txt", "outside")]
        done = client.command("session.undo", {"session": made.id, "preview": shown["call"]}, seconds=60)
        assert states(done) == {"a.txt": "restored"} and made.read("a.txt") == "one\ntwo\nthree\n"
        assert (workspace.path / "other/b.txt").read_text() == "b\n"
        client.command("session.end", {"session": made.id})
        client.wait_event(lambda event: event["type"] == "session-ended", 30)
    assert up.stop() == 0
