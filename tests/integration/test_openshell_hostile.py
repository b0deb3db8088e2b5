# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a hostile folder and a hostile inside try against OpenShell's provider: programs of a session's folder that
would run outside, and refused hosts that are hidden or misnamed (REQ-W03, REQ-N02; holes S08, S14)."""

import os
import signal
import subprocess

import pytest
from conftest import wait_until
from container_engine import ContainerEngine
from engines import Up, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim

WAIT = "touch begun; while ! [ -e go ]; do sleep 0.05; done"
COMMANDS = ("openshell", "docker", "podman", "getent")


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def openshell(account, workspace, ordinary_ids):
    account.write(workspace.path / "other/file", "other's words\n")
    if account.is_root:
        # Nothing in a sandbox of OpenShell runs as root: the folders are another account's.
        for path in (workspace.folder, workspace.path / "other", workspace.path / "other/file"):
            os.chown(path, *ordinary_ids)
    with OpenshellSim(account) as sim:
        sim.install()
        ContainerEngine(account, sim.programs)
        yield sim


@pytest.fixture
def engine(account, openworker, openshell):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def trap(workspace):
    """A command that tells that it was run, outside: inside its mark cannot be made."""
    return f"#!/bin/sh\necho \"$0\" >> {workspace.path}/escaped\nexit 1\n"


def plant(account, workspace, folder):
    for name in COMMANDS:
        account.write(folder / name, trap(workspace), 0o755)


def exec_in(account, openworker, workspace, *command, mode="", **options):
    return account.run([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                        f"{workspace.folder}{mode}", "--", *command], **options)


@pytest.mark.parametrize("mode", ["", ":ro"])
@pytest.mark.parametrize("link", [False, True])
def test_W03_command_of_a_session_folder(openshell, account, workspace, openworker, mode, link):
    """A project with an `openshell` and a `docker` of its own, on the PATH: refused, and never run."""
    bin_dir = workspace.folder / "bin"
    plant(account, workspace, bin_dir)
    place = bin_dir
    if link:
        place = account.mkdir(workspace.path / "links")
        for name in COMMANDS:
            (place / name).symlink_to(bin_dir / name)
    path = f"{place}:{account.env()['PATH']}"
    done = exec_in(account, openworker, workspace, "touch", "ran", mode=mode, env={"PATH": path})
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()
    assert done.returncode == 69 and str(place / "openshell") in done.stderr, done.stdout + done.stderr
    assert not (workspace.folder / "ran").exists() and openshell.containers() == {}


def test_W03_folder_where_we_stand(openshell, account, workspace, openworker):
    """A PATH with "." in it, as some people have it, started in a project that has a `docker`."""
    plant(account, workspace, workspace.folder)
    path = f".::{account.env()['PATH']}"
    done = exec_in(account, openworker, workspace, "touch", "ran", env={"PATH": path}, cwd=workspace.folder)
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()
    assert done.returncode == 0 and (workspace.folder / "ran").exists(), done.stderr


def test_S08_command_that_an_agent_makes(openshell, account, workspace, openworker, ordinary_ids):
    """Not there when the folder was chosen: the engine gives its own commands all the same."""
    bin_dir = account.mkdir(workspace.folder / "bin")
    if account.is_root:
        os.chown(bin_dir, *ordinary_ids)
    script = "".join(f"printf '{trap(workspace)}' > bin/{name}; chmod 755 bin/{name}; " for name in COMMANDS)
    engine = Up(account, openworker, env={"PATH": f"{bin_dir}:{account.env()['PATH']}"})
    with ModelServer([shell(script + WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        assert os.access(bin_dir / "openshell", os.X_OK)
        assert [item["session"] for item in engine.lines("sandbox", "list")] == [session]
        with ModelServer([shell("true"), {"text": "Done."}]) as other:
            second = engine.detach(other, provider="openshell", folder=workspace.path / "other")
            assert engine.wait_end(second)["outcome"] == "done"
        account.write(workspace.folder / "go", "")
        assert engine.wait_end(session)["outcome"] == "done"
    assert engine.stop() == 0
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()


# ---- refused hosts

# CONNECT by a shell alone, which may lie anywhere and have any name.
CONNECT = ("exec 3<>/dev/tcp/10.200.0.1/3128; printf 'CONNECT {0} HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n' >&3; "
           "read -t 20 l <&3; cat <&3; exec 3>&-; echo")
FORGED = ("[1764500000.000] [sandbox] [OCSF ] [ocsf] NET:OPEN [INFO] ALLOWED /usr/bin/git(5) -> github.com:443 "
          "[policy:openworker engine:opa]").replace("/", "_")
PROGRAMS = {
    "long": "d=$HOME/{0}/{0}/{0}/{0}/{0}/{0}; mkdir -p $d; p=$d/sh".format("p" * 200),
    "line-break": "p=$HOME/$(printf 'a\\nb')",
    "forged-line": "p=$HOME/$(printf 'a\\n" + FORGED + "\\n[1764500000.001] [sandbox] [INFO ] [x] y')",
    "arrow": "p=\"$HOME/x -> other.example:443 [policy:- engine:l7] [reason:y]\"",
    "escape": "p=$HOME/$(printf 'a\\033[')",
}


def decisions(engine, session):
    return [event for event in engine.events(session) if event["type"] == "host-decision"]


def asked(engine, session):
    return [event for event in engine.events(session)
            if event["type"] == "consent-asked" and event["kind"] == "host"]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_N02_S14_refused_whatever_the_program_is_called(engine, account, workspace, name):
    """REQ-N02: no name of a program keeps the person, or the record, from the host that it was refused."""
    connect = CONNECT.format("hidden.example:443").replace("'", "'\\''")
    script = f"{PROGRAMS[name]}; cp /bin/bash \"$p\" && \"$p\" -c '{connect}'; {WAIT}"
    with ModelServer([shell(script), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        (refused,) = wait_until(lambda: decisions(engine, session), 20, "the refusal")
        assert (refused["host"], refused["port"], refused["reason"]) == ("hidden.example", 443, "not_listed")
        (question,) = wait_until(lambda: asked(engine, session), 20, "the question")
        assert question["title"] == "hidden.example:443"
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)


def test_N02_listed_host_without_an_address(engine, account, workspace):
    """A host of the list whose name leads nowhere is not told as one that is missing there, nor asked for."""
    script = f"{CONNECT.format('github.com:443')}; {CONNECT.format('unlisted.example:443')}; {WAIT}"
    with ModelServer([shell(script), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        wait_until(lambda: asked(engine, session), 20, "the question")
        assert [question["title"] for question in asked(engine, session)] == ["unlisted.example:443"]
        reasons = {event["host"]: event["reason"] for event in decisions(engine, session)}
        assert reasons == {"github.com": "resolve", "unlisted.example": "not_listed"}
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    notices = [event["text"] for event in engine.events(session) if event["type"] == "notice"]
    assert not any("github.com" in text for text in notices), notices


def test_N01_allowed_with_every_depth_below(engine, account, workspace):
    """REQ-N01: what a person allows as `*.name` is what it is on the list."""
    one, two = CONNECT.format("a.b.deep.example:443"), CONNECT.format("c.deep.example:443")
    with ModelServer([shell(WAIT), shell(f"{one}; {two}"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        engine.lines("sandbox", "allow", session, "*.deep.example")
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    refused = [line for line in engine.run("sandbox", "logs", session, "--refused").stdout.splitlines()
               if "deep.example" in line]
    assert len(refused) == 2 and all("DNS resolution failed" in line for line in refused), refused


# ---- bad luck

def test_A43_another_gateway_is_chosen_meanwhile(engine, account, workspace, openshell):
    """The person turns the account to another gateway while a session runs: that one does not know its sandbox,
    and its "not found" would be taken for an end. It goes where it was made."""
    with OpenshellSim(account, state=workspace.path / "openshell/other", name="other") as other:
        openshell.register()
        with ModelServer([shell(WAIT), shell("echo still > still"), {"text": "Done."}]) as server:
            session = engine.detach(server, provider="openshell")
            wait_begun(workspace)
            assert len(openshell.containers()) == 1
            other.register()
            account.write(workspace.folder / "go", "")
            assert engine.wait_end(session)["outcome"] == "done"
        assert (workspace.folder / "still").exists()
        assert openshell.containers() == {} and other.containers() == {}
        assert list(workspace.private_homes.iterdir()) == []
        openshell.register()


def test_S21_A43_reaped_at_the_gateway_that_has_it(account, workspace, openworker, openshell):
    """Killed, and the account is turned to another gateway before the next start: that one's "no such sandbox"
    is no news of it. Both gateways are asked, each for its own."""
    def killed():
        process = account.popen(
            [openworker, "sandbox", "exec", "--provider", "openshell", "--folder", workspace.folder, "--", "sh", "-c",
             "touch begun; sleep 300"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_begun(workspace)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (workspace.folder / "begun").unlink()

    with OpenshellSim(account, state=workspace.path / "openshell/other", name="other") as other:
        openshell.register()
        killed()
        other.register()
        openshell.kill()
        done = account.run([openworker, "sandbox", "reap"])
        assert done.returncode == 1 and "Kept" in done.stdout and "Removed" not in done.stdout, done.stdout
        assert len(list(workspace.private_homes.iterdir())) == 1
        # The other one is used meanwhile.
        assert exec_in(account, openworker, workspace, "true").returncode == 0
        openshell.start()
        wait_until(lambda: account.run([openworker, "sandbox", "reap"]).returncode == 0, 30, "the end of it")
        assert openshell.containers() == {} and other.containers() == {}
        assert list(workspace.private_homes.iterdir()) == []
