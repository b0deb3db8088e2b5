# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox explain` says what the wall does: 10,000 paths of this machine and of a session
are explained, and then tried from inside (REQ-W01). What the two say has to be the same."""

import collections
import json
import os
import random
import shutil
from pathlib import Path

import pytest
from conftest import wait_until

HERE = Path(__file__).parent
PROBE = HERE / "inside_paths.py"
N_PATHS = 10_000
CHUNK = 2_000
# Where the paths of the machine come from, and how many of each hundred.
ROOTS = {"/usr": 30, "/etc": 20, "/": 8, "/var": 8, "/proc": 6, "/dev": 5, "/sys": 4, "/run": 4,
         "/root": 2, "/home": 2, "/tmp": 3, "/var/tmp": 3, "/opt": 2, "/lib": 3}
ODD = ["..", ".", "", "no-such", "ünïcødé", "e\u0301", "with space", "$(id)", "%s%n", "-dash", "quote\"'",
       "line\nbreak", "\u202e", "x" * 255, "*", "\\", "~"]


def descend(rng, root):
    """A path below @root, some of whose last names may not be there."""
    path = root
    for _ in range(rng.randrange(1, 9)):
        try:
            names = os.listdir(path)
        except OSError:
            break
        if not names:
            break
        path = os.path.join(path, rng.choice(names))
    return path


def make_odd(rng, path):
    """The same path in another way, or one beside it."""
    choice = rng.randrange(4)
    if choice == 0:
        return path + "/" + rng.choice(ODD)
    names = path.split("/")
    place = rng.randrange(1, len(names) + 1)
    names[place:place] = [rng.choice(ODD)] if choice == 1 else ["."] if choice == 2 else [
        rng.choice(ODD[3:]), ".."]
    return "/".join(names)


def make_folders(account, workspace):
    """Folders in folders, read-write and read-only in turn, with files and links: [(path, read-only)]."""
    folder = workspace.folder
    folders = [(folder, False), (folder / "doc", True), (folder / "doc/in it", False),
               (workspace.path / "beside", True), (workspace.path / "beside/deep/er", False)]
    for path, _ in folders:
        account.mkdir(path)
        account.write(path / "file", "x")
        account.write(path / "ünï \"q\" $(x)", "x")
        account.write(path / "closed", "x", 0o000)
        account.write(path / "sub/read-only", "x", 0o444)
        account.mkdir(path / "sub/empty", 0o555)
        for name, target in [("out", "/etc/shadow"), ("up", ".."), ("home", str(workspace.home)),
                             ("system", "/usr/bin"), ("other", str(folders[1][0] / "file")),
                             ("nowhere", "gone"), ("loop", "loop"), ("tmp", "/tmp")]:
            os.symlink(target, path / name)
            os.chown(path / name, *account.owner(path / name), follow_symlinks=False)
    return folders


def draw_paths(rng, workspace, folders):
    roots = [root for root, weight in ROOTS.items() for _ in range(weight)]
    own = [str(path) for path, _ in folders] + [str(workspace.path), str(workspace.home)]
    paths = {"/", "/etc", "/etc/passwd", "/etc/ssl", "/run/ow", "/opt/openworker", "/var", "/var/tmp"}
    # What lies behind a name that may be a link in one place and a folder in another.
    paths |= {f"{root}/{rest}" for root in ("/bin", "/lib", "/lib64", "/usr", "/etc", "/usr/lib", "/nowhere")
              for rest in ("..", "../etc", "../usr", "../..", "./.././bin")}
    while len(paths) < N_PATHS:
        path = descend(rng, rng.choice(own if rng.randrange(4) == 0 else roots))
        if rng.randrange(3) == 0:
            path = make_odd(rng, path)
        try:
            fits = 0 < len(path.encode()) <= 4096 and "\0" not in path
        except UnicodeEncodeError:
            fits = False
        if fits:
            paths.add(path)
    return sorted(paths)


class Explained:
    """One session's folders: what is said of paths, and what is found at them."""

    def __init__(self, account, openworker, wall, folders):
        self.account, self.openworker, self.wall = account, openworker, wall
        self.folders = [word for path, read_only in folders
                        for word in ("--folder", f"{path}:ro" if read_only else path)]
        self.place = folders[0][0]
        shutil.copy(PROBE, self.place / PROBE.name)
        (self.place / PROBE.name).chmod(0o644)

    def say(self, paths):
        """{path: answer}"""
        answers = {}
        for start in range(0, len(paths), CHUNK):
            part = paths[start:start + CHUNK]
            done = self.account.run([self.openworker, "sandbox", "explain", *self.wall.argv,
                                     *self.folders, "--json", "--", *part], timeout=120)
            assert done.returncode == 0, done.stderr
            lines = done.stdout.splitlines()
            assert len(lines) == len(part)
            answers.update(zip(part, map(json.loads, lines)))
        return answers

    def find(self, paths, outside=False):
        """{path: what inside_paths.py saw}"""
        listed = self.place / "list"
        self.account.write(listed, "".join(json.dumps(path) + "\n" for path in paths))
        if outside:
            # The account without the powers that root has outside and nobody has inside.
            uid, gid = self.account.owner(self.place)
            argv = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--inh-caps=-all",
                    "--bounding-set=-all", "--"] if os.geteuid() == 0 else []
            account = type(self.account)(os.geteuid(), os.getegid(), self.account.workspace)
            done = account.run([*argv, "/usr/bin/python3", PROBE.name, "list", "write"], cwd=self.place,
                               timeout=120)
        else:
            done = self.account.run([self.openworker, "sandbox", "exec", *self.wall.argv, *self.folders,
                                     "--", "/usr/bin/python3", PROBE.name, "list", "write"], timeout=120)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == len(paths), done.stderr
        return dict(zip(paths, map(json.loads, lines)))


def find_fault(said, seen, control):
    """What the answer @said and what was @seen inside differ in; None: in nothing. @control: what the
    same account saw outside."""
    if not said["there"]:
        return f"it is there: {seen}" if seen["there"] is True else None
    if seen["there"] is not True:
        return None if said["whose"] in ("own", "image") or control["there"] is not True else (
            f"it is not there: {seen['there']}")
    for way in ("read", "write", "list"):
        if way in seen and not said[way] and seen[way] is True:
            return f"{way} works inside"
    same = control["there"] is True and control["id"] == seen["id"]
    if said["whose"] in ("machine", "session") and not same:
        return f"it is another than outside: {control}"
    if said["whose"] == "own" and same and seen["kind"] != "other":
        return "it is this machine's"
    if said["whose"] == "session":
        for way in ("read", "write", "list"):
            if way in seen and said[way] and seen[way] != control[way]:
                return f"{way} inside: {seen[way]}, outside: {control[way]}"
    if said["whose"] == "machine":
        for way in ("read", "list"):
            if way in seen and said[way] and seen[way] is not True:
                return f"{way} does not work inside: {seen[way]}"
    if said["rule"] in ("tmp", "etc-own", "private-home", "way") and seen["kind"] in ("file", "folder"):
        way = "read" if seen["kind"] == "file" else "list"
        if said[way] and seen[way] is not True:
            return f"{way} does not work inside: {seen[way]}"
    return None


def compare(explained, paths):
    """{path: fault}, and how often each rule was the answer."""
    seen = explained.find(paths)
    # What a link in a folder leads to counts, which nobody looks at for an answer.
    asked = {path: one.get("real", path) for path, one in seen.items()}
    said = explained.say(sorted({*paths, *asked.values()}))
    leads = {path: asked[path] if "links" in said[path] else path for path in paths}
    control = explained.find(sorted({*paths, *leads.values()}), outside=True)
    faults = {}
    for path in paths:
        fault = find_fault(said[leads[path]], seen[path], control[path])
        # A link of the sandbox's own, as those of its processes, leads elsewhere than outside.
        if fault is not None and leads[path] != path:
            fault = find_fault(said[leads[path]], seen[path], control[leads[path]])
        if fault is not None:
            faults[path] = f"{fault}; said: {said[leads[path]]}"
    return faults, collections.Counter(said[path]["rule"] for path in paths)


EXPECTED = {
    "bubblewrap": {"folder", "folder-read-only", "system", "etc", "etc-own", "proc", "dev", "tmp", "way",
                   "outside", "home", "absent"},
    "openshell": {"folder", "folder-read-only", "system", "tmp", "image"},
}


def test_explanation_is_what_the_wall_does(account, workspace, openworker, wall):
    """REQ-W01 [bubblewrap, openshell]. In the simulated openshell the image is this machine's own
    /usr and /etc, so that whose a file of the image is cannot be told there."""
    seed = int(os.environ["OPENWORKER_TEST_SEED"])
    print(f"OPENWORKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    folders = make_folders(account, workspace)
    explained = Explained(account, openworker, wall, folders)
    paths = draw_paths(rng, workspace, folders)
    faults, rules = compare(explained, paths)
    # The machine is used by others meanwhile: what differs has to differ again.
    if faults:
        faults, _ = compare(explained, sorted(faults))
    assert not faults, f"seed {seed}, {len(faults)} of {len(paths)}: " + "\n".join(
        f"{path!r}: {fault}" for path, fault in list(faults.items())[:20])
    print(dict(rules))
    missing = EXPECTED[wall.name] - set(rules)
    assert not missing, f"never the answer: {missing}"


def test_S06_nothing_in_a_folder_is_looked_at(ordinary_user, workspace, openworker):
    """REQ-W03: for an answer about what lies in a session's folder the folder itself is opened, as at
    a start, and nothing in it; what the machine has in /usr is looked at."""
    folders = make_folders(ordinary_user, workspace)
    asked = [f"{path}/{name}" for path, _ in folders for name in ("out", "up/file", "sub/read-only", "no")]
    trace = workspace.tmp / "trace"
    done = ordinary_user.run(
        ["strace", "-f", "-qq", "-y", "-o", trace, "-e", "trace=%file", openworker, "sandbox", "explain",
         "--provider", "bubblewrap", "--json", "/usr/bin/awk", *asked,
         *(word for path, read_only in folders
           for word in ("--folder", f"{path}:ro" if read_only else path))])
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked) + 1 and "links" in answers[-1]
    calls = trace.read_text(errors="replace")
    assert '"/usr/bin/awk"' in calls
    # The names that were asked about stand in the command line of the first call.
    looked = [line for line in calls.splitlines() if "execve(" not in line and
              any(f'"{path}/' in line and f'"{path}/{name}' in line for path, _ in folders
                  for name in ("out", "up", "sub", "no"))]
    assert looked == [], looked[:5]


def test_S06_what_a_login_is_and_where_its_copy_is(ordinary_user, workspace, openworker):
    """REQ-S01: off, it says which entry it is of; on, where its copy is."""
    def ask():
        done = ordinary_user.run([openworker, "sandbox", "explain", "--provider", "bubblewrap", "--json",
                                  "~/.ssh/id_ed25519", "~/.other", "api.github.com:22"])
        return [json.loads(line) for line in done.stdout.splitlines()]

    key, other, _ = ask()
    assert (key["rule"], key["there"], other["rule"]) == ("credential-off", False, "home")
    ordinary_user.write(workspace.config / "config.toml",
                        '[[sandbox_credentials]]\nname = "ssh"\nenabled = true\n', 0o600)
    key, other, _ = ask()
    assert (key["rule"], other["rule"]) == ("credential", "home")
    assert '"ssh"' in key["says"] and "~/.ssh/id_ed25519" in key["says"]


@pytest.mark.parametrize("argv,status,words", [
    (["relative/path.txt/"], 0, "no name of a host"),
    ([], 2, "takes a path or a host"),
    (["--folder", "/etc", "/x"], 69, "cannot be used"),
    (["--session", "none", "/x"], 2, "There is no session none"),
    (["--session", "none", "--folder", "/srv", "/x"], 2, "not both"),
    (["--provider", "moat", "/x"], 2, "no provider called"),
    (["/" + "x" * 4097], 2, "4,096 bytes"),
])
def test_explain_says_what_is_wrong_with_the_question(ordinary_user, openworker, argv, status,
                                                      words):
    done = ordinary_user.run([openworker, "sandbox", "explain", "--provider", "bubblewrap", *argv])
    said = done.stdout + done.stderr
    assert (done.returncode, words in said) == (status, True), said


def test_port_that_openshell_keeps_everybody_from(ordinary_user, workspace, openworker):
    ordinary_user.write(workspace.config / "config.toml",
                        'sandbox_extra_hosts = ["k8s.example.com:6443"]\n', 0o600)
    for provider, rule in [("bubblewrap", "extra-host"), ("openshell", "port")]:
        done = ordinary_user.run([openworker, "sandbox", "explain", "--provider", provider, "--json",
                                  "k8s.example.com:6443"])
        answer = json.loads(done.stdout)
        assert (answer["rule"], answer["allowed"]) == (rule, rule != "port")


def test_session_that_runs_is_explained(account, workspace, openworker, wall):
    """By its own folders, its private home and its undo folder, which another has not."""
    inner = account.mkdir(workspace.folder / "inner")
    account.popen([openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--folder",
                   f"{inner}:ro", "--", "sh", "-c", "echo $HOME > home; sleep 600"])
    wait_until(lambda: (workspace.folder / "home").exists() and (workspace.folder / "home").read_text(), 60,
               "the session")
    [entry] = [json.loads(path.read_text()) for path in (workspace.state / "registry").glob("*.json")]
    session, home = entry["session"], (workspace.folder / "home").read_text().strip()
    asked = [f"{home}/x", f"{workspace.private_homes}/0123456789ab/x", f"{inner}/x", f"{workspace.folder}/x",
             f"{workspace.data}/sessions/{session}/undo/x", "/opt/openworker/openworker-runner",
             "github.com", "later.example.com"]
    # What the settings say by now is no matter of a session that has begun.
    account.write(workspace.config / "config.toml",
                  'sandbox_extra_hosts = ["later.example.com"]\n', 0o600)
    done = account.run([openworker, "sandbox", "explain", "--session", session, "--json", *asked])
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["provider"] for answer in answers} == {wall.name}
    closed = "image" if wall.is_openshell else "home"
    assert [answer["rule"] for answer in answers] == [
        "private-home", closed, "folder-read-only", "folder", "undo", "runner", "profile-strict",
        "not-listed"]
    wall.may_leave = True
