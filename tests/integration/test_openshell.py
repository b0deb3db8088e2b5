# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session with --provider openshell, on the simulated openshell: what is inside, what refuses it and
in which words, and that nothing is left behind (REQ-W01, REQ-W04, REQ-W08, REQ-W09, REQ-W10,
REQ-W11, REQ-W13; holes S09 to S12, S21, A11 to A16, A43)."""

import json
import os
import re
import signal

import pytest
from conftest import scaled, wait_until
from container_engine import ContainerEngine
from engines import Up
from openshells import OpenshellSim, check_calls

IMAGE = ("ghcr.io/nvidia/openshell-community/sandboxes/base@sha256:"
         "aeef1c63f00e2913ea002ccb3aaf925f338b5c5d70e63576f0d95c16a138044e")
REFUSED = "Sessions on this machine are refused: "


def own_folder(account, path, ordinary_ids):
    """Nothing in a sandbox of OpenShell runs as root, so root's sessions are with folders of others."""
    if account.is_root:
        os.chown(path, *ordinary_ids)


@pytest.fixture
def openshell(account, workspace, ordinary_ids):
    own_folder(account, workspace.folder, ordinary_ids)
    with OpenshellSim(account) as sim:
        sim.install()
        sim.engine = ContainerEngine(account, sim.programs)
        yield sim
        sim.engine.close()
        check_calls(sim)


@pytest.fixture
def exec_in(account, workspace, openworker):
    def run(*command, folders=None, **options):
        words = [word for folder in folders or [workspace.folder] for word in ("--folder", folder)]
        return account.run([openworker, "sandbox", "exec", "--provider", "openshell", *words,
                            "--", *command], **options)
    return run


def sandboxes(sim):
    done = sim.run("sandbox", "list", "-o", "json")
    assert done.returncode == 0, done.stderr
    return sorted(item["name"] for item in json.loads(done.stdout))


def entries(place, *allowed):
    return set(os.listdir(place)) - set(allowed) if place.exists() else set()


def check_nothing_here(workspace):
    """Of this machine; the locks stay: one who took such a file away could let two have it."""
    assert entries(workspace.private_homes) == set()
    assert entries(workspace.state / "registry", "reserve.lock") == set()
    assert entries(workspace.runtime / "coworker", "engine.lock") == set()


def check_nothing_left(sim, workspace):
    check_nothing_here(workspace)
    assert sandboxes(sim) == []
    wait_until(lambda: sim.containers() == {}, 10, "the end of the containers")


def said(done):
    lines = [line for line in done.stderr.splitlines() if line.startswith("openworker: ")]
    assert len(lines) == 1, done.stderr
    return lines[0].removeprefix("openworker: ")


def check_refused(done, *words):
    assert done.returncode == 69, done.stdout + done.stderr
    line = said(done)
    for word in words:
        assert word in line, line
    return line


# ---- a session

def test_session_runs_inside(openshell, exec_in, account, workspace, ordinary_ids):
    """REQ-W01, REQ-W08, REQ-W09: its folder at its own path, a home of its own, the folder's owner,
    and nothing else of the machine; all of it gone afterwards."""
    account.write(workspace.home / "secret", "canary")
    account.write(workspace.folder / "here", "file\n")
    own_folder(account, workspace.folder / "here", ordinary_ids)
    script = ("id -u; id -g; pwd; echo $HOME; stat -c %a $HOME; cat here; echo made > made; "
              f"cat {workspace.home}/secret 2>&1; cat /root/.bashrc 2>&1; touch $HOME/x && echo home; "
              "touch /opt/openworker/x /usr/x 2>&1; tr '\\0' ' ' < /proc/1/cmdline")
    done = exec_in("sh", "-c", script)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [str(number) for number in ordinary_ids]
    assert lines[2] == str(workspace.folder)
    assert re.fullmatch(re.escape(f"{workspace.private_homes}/") + "[0-9a-f]{12}", lines[3]), lines[3]
    assert lines[4:6] == ["700", "file"]
    assert "canary" not in done.stdout and "home" in lines
    assert done.stdout.count("annot touch") == 2, done.stdout
    assert (workspace.folder / "made").read_text() == "made\n"
    assert (workspace.folder / "made").stat().st_uid == ordinary_ids[0]
    check_nothing_left(openshell, workspace)


def test_what_is_asked_for(openshell, exec_in, workspace):
    """S12, S13, A14, REQ-W13: our own name and labels, mounts whose mode is said, no provider, and the
    policy of a file that only we can read."""
    assert exec_in("true").returncode == 0
    [create] = [argv for _, _, argv in openshell.calls() if argv[:2] == ["sandbox", "create"]]
    name = create[create.index("--name") + 1]
    assert re.fullmatch("ow-[0-9a-f]{12}", name), create
    assert {"--no-tty", "--detach", "--no-auto-providers"} <= set(create[:create.index("--")])
    assert create[create.index("--from") + 1] == IMAGE
    labels = dict(create[i + 1].split("=", 1) for i, word in enumerate(create) if word == "--label")
    assert labels["openworker"] == "1"
    assert re.fullmatch("[0-9a-f]{16}", labels["openworker-owner"])
    assert re.fullmatch("[A-Za-z0-9._-]{1,63}", labels["openworker-session"])
    mounts = json.loads(create[create.index("--driver-config-json") + 1])["docker"]["mounts"]
    assert all(isinstance(mount["read_only"], bool) for mount in mounts), mounts
    by_target = {mount["target"]: mount for mount in mounts}
    assert by_target[str(workspace.folder)]["read_only"] is False
    assert by_target["/opt/openworker/openworker-runner"]["read_only"] is True
    # Besides those the private home and what undo needs, and nothing else.
    others = set(by_target) - {str(workspace.folder), "/opt/openworker/openworker-runner"}
    assert len(mounts) == 4 and len(others) == 2
    assert all(path.startswith((f"{workspace.private_homes}/", f"{workspace.data}/sessions/"))
               for path in others), others
    policy = create[create.index("--policy") + 1]
    assert policy.startswith(str(workspace.runtime)) and not os.path.exists(policy)
    main = create[create.index("--") + 1:]
    assert main[:2] == ["/opt/openworker/openworker-runner", "serve"]


def test_S09_read_only_folder_in_a_read_write_one(openshell, exec_in, account, workspace,
                                                  ordinary_ids):
    """The policy alone would not hold it: Landlock's rule for the outer folder is one for the inner
    one too. The mount does, and it is proven before use."""
    inner = account.mkdir(workspace.folder / "inner")
    account.write(inner / "kept", "kept")
    for path in (inner, inner / "kept"):
        own_folder(account, path, ordinary_ids)
    script = f"touch {workspace.folder}/outer && echo outer; cat {inner}/kept; touch {inner}/x"
    done = exec_in("sh", "-c", script, folders=[workspace.folder, f"{inner}:ro"])
    assert done.stdout == "outer\nkept", done.stdout + done.stderr
    assert "Read-only file system" in done.stderr and done.returncode == 1
    assert os.listdir(inner) == ["kept"]
    check_nothing_left(openshell, workspace)


NAMES = ["with space", "quote\"d", "it's", "a, b", "#hash", "-dash", "{brace}", "*star", "ümläut 日本", "back\\slash"]


@pytest.mark.parametrize("name", NAMES)
def test_S12_folder_names(openshell, exec_in, account, workspace, ordinary_ids, name):
    folder = account.mkdir(workspace.folder / name)
    own_folder(account, folder, ordinary_ids)
    done = exec_in("sh", "-c", "pwd; touch made", folders=[folder])
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder}\n"
    assert os.listdir(folder) == ["made"]


@pytest.mark.parametrize("name,words", [("line\nbreak", "line break"), ("end ", "white space"),
                                        ("tab\tin", "control"), ("a:b", "colon")])
def test_S12_folder_names_that_cannot_be(openshell, exec_in, account, workspace, ordinary_ids,
                                         name, words):
    folder = account.mkdir(workspace.folder / name)
    own_folder(account, folder, ordinary_ids)
    check_refused(exec_in("true", folders=[folder]), words, "--provider bubblewrap")
    check_nothing_left(openshell, workspace)
    assert not any(argv[:2] == ["sandbox", "create"] for _, _, argv in openshell.calls())


@pytest.mark.root
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_folder_of_root_is_refused(openshell, workspace, openworker, account):
    """OpenShell runs nothing as root, and says so only when it is asked for a sandbox."""
    os.chown(workspace.folder, 0, 0)
    done = account.run([openworker, "sandbox", "exec", "--provider", "openshell", "--folder", workspace.folder,
                        "--", "true"])
    check_refused(done, str(workspace.folder), "as root", "--provider bubblewrap")
    check_nothing_left(openshell, workspace)


def test_limits_and_image_of_the_settings(openshell, exec_in, account, workspace):
    account.write(workspace.config / "config.toml", "[sandbox_limits]\ncpu = 2\nmemory = \"1Gi\"\n")
    account.extra_env["OPENWORKER_SANDBOX_IMAGE"] = "example.org/other:1"
    assert exec_in("true").returncode == 0
    [create] = [argv for _, _, argv in openshell.calls() if argv[:2] == ["sandbox", "create"]]
    assert create[create.index("--cpu") + 1] == "2" and create[create.index("--memory") + 1] == "1Gi"
    assert create[create.index("--from") + 1] == "example.org/other:1"


# ---- what refuses it

def not_installed(sim, workspace):
    sim.account.extra_env["PATH"] = "/usr/bin:/bin"


def not_registered(sim, workspace):
    (sim.config / "active_gateway").unlink()


def no_image_at_the_gateway(sim, workspace):
    sim.image(present=False)
    sim.fail("pull", "pull")


REFUSALS = {
    "not-installed": (not_installed, ["openshell", "Install OpenShell 0.0.116"]),
    "older": (lambda sim, _: sim.set_version("0.0.115"), ["0.0.115", "0.0.116", "sandbox_openshell_any_version"]),
    "newer": (lambda sim, _: sim.set_version("0.0.116-dev.7+g2f7fb6559"), ["0.0.116-dev.7", "any_version"]),
    "gateway-down": (lambda sim, _: sim.kill(), ["gateway does not answer", "systemctl --user restart"]),
    "not-registered": (not_registered, ["no OpenShell gateway is registered", "gateway add"]),
    "not-authenticated": (lambda sim, _: sim.set(status={"status": "connected", "authentication": "required"}),
                          ["login", "openshell gateway login"]),
    "C02-not-openshell": (lambda sim, _: sim.set(status={"status": "connected_http",
                                                         "authentication": "not_required"}),
                          ["HTTP", "not OpenShell"]),
    "A16-certificate": (lambda sim, _: sim.fail("call", "certificate"), ["certificate", "Register it again"]),
    "bind-mounts-off": (lambda sim, _: sim.set_driver("docker", bind_mounts=False),
                        ["may not mount folders", "enable_bind_mounts = true"]),
    "engine-down": (lambda sim, _: sim.engine.down(), ["daemon"]),
    "image-absent": (lambda sim, _: sim.engine.image(False),
                     ["The sandbox base image is not downloaded yet", IMAGE, "docker pull"]),
    "image-absent-at-the-gateway": (no_image_at_the_gateway, ["The sandbox base image is not downloaded yet", IMAGE]),
    "disk-full": (lambda sim, _: sim.fail("create", "create-disk-full"), ["disk", "full"]),
    "container-start": (lambda sim, _: sim.fail("create", "start"), ["container engine failed"]),
    "create-unknown": (lambda sim, _: sim.fail("create", "the moon is full"), ["the moon is full"]),
    "S10-no-landlock": (lambda sim, _: sim.set(no_landlock=True), ["Landlock"]),
    "call-dropped": (lambda sim, _: sim.fail("call", "dropped"), ["broke", "openshell status"]),
    "call-garbage": (lambda sim, _: sim.fail("call", "garbage"), ["cannot read"]),
    "exec-dropped": (lambda sim, _: sim.fail("exec", "dropped"), ["no command runs in it"]),
}


@pytest.mark.parametrize("cause", list(REFUSALS))
def test_refused(openshell, exec_in, workspace, cause):
    """REQ-W04, REQ-U11: exit 69, the cause, what to do next; never another level, and nothing is left behind."""
    prepare, words = REFUSALS[cause]
    prepare(openshell, workspace)
    done = exec_in("touch", "ran", timeout=120)
    line = check_refused(done, *words)
    assert line.startswith(REFUSED), line
    assert not (workspace.folder / "ran").exists()
    check_nothing_here(workspace)
    openshell.fail("call", None)
    wait_until(lambda: openshell.containers() == {}, 10, "the end of the containers")


def test_any_version_of_the_settings(openshell, exec_in, account, workspace):
    openshell.set_version("0.0.115")
    account.write(workspace.config / "config.toml", "sandbox_openshell_any_version = true\n")
    assert exec_in("true").returncode == 0


def test_S11_A12_mount_that_shows_another_folder(openshell, exec_in, workspace):
    """The container has something else at the folder's path: the folder is named, and nothing ran."""
    openshell.set(shadowed=[str(workspace.folder)])
    done = exec_in("touch", "ran")
    check_refused(done, str(workspace.folder), "does not hold the folder")
    assert not (workspace.folder / "ran").exists()
    assert os.listdir(workspace.folder) == []
    check_nothing_left(openshell, workspace)


def go_on(process):
    """It says its state before it stops there: one that is told to go on too early stays."""
    def stopped():
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] == "T"
    wait_until(stopped, 10, "the stop")
    os.killpg(process.pid, signal.SIGCONT)


def test_W13_attached_credential_provider(openshell, exec_in, workspace):
    """REQ-W13: not asked for and attached all the same, it would hand keys to the inside."""
    openshell.set(providers=["vendor"])
    done = exec_in("touch", "ran")
    check_refused(done, REFUSED, "credential provider")
    assert not (workspace.folder / "ran").exists()
    check_nothing_left(openshell, workspace)


def test_phantom_sandbox(openshell, account, workspace, openworker, exec_in):
    """Its phase says Ready and its container is gone: the cause is named, and nothing is left."""
    process = account.popen([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                             workspace.folder, "--", "touch", "ran"],
                            env={"OPENWORKER_TEST_STATE": "openshell-created"}, stdout=-3, stderr=-1, text=True)
    assert process.stderr.readline() == "state openshell-created\n"
    [name] = sandboxes(openshell)
    openshell.phantom(name)
    go_on(process)
    done = process.communicate(timeout=scaled(240))[1]
    assert process.returncode == 69, done
    assert REFUSED in done and "no command runs in it" in done, done
    check_nothing_left(openshell, workspace)


def test_S11_private_home_that_is_another_folder(openshell, account, workspace, openworker):
    """Never an empty home in place of the session's own."""
    process = account.popen([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                             workspace.folder, "--", "touch", "ran"],
                            env={"OPENWORKER_TEST_STATE": "openshell-reserved"}, stdout=-3, stderr=-1, text=True)
    assert process.stderr.readline() == "state openshell-reserved\n"
    [home] = workspace.private_homes.iterdir()
    openshell.set(shadowed=[str(home)])
    go_on(process)
    done = process.communicate(timeout=scaled(120))[1]
    assert process.returncode == 69, done
    assert str(home) in done and "does not hold the folder" in done, done
    assert not (workspace.folder / "ran").exists()
    check_nothing_left(openshell, workspace)


def test_A11_docker_of_the_snap_store(openshell, exec_in, account, workspace):
    """It does not see hidden folders and shows an empty one in their place: the private home is one."""
    ContainerEngine(account, openshell.programs, DockerRootDir="/var/snap/docker/common/var-lib-docker")
    check_refused(exec_in("true"), "snap", "Podman")
    check_nothing_left(openshell, workspace)
    assert not any(argv[:2] == ["sandbox", "create"] for _, _, argv in openshell.calls())


def test_engine_here_does_not_count_for_kubernetes(openshell, exec_in, workspace):
    """A gateway elsewhere has its disk and images elsewhere: nothing here says whether they are there."""
    openshell.engine.down()
    assert "Docker" in exec_in("true").stderr
    openshell.set_driver("kubernetes")
    done = exec_in("true", timeout=120)
    assert "Docker" not in done.stderr and "image" not in done.stderr, done.stderr
    check_nothing_here(workspace)


# ---- how many, and whose

def hold(account, openworker, workspace, **env):
    """A session that stays until it is killed."""
    process = account.popen([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                             workspace.folder, "--", "sh", "-c", "echo up; sleep 600"],
                            env=env, stdout=-1, stderr=-1)
    line = process.stdout.readline()
    assert line == b"up\n", process.stderr.read()
    return process


def test_W11_as_many_as_may(openshell, exec_in, account, workspace, openworker):
    """REQ-W11: the next one is refused with what to do, and takes nothing from the ones that run."""
    held = hold(account, openworker, workspace)
    done = exec_in("true", env={"OPENWORKER_SANDBOX_MAX": "1"})
    check_refused(done, "1 sandboxes run already", "openworker sandbox list", "openworker sandbox reap")
    assert len(sandboxes(openshell)) == 1
    assert exec_in("true", env={"OPENWORKER_SANDBOX_MAX": "2"}).returncode == 0
    assert len(sandboxes(openshell)) == 1
    held.send_signal(signal.SIGINT)
    held.wait(scaled(60))
    check_nothing_left(openshell, workspace)


STATES = ["openshell-reserved", "openshell-creating", "openshell-progress", "openshell-created",
          "openshell-verified", "channel-up", "mount-proving", "mounts-proven", "openshell-deleting", "wall-stopped"]


@pytest.mark.parametrize("state", STATES)
def test_S21_A43_killed(openshell, exec_in, account, workspace, openworker, state):
    """Killed at any point of its life: the next start removes what it left, here and at the gateway."""
    process = account.popen([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                             workspace.folder, "--", "true"],
                            env={"OPENWORKER_TEST_STATE": state}, stdout=-3, stderr=-1)
    assert process.stderr.readline().decode() == f"state {state}\n"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert entries(workspace.state / "registry", "reserve.lock"), "its entry went before it"
    done = exec_in("true")
    assert done.returncode == 0, done.stderr
    check_nothing_left(openshell, workspace)


def test_S21_stopped_by_its_person_while_it_is_made(openshell, account, workspace, openworker):
    openshell.slow("create", scaled(90))
    process = account.popen([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                             workspace.folder, "--", "true"], stdout=-3, stderr=-1)
    wait_until(lambda: any(argv[:2] == ["sandbox", "create"] for _, _, argv in openshell.calls()), 20, "the create")
    process.send_signal(signal.SIGINT)
    assert process.wait(scaled(45)) == 130, process.stderr.read()
    assert b"CRITICAL" not in process.stderr.read()
    check_nothing_left(openshell, workspace)


def test_S21_others_are_never_touched(openshell, exec_in, account, workspace, openworker,
                                      ordinary_ids):
    """One that is alive, one of another owner, and one without our labels stay, whatever is reaped."""
    held = hold(account, openworker, workspace)
    alive = sandboxes(openshell)
    policy = workspace.path / "policy.yaml"
    uid, gid = ordinary_ids
    account.write(policy, "version: 1\nfilesystem_policy:\n  read_only: [/usr, /lib, /etc, /proc, /sandbox]\n"
                          f"  read_write: [/tmp, /dev/null]\nprocess:\n  run_as_user: \"{uid}\"\n"
                          f"  run_as_group: \"{gid}\"\n")
    others = {"ow-0123456789ab": ["--label", "openworker=1", "--label", "openworker-owner=0123456789abcdef"],
              "mine": [], "ow-notours": ["--label", "openworker=1"]}
    for name, labels in others.items():
        done = openshell.run("sandbox", "create", "--name", name, "--from", IMAGE, "--no-tty", "--detach",
                             "--no-auto-providers", "--policy", policy, *labels, "--", "/bin/sleep", "600")
        assert done.returncode == 0, done.stderr
    assert account.run([openworker, "sandbox", "reap"]).returncode == 0
    assert exec_in("true").returncode == 0
    assert sandboxes(openshell) == sorted([*alive, *others])
    held.send_signal(signal.SIGINT)
    held.wait(scaled(60))
    assert sandboxes(openshell) == sorted(others)


def test_S21_kept_while_the_gateway_is_down(openshell, exec_in, account, workspace, openworker):
    """What cannot be removed now keeps its entry, is told, and does not hold up a wall of another kind."""
    held = hold(account, openworker, workspace)
    os.killpg(held.pid, signal.SIGKILL)
    held.wait()
    [left] = sandboxes(openshell)
    openshell.kill()
    done = account.run([openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder", workspace.folder,
                        "--", "true"])
    assert done.returncode == 0, done.stderr
    check_refused(exec_in("true"), "gateway does not answer")
    assert len(entries(workspace.state / "registry", "reserve.lock")) == 2
    openshell.start()
    wait_until(lambda: left in sandboxes(openshell), 30, "the gateway")
    assert exec_in("true").returncode == 0
    check_nothing_left(openshell, workspace)


# ---- with nothing set

def test_M01_up_takes_openshell_where_it_can(openshell, account, workspace, openworker):
    """REQ-M01: OpenShell when installed and running, else the next; told in `status`."""
    engine = Up(account, openworker)
    assert json.loads(engine.run("status", "--json").stdout)["provider"] == "openshell"
    assert engine.stop() == 0
    openshell.kill()
    engine = Up(account, openworker)
    answer = json.loads(engine.run("status", "--json").stdout)
    assert answer["provider"] == "bubblewrap"
    assert "OpenShell is installed and cannot be used now" in answer["notice"]
    assert engine.stop() == 0


def test_S21_engine_start_takes_what_has_no_entry(openshell, account, workspace, openworker):
    """A sandbox that carries our label and that nothing here knows of goes when an engine starts."""
    held = hold(account, openworker, workspace)
    os.killpg(held.pid, signal.SIGKILL)
    held.wait()
    for entry in (workspace.state / "registry").glob("*.*"):
        entry.unlink()
    assert len(sandboxes(openshell)) == 1
    engine = Up(account, openworker)
    wait_until(lambda: sandboxes(openshell) == [], 20, "the end of the orphan")
    assert engine.stop() == 0
