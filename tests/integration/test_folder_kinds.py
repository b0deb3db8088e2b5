# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Folders of every kind work from end to end, or are refused by their name before anything starts: odd
names, many, one in the other, mount points, file systems, other owners (REQ-W01, REQ-W10, REQ-W12)."""

import contextlib
import ctypes
import itertools
import os
import subprocess
import time

import pytest
from conftest import scaled
from engines import Up

NAMES = {
    "space": "with space", "blanks": " both ends ", "quotes": "quote\"'s", "command": "$(touch made)`id`",
    "format": "%s%n%d", "newline": "line\nbreak", "tab": "tab\there", "dash": "-rf", "option": "--bind",
    "emoji": "🦀 ünï", "decomposed": "e\u0301", "composed": "\u00e9", "long": "x" * 255, "backslash": "back\\n",
    "semicolon": ";ls", "star": "*", "tilde": "~", "dots": "...", "hidden": ".hidden", "mode": "folder:ro",
    "colon": "a:b", "comma": "a,b=c", "direction": "\u202egnp", "brackets": "[a]{b}", "hash": "#a&b|c",
}


@pytest.fixture
def inside(account, openworker, wall):
    def run(folders, *command, **options):
        words = [word for folder in folders for word in ("--folder", folder)]
        return account.run([openworker, "sandbox", "exec", *wall.argv, *words, "--", *command], **options)
    return run


# What OpenShell's container engines cannot be told of, and why (S12).
NOT_IN_OPENSHELL = {"blanks": "white space", "newline": "control character", "tab": "control character",
                    "colon": "colon", "mode": "colon"}


@pytest.mark.parametrize("kind", NAMES)
def test_name(account, workspace, inside, wall, kind):
    folder = account.mkdir(workspace.path / "names" / NAMES[kind])
    account.write(folder / "given", "of the person\n")
    given = f"{folder}:rw" if kind == "mode" else folder
    done = inside([given], "sh", "-c", "pwd; cat given; echo made inside > made")
    if wall.is_openshell and kind in NOT_IN_OPENSHELL:
        assert done.returncode == 69 and NOT_IN_OPENSHELL[kind] in done.stderr, done.stderr
        assert not (folder / "made").exists()
        return
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder}\nof the person\n"
    assert (folder / "made").read_text() == "made inside\n"
    # Nothing of the name was run or read as anything else.
    assert sorted(os.listdir(folder.parent)) == [NAMES[kind]] and sorted(os.listdir(folder)) == ["given", "made"]


def test_name_that_ends_as_a_mode_is_never_another_folder(account, workspace, inside, wall):
    """Not even where that one is there."""
    meant = account.mkdir(workspace.path / "folder:ro")
    account.write(meant / "given", "x")
    for folder in (meant, workspace.path / "folder:ro"):
        done = inside([folder], "ls")
        assert done.returncode == 2 and "folder:ro" in done.stderr and ":rw" in done.stderr, done.stderr
    if not wall.is_openshell:
        done = inside([f"{meant}:ro"], "sh", "-c", "ls; touch made")
        assert done.stdout == "given\n" and done.returncode != 0 and not (meant / "made").exists()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("modes", ["rw ro rw", "ro rw ro"])
def test_three_levels_in_every_order(account, workspace, inside, order, modes):
    """S09: each level has the mode that it was given, whichever was named first."""
    levels = [workspace.path / "a", workspace.path / "a/b", workspace.path / "a/b/c"]
    modes = modes.split()
    for level in levels:
        account.mkdir(level)
    account.give(levels[0])
    done = inside([f"{levels[i]}:{modes[i]}" for i in order], "sh", "-c",
                  "for d; do (: > \"$d/made\") 2>&1 | grep -c . ; done; true", "sh", *levels)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [{"rw": "0", "ro": "1"}[mode] for mode in modes], done.stdout
    assert [(level / "made").exists() for level in levels] == [mode == "rw" for mode in modes]


def test_three_hundred_folders_are_refused_and_sixty_four_work(account, workspace, inside):
    folders = [account.mkdir(workspace.path / f"many/{n}") for n in range(300)]
    account.give(workspace.path / "many")
    done = inside(folders, "true")
    assert done.returncode == 2 and "64 folders, and 300 were named" in done.stderr, done.stderr
    done = inside(folders[:64], "sh", "-c", 'for d; do : > "$d/made"; done', "sh", *folders[:64], timeout=120)
    assert done.returncode == 0, done.stderr
    assert sum((folder / "made").exists() for folder in folders) == 64


def test_two_sessions_in_one_folder(account, workspace, openworker, wall):
    words = [openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--", "sh", "-c"]
    account.give(workspace.folder)
    # Each waits for the other's file, so both are inside at once.
    both = [account.popen([*words, f"echo {a} > {a}; until [ -s {b} ]; do sleep 0.1; done; cat {b}"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for a, b in (("one", "two"), ("two", "one"))]
    said = [process.communicate(timeout=scaled(60)) for process in both]
    assert [out for out, _ in said] == [b"two\n", b"one\n"], said


@pytest.fixture
def mounted(account, workspace):
    """Mounts for a while. Called with the words of mount."""
    places = []

    def mount(*words, place):
        account.mkdir(place)
        subprocess.run(["mount", *words, place], check=True)
        places.append(place)
        os.chown(place, *account.owner(place)) if "ro" not in words else None
        return place
    yield mount
    for place in reversed(places):
        subprocess.run(["umount", "-l", place], check=True)


MOUNTS = ["tmpfs", "bind", "overlay", "read-only", "holds-one"]


def make_mount(account, workspace, mounted, kind):
    place, source = workspace.path / "mounted", account.mkdir(workspace.path / "source")
    account.give(source)
    if kind == "tmpfs":
        return mounted("-t", "tmpfs", "none", place=place)
    if kind == "overlay":
        mounted("-t", "tmpfs", "none", place=workspace.path / "layers")
        upper, work = (account.mkdir(workspace.path / "layers" / name) for name in ("upper", "work"))
        account.give(upper)
        return mounted("-t", "overlay", "none", "-o", f"lowerdir={source},upperdir={upper},workdir={work}",
                       place=place)
    if kind == "holds-one":
        account.mkdir(place)
        mounted("-t", "tmpfs", "none", place=place / "below")
        return place
    mounted("--bind", source, place=place)
    if kind == "read-only":
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
    return place


@pytest.mark.root
@pytest.mark.parametrize("kind", MOUNTS)
def test_mount_point(account, workspace, inside, mounted, wall, kind):
    """REQ-W10 [bubblewrap, openshell]: what is mounted in a folder has its mode too."""
    place = make_mount(account, workspace, mounted, kind)
    below = place / "below" if kind == "holds-one" else place
    done = inside([f"{place}:rw"], "sh", "-c", 'echo made > "$0/made" && cat "$0/made"', below)
    if kind == "read-only":
        assert done.returncode == 69 and str(place) in done.stderr and "Add \":ro\"" in done.stderr, done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, "made\n"), done.stderr
        assert (below / "made").read_text() == "made\n"
    done = inside([f"{place}:ro"], "sh", "-c", 'ls -A "$0"; echo x > "$0/other"', below)
    # Landlock's word, where the engine's mount leaves what is mounted below writable.
    assert done.returncode == 2 and ("Read-only file system" in done.stderr or "denied" in done.stderr), done.stderr
    assert done.stdout == ("" if kind == "read-only" else "made\n")
    assert not (below / "other").exists()


@pytest.mark.root
@pytest.mark.parametrize("wall", ["bubblewrap", "openshell"], indirect=True)
def test_folder_of_another_owner(ordinary_user, workspace, openworker, wall):
    """An ordinary account cannot write in it, and is told before anything starts."""
    place = workspace.path / "other"
    place.mkdir(mode=0o755)
    (place / "file").write_text("x")
    words = [openworker, "sandbox", "exec", *wall.argv, "--folder"]
    done = ordinary_user.run([*words, place, "--", "ls"])
    assert done.returncode == 69 and str(place) in done.stderr and "may not write in it" in done.stderr
    done = ordinary_user.run([*words, f"{place}:ro", "--", "ls"])
    assert (done.returncode, done.stdout) == (0, "file\n"), done.stderr
    place.chmod(0o700)
    done = ordinary_user.run([*words, f"{place}:ro", "--", "ls"])
    assert done.returncode == 69 and str(place) in done.stderr, done.stderr


@contextlib.contextmanager
def unanswered(place, uid, gid):
    """A file system of @uid's at @place that no program answers for."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    words = f"fd={device},rootmode=40000,user_id={uid},group_id={gid}"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"theirs", os.fsencode(place), b"fuse", 0, words.encode()) == 0, ctypes.get_errno()
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        os.close(device)


@pytest.mark.root
@pytest.mark.fuse
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_folder_that_its_file_system_keeps_root_from(account, workspace, inside, ordinary_ids):
    """As a person's own FUSE and NFS with root_squash do: refused by its name, and nothing waits for it."""
    place = account.mkdir(workspace.path / "theirs")
    with unanswered(place, *ordinary_ids):
        done = inside([place], "true", timeout=30)
        assert done.returncode == 69 and str(place) in done.stderr and "Permission denied" in done.stderr, done.stderr
        done = inside([f"{place}:ro"], "true", timeout=30)
        assert done.returncode == 69 and str(place) in done.stderr, done.stderr


@pytest.mark.root
@pytest.mark.fuse
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_folder_whose_server_is_silent(account, workspace, openworker, wall):
    """Whoever looks there waits as long as the server does: a question about it ends in time with the
    reason, and the engine answers everybody else meanwhile."""
    place = account.mkdir(workspace.path / "far")
    engine = Up(account, openworker)
    with unanswered(place, 0, 0):
        asked = account.popen([openworker, "sandbox", "explain", *wall.argv, "--folder", place, "--", f"{place}/x"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started = account.popen([openworker, "sandbox", "exec", *wall.argv, "--folder", place, "--", "true"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(5):
            assert engine.run("status", timeout=5).returncode == 0
            time.sleep(scaled(0.2))
        said = asked.communicate(timeout=scaled(60))[1].decode()
        assert asked.returncode == 1 and "did not answer within 10 seconds" in said, said
        said = started.communicate(timeout=scaled(100))[1].decode()
        assert started.returncode == 1 and str(place) in said and "did not answer" in said, said
    assert engine.stop() == 0
