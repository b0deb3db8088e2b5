# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The logins of gh, kubectl, aws and npm inside, by these programs themselves (REQ-S01, REQ-S02,
REQ-S03): each finds the copy of its login and is let in by a server that lets in nobody else
(login_server.py). In bubblewrap the server has a network of its own in which its names and
addresses are public ones; the simulated openshell is told where they lie."""

import os
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import login_server
import public_host
import pytest
from conftest import scaled

EXEC = ["sandbox", "exec"]
SERVER = Path(__file__).with_name("login_server.py")


@pytest.fixture
def inside(account, workspace, openworker, wall):
    """Runs a shell's script in a sandbox that could reach the server: inside(script, *options)."""
    if wall.name == "bubblewrap" and os.geteuid() != 0:
        pytest.skip("only root can make a network with a public address")
    public_host.make_certificate(workspace.path, login_server.NAMES, login_server.ADDRESSES)
    folder = workspace.folder
    login_server.make_repository(workspace.path)
    login_server.write_ca(workspace.path, *account.owner(folder / "ca.pem"))
    places = {}
    if wall.is_openshell:
        ports = login_server.start(workspace.path, "127.0.0.1", [0, 0])
        for host in login_server.NAMES + login_server.ADDRESSES:
            for port, place in zip(login_server.PORTS, ports):
                places[f"{host}:{port}"] = f"127.0.0.1:{place}"
        wall.sim.set(hosts=places)

    def run(script, **env):
        argv = [openworker, *EXEC, *wall.argv, "--folder", folder, "--", "sh", "-c", script]
        if wall.is_openshell:
            return account.run(argv, env=env, timeout=120)
        return subprocess.run(
            ["unshare", "--mount", "--", sys.executable, str(SERVER), str(workspace.path), str(account.uid),
             str(account.gid), "--", *account.argv(argv)], cwd=workspace.path, env=account.env(**env),
            capture_output=True, text=True, timeout=scaled(120), check=False)

    return run


def enable(account, workspace, *entries):
    """Each a name, or a name with more lines of TOML."""
    text = "".join("[[sandbox_credentials]]\nname = \"%s\"\nenabled = true\n%s" %
                   ((entry, "") if isinstance(entry, str) else entry) for entry in entries)
    account.write(workspace.config / "config.toml", text, 0o600)


# --- the logins, as their programs write them ---

def write_gh(account, workspace):
    account.write(workspace.home / ".config/gh/hosts.yml",
                  f"github.com:\n    oauth_token: {login_server.GITHUB_TOKEN}\n    user: ana\n"
                  "    git_protocol: https\n", 0o600)
    account.write(workspace.home / ".config/gh/config.yml", "git_protocol: https\n", 0o600)


def kubeconfig(workspace, server):
    ca = b64encode((workspace.path / "ca.pem").read_bytes()).decode()
    clusters = "".join(f"- name: {name}\n  cluster:\n    server: {address}\n"
                       f"    certificate-authority-data: {ca}\n" for name, address in server.items())
    contexts = "".join(f"- name: {name}\n  context: {{cluster: {name}, user: ana}}\n" for name in server)
    return (f"apiVersion: v1\nkind: Config\ncurrent-context: {next(iter(server))}\nclusters:\n{clusters}"
            f"contexts:\n{contexts}users:\n- name: ana\n  user: {{tokenFile: {workspace.home}/.kube/token}}\n")


def write_kube(account, workspace, server):
    account.write(workspace.home / ".kube/config", kubeconfig(workspace, server), 0o600)
    account.write(workspace.home / ".kube/token", login_server.KUBE_TOKEN, 0o600)
    account.write(workspace.home / ".kube/cache/discovery/x", "cached\n")


def write_aws(account, workspace):
    account.write(workspace.home / ".aws/credentials", f"[default]\naws_access_key_id = {login_server.AWS_KEY}\n"
                  "aws_secret_access_key = secret\n", 0o600)
    account.write(workspace.home / ".aws/config", "[default]\nregion = eu-central-1\noutput = json\n", 0o600)


def write_npm(account, workspace):
    account.write(workspace.home / ".npmrc", "registry=https://registry.npm.test/\n"
                  f"//registry.npm.test/:_authToken={login_server.NPM_TOKEN}\n", 0o600)


def prepare(account, workspace, program):
    """Writes the login of @program and switches its entry on."""
    if program == "kubectl":
        write_kube(account, workspace, {"far": "https://kube.test"})
    else:
        {"gh": write_gh, "git": write_gh, "aws": write_aws, "npm": write_npm}[program](account, workspace)
    npm = ("npm", 'path = "~/.npmrc"\nhosts = ["registry.npm.test"]\n')
    enable(account, workspace, {"kubectl": "kube", "git": "gh", "npm": npm}.get(program, program))


# Pushes to an empty repository and reads it again in another clone.
REPOSITORY = "https://github.com/ana/repo.git"
PUSH = ("git init -q one && cd one && echo new file >f && git add f && "
        "git -c user.name=a -c user.email=a@test commit -q -m x && "
        f"git push -q {REPOSITORY} HEAD:main && git clone -q {REPOSITORY} ../two && cat ../two/f")

# What each is asked, with the certificate of the server's authority, and what the server answers.
COMMANDS = {
    "gh": ("SSL_CERT_FILE=ca.pem gh api user", '"login": "ana-test"'),
    "git": ("GIT_SSL_CAINFO=$PWD/ca.pem sh -c '" + PUSH + "'", "new file\n"),
    "kubectl": ("kubectl get --raw /version", '"minor": "99"'),
    "aws": ("AWS_CA_BUNDLE=ca.pem aws sts get-caller-identity", "arn:aws:iam::123456789012:user/ana"),
    "npm": ("npm_config_cafile=ca.pem npm --no-update-notifier whoami", "ana-test"),
}


def ask(workspace, program):
    return f"cd {workspace.folder}; timeout 90 env GIT_TERMINAL_PROMPT=0 {COMMANDS[program][0]}; echo \"[$?]\""


def check(account, workspace, inside, program):
    """Let in with the entry, by copies that are owner-only and go; and without it not."""
    prepare(account, workspace, program)
    done = inside(f"find ~ ! -type l -perm /077; {ask(workspace, program)}")
    assert COMMANDS[program][1] in done.stdout and done.stdout.endswith("[0]\n"), done.stdout + done.stderr
    assert str(workspace.private_homes) not in done.stdout, done.stdout
    assert "Shared with this session, as a copy: the credential" in done.stderr
    assert workspace.left() == []

    (workspace.config / "config.toml").unlink()
    for place in ("one", "two"):
        shutil.rmtree(workspace.folder / place, ignore_errors=True)
    done = inside(ask(workspace, program))
    assert COMMANDS[program][1] not in done.stdout and "[0]" not in done.stdout, done.stdout + done.stderr
    assert "Shared with this session" not in done.stderr


@pytest.mark.parametrize("program", ["gh", "git", "kubectl"])
def test_login_is_found(account, workspace, wall, inside, program):
    """REQ-S01 REQ-S02 REQ-S03 [bubblewrap, openshell]."""
    check(account, workspace, inside, program)


@pytest.mark.skipif(not Path("/usr/bin/aws").exists(), reason="aws is not installed")
def test_login_is_found_by_aws(account, workspace, wall, inside):
    """REQ-S01 REQ-S02 REQ-S03 [bubblewrap, openshell]."""
    check(account, workspace, inside, "aws")


@pytest.mark.skipif(not Path("/usr/bin/npm").exists(), reason="npm is not installed")
def test_login_is_found_by_npm(account, workspace, wall, inside):
    """REQ-S01 REQ-S02 REQ-S03 [bubblewrap, openshell]: an entry of the person's own."""
    check(account, workspace, inside, "npm")


# By where they are: names, addresses, a private one, and what no sandbox reaches.
CLUSTERS = {"web": "https://kube.test", "far": "https://kube.test:6443",
            "public": f"https://{public_host.ADDRESS}", "lab": f"https://{login_server.PRIVATE}",
            "six": f"https://[{login_server.SIX}]",
            "here": "https://127.0.0.1:6443", "meta": "https://169.254.169.254"}
VERSIONS = "".join(f"kubectl --context {name} --request-timeout 10s get --raw /version; echo '[{name}' $?']'; "
                   for name in CLUSTERS)


def reached(done):
    return {name for name in CLUSTERS if f"[{name} 0]" in done.stdout}


def test_S14_A30_clusters_are_opened_by_where_they_are(account, workspace, wall, inside):
    """REQ-N03 [bubblewrap, openshell]: names and public addresses of the kubeconfig, a private one with
    consent, and this machine and metadata services never. OpenShell has ports of its own that no
    sandbox reaches, which is said."""
    write_kube(account, workspace, CLUSTERS)
    enable(account, workspace, "kube")
    good = {"web", "public", "six"} | (set() if wall.is_openshell else {"far"})
    done = inside(VERSIONS)
    assert reached(done) == good, done.stdout + done.stderr
    assert 'cluster "lab" is at the private address 10.99.0.10:443' in done.stderr
    assert 'cluster "here" is not opened' in done.stderr and 'cluster "meta" is not opened' in done.stderr
    assert ("these hosts are not reached: kube.test:6443." in done.stderr) == wall.is_openshell

    enable(account, workspace, ("kube", f'private_hosts = ["{login_server.PRIVATE}"]\n'))
    done = inside(VERSIONS)
    assert reached(done) == good | {"lab"}, done.stdout + done.stderr


def test_S19_A27_what_cannot_be_used_is_said_and_opens_nothing(account, workspace, wall, inside):
    """REQ-S02 [bubblewrap, openshell]: the token is in the keyring, the kubeconfig is broken, no file."""
    account.write(workspace.home / ".config/gh/hosts.yml", "github.com:\n    user: ana\n    git_protocol: https\n")
    account.write(workspace.home / ".kube/config", "clusters:\n- name: [\n")
    enable(account, workspace, "gh", "kube", "aws")
    done = inside("echo; ls -A ~ ~/.config; env | grep -E '^(GH|AWS|KUBE)'; "
                  f"curl -sS --cacert {workspace.folder}/ca.pem https://sts.amazonaws.com/")
    assert "github.com: login is in the keyring, nothing to copy" in done.stderr
    assert "~/.kube/config cannot be read: line " in done.stderr
    assert "there is no login in ~/.aws" in done.stderr
    assert "\ngh\n" not in done.stdout and "CONFIG" not in done.stdout, done.stdout
    assert "\n.kube\n" not in done.stdout and "response 403" in done.stderr, done.stdout + done.stderr


def test_copies_are_the_agents_and_not_the_persons(account, workspace, wall, inside):
    """REQ-S02 [bubblewrap, openshell]: what is written inside stays there; caches do not come in."""
    write_kube(account, workspace, {"far": "https://kube.test"})
    enable(account, workspace, "kube")
    before = (workspace.home / ".kube/config").read_bytes()
    done = inside("echo \"$KUBECONFIG\"; ls -A ~/.kube; stat -c %a ~/.kube ~/.kube/config; "
                  "kubectl config delete-context far && echo token >~/.kube/token && echo changed")
    assert done.stdout.endswith("changed\n"), done.stdout + done.stderr
    assert "cache" not in done.stdout and "\n700\n600\n" in done.stdout, done.stdout
    assert done.stdout.startswith(str(workspace.private_homes))
    assert (workspace.home / ".kube/config").read_bytes() == before
    assert (workspace.home / ".kube/token").read_text() == login_server.KUBE_TOKEN


def test_KUBECONFIG_of_the_person(account, workspace, wall, inside):
    """REQ-S03 [bubblewrap, openshell]: the files that it names below ~/.kube, and no other."""
    write_kube(account, workspace, {"unused": "https://other.test:6443"})
    account.write(workspace.home / ".kube/work/a.yaml", kubeconfig(workspace, {"far": "https://kube.test"}))
    shutil.copy(workspace.home / ".kube/work/a.yaml", workspace.home / "elsewhere.yaml")
    enable(account, workspace, "kube")
    done = inside("kubectl get --raw /version; echo; kubectl config get-contexts -o name",
                  KUBECONFIG=f"{workspace.home}/.kube/work/a.yaml:{workspace.home}/elsewhere.yaml")
    assert '"minor": "99"' in done.stdout and done.stdout.endswith("\nfar\n"), done.stdout + done.stderr
    assert "unused" not in done.stdout
    assert "KUBECONFIG names ~/elsewhere.yaml, which is outside ~/.kube and not shared" in done.stderr
    assert "Left out" not in done.stderr
