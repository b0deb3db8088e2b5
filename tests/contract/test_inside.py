# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the inside is: who it runs as, what it sees of the machine, and the main command."""

import os
import re
import stat

import pytest

from openshell_cli import wait_until

# Started with the sandbox: says who and where it is, then answers on a socket for ever.
MAIN = r"""
use IO::Socket::UNIX; use strict; $| = 1;
open my $told, '>', $ARGV[0]; print $told "$<:$)|$ENV{HOME}|$ENV{OW_CT}|@ARGV\n"; close $told;
unlink '/tmp/.ow-ct.sock';
my $server = IO::Socket::UNIX->new(Local => '/tmp/.ow-ct.sock', Listen => 5) or die $!;
while (my $client = $server->accept) { my $line = <$client>; print $client "$$:$line"; }
"""
ASK = (r"""use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => '/tmp/.ow-ct.sock')"""
       r""" or die $!; print $s "hello\n"; print scalar <$s>;""")


class Place:
    """A sandbox with every kind of mount, and where they are."""

    def __init__(self, openshell):
        self.rw = openshell.folder("inside/rw")
        self.ro = openshell.folder("inside/ro")
        self.nested = openshell.folder("inside/rw/nested")
        self.unlisted = openshell.folder("inside/unlisted")
        self.outside = openshell.folder("inside/outside")
        self.odd = openshell.folder("inside/a b'c\"d,e=f%g$h\\iü")
        openshell.file("inside/ro/file", content="read-only\n")
        openshell.file("inside/rw/file", content="read-write\n")
        openshell.file("inside/rw/nested/file", content="nested\n")
        openshell.file("inside/unlisted/file", content="unlisted\n")
        openshell.file("inside/outside/file", content="outside\n")
        openshell.file(f"inside/{self.odd.name}/file", content="odd\n")
        self.main = openshell.file("inside/main", content=f"#!/usr/bin/perl\n{MAIN}", mode=0o755)
        self.tool = "/opt/ow-ct/main"
        self.told = self.rw / "told"
        self.mounts = openshell.mounts(
            (self.rw, self.rw, False), (self.ro, self.ro, True), (self.nested, self.nested, True),
            (self.unlisted, self.unlisted, False), (self.odd, self.odd, False),
            (self.main, self.tool, True))
        self.policy = openshell.policy(read_write=[self.rw, self.odd],
                                       read_only=[self.ro, self.nested, "/opt/ow-ct"])
        self.name = openshell.made_box(
            policy=self.policy, mounts=self.mounts, environment=["OW_CT=a b"],
            command=[self.tool, str(self.told), "--home", str(self.rw)])


@pytest.fixture(scope="module")
def place(openshell):
    made = Place(openshell)
    wait_until(lambda: made.told.exists() and made.told.read_text().endswith("\n"), 10,
               "the main command")
    yield made
    openshell.delete(made.name)


def can(openshell, place, script):
    return openshell.shell(place.name, script).status == 0


# --- who it is ---

def test_identity_is_the_policys(openshell, place):
    done = openshell.shell(place.name, "id -u; id -g; id -G; pwd; echo $HOME; echo $USER")
    uid, gid, groups, workdir, home, _ = done.text.splitlines()
    assert (int(uid), int(gid)) == (openshell.uid, openshell.gid), done
    assert str(openshell.gid) in groups.split(), done
    assert (workdir, home) == ("/sandbox", "/sandbox"), done


def test_path_and_proxy_of_the_environment(openshell, place):
    environment = dict(line.split("=", 1) for line in
                       openshell.exec(place.name, "env").text.splitlines() if "=" in line)
    assert environment["PATH"].startswith("/usr/local/bin:/usr/bin:/bin"), environment
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        assert environment[name] == "http://10.200.0.1:3128", environment
    for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
                 "GIT_SSL_CAINFO"):
        assert can(openshell, place, f"test -r '{environment[name]}'"), environment[name]
    assert "127.0.0.1" in environment["NO_PROXY"], environment


def test_no_new_privileges_and_no_capabilities(openshell, place):
    status = openshell.exec(place.name, "cat", "/proc/self/status").text
    assert re.search(r"^NoNewPrivs:\s1$", status, re.MULTILINE), status
    assert re.search(r"^CapEff:\s0+$", status, re.MULTILINE), status
    assert re.search(r"^Seccomp:\s2$", status, re.MULTILINE), status
    for words in (["unshare", "--user", "true"], ["unshare", "--mount", "true"]):
        done = openshell.exec(place.name, *words)
        assert done.status != 0 and done.said("Operation not permitted"), done


def test_another_account_owns_what_it_writes(openshell):
    """Folders may belong to anybody, without an entry in the image's list of accounts."""
    if os.geteuid() != 0:
        owner = (openshell.uid, openshell.gid)
    else:
        owner = (64321, 64322)
    folder = openshell.folder("other-owner", owner=owner)
    name = openshell.made_box(policy=openshell.policy(read_write=[folder], run_as=owner),
                              mounts=openshell.mounts((folder, folder, False)))
    done = openshell.shell(name, f"id -u; id -g; echo x >'{folder}/made' && echo $HOME")
    assert done.text.split() == [str(owner[0]), str(owner[1]), "/sandbox"], done
    made = (folder / "made").stat()
    assert (made.st_uid, made.st_gid) == owner
    openshell.delete(name)


def test_root_is_no_account_to_run_as(openshell):
    name = openshell.new_name()
    done = openshell.create(name, openshell.policy(run_as=(0, 0)))
    assert done.failed_with("policy contains unsafe content: run_as_user must be"), done
    assert openshell.phase(name) is None


# --- what it sees ---

def test_folder_is_read_and_written_on_both_sides_W10(openshell, place):
    done = openshell.shell(place.name, f"cat '{place.rw}/file'; echo inside >'{place.rw}/made'")
    assert (done.status, done.text) == (0, "read-write\n"), done
    made = place.rw / "made"
    assert made.read_text() == "inside\n" and made.stat().st_uid == openshell.uid
    later = openshell.file("inside/rw/later", content="outside\n")
    assert openshell.exec(place.name, "cat", later).text == "outside\n"
    later.unlink()
    assert not can(openshell, place, f"test -e '{later}'")


def test_folder_is_the_very_directory_W10(openshell, place):
    for folder in (place.rw, place.ro, place.nested, place.odd):
        told = openshell.exec(place.name, "stat", "-c", "%i %u %g", folder).text.split()
        seen = folder.stat()
        assert told == [str(seen.st_ino), str(seen.st_uid), str(seen.st_gid)], folder


def test_read_only_folder_is_read_and_not_written_S09(openshell, place):
    assert openshell.exec(place.name, "cat", place.ro / "file").text == "read-only\n"
    for script in (f"echo x >'{place.ro}/new'", f"echo x >>'{place.ro}/file'",
                   f"rm -f '{place.ro}/file'", f": >'{place.ro}/file'",
                   f"mv '{place.ro}/file' '{place.rw}/taken'", f"chmod 777 '{place.ro}/file'"):
        assert not can(openshell, place, script), script
    assert os.listdir(place.ro) == ["file"]
    assert (place.ro / "file").read_text() == "read-only\n"


def test_read_only_folder_in_a_read_write_one_is_not_written_S09(openshell, place):
    assert openshell.exec(place.name, "cat", place.nested / "file").text == "nested\n"
    for script in (f"echo x >'{place.nested}/new'", f"echo x >>'{place.nested}/file'",
                   f"rm -f '{place.nested}/file'", f"mv '{place.nested}' '{place.rw}/away'"):
        assert not can(openshell, place, script), script
    assert os.listdir(place.nested) == ["file"]
    assert can(openshell, place, f"echo x >'{place.rw}/beside' && rm '{place.rw}/beside'")


def test_folder_with_an_odd_name_S12(openshell, place):
    done = openshell.exec(place.name, "sh", "-c", 'cat "$1/file"; echo x >"$1/new"', "sh", place.odd)
    assert (done.status, done.text) == (0, "odd\n") and (place.odd / "new").exists(), done


def test_folder_with_a_colon_in_its_name_S12(openshell):
    """docker's form of a mount cannot say it: the whole sandbox is refused, never another
    folder mounted."""
    folder = openshell.folder("a:b")
    openshell.file("a:b/file", content="colon\n")
    name = openshell.new_name()
    done = openshell.create(name, openshell.policy(read_write=[folder]),
                            openshell.mounts((folder, folder, False)))
    if done.status == 0:
        assert openshell.exec(name, "cat", folder / "file").text == "colon\n"
    else:
        assert done.failed_with("ContainerCreateFailed"), done
        assert done.said("invalid volume specification"), done
    openshell.delete(name)


def test_mount_that_the_policy_does_not_list_is_not_reached(openshell, place):
    for script in (f"cat '{place.unlisted}/file'", f"ls '{place.unlisted}'",
                   f"echo x >'{place.unlisted}/new'"):
        done = openshell.shell(place.name, script)
        assert done.status != 0 and done.said("Permission denied") and not done.out, done
    assert os.listdir(place.unlisted) == ["file"]


def test_listed_folder_without_a_mount_is_made_inside_S11(openshell):
    """A read-write path that is nowhere is made: a mount that went missing looks like an empty
    folder that can be written, and only what the host sees tells them apart."""
    folder = openshell.folder("unmounted")
    openshell.file("unmounted/file", content="x")
    name = openshell.made_box(policy=openshell.policy(read_write=[folder]))
    done = openshell.shell(name, f"ls '{folder}'; echo x >'{folder}/new' && ls '{folder}'")
    assert (done.status, done.text) == (0, "new\n"), done
    assert os.listdir(folder) == ["file"]
    openshell.delete(name)


def test_nothing_else_of_the_machine_is_there_W01(openshell, place):
    done = openshell.exec(place.name, "cat", place.outside / "file")
    assert done.status != 0 and not done.out, done
    listed = openshell.exec(place.name, "ls", place.rw.parent)
    assert "outside" not in listed.text, listed


@pytest.mark.parametrize("path", ["/root", "/home", "/etc/shadow", "/boot", "/srv"])
def test_path_off_the_policy_is_not_read(openshell, place, path):
    done = openshell.shell(place.name, f"test -d {path} && ls {path} || cat {path}")
    assert done.status != 0 and not done.out, done


@pytest.mark.parametrize("path", ["/etc/ow-ct", "/usr/ow-ct", "/usr/bin/ow-ct", "/ow-ct",
                                  "/var/log/ow-ct", "/opt/ow-ct/other", "/var/tmp/ow-ct"])
def test_path_off_the_policy_is_not_written(openshell, place, path):
    done = openshell.shell(place.name, f"echo x >{path}")
    assert done.status != 0 and re.search("denied|Read-only|nonexistent|No such", done.error), done


def test_tmp_is_its_own_and_shared_by_its_calls(openshell, place):
    assert can(openshell, place, "echo x >/tmp/ow-ct-mark && echo x >/dev/null")
    assert openshell.exec(place.name, "cat", "/tmp/ow-ct-mark").text == "x\n"
    assert not os.path.exists("/tmp/ow-ct-mark")


def test_processes_are_its_own(openshell, place):
    seen = openshell.shell(place.name, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text
    assert place.tool in seen and "pytest" not in seen, seen


def test_settings_of_the_kernel_are_not_written_S23(openshell, place):
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches"):
        assert not can(openshell, place, f"(: >>{path})"), path


# --- the main command ---

def test_main_command_is_a_mounted_file_W09(openshell, place):
    """It runs as the inside's account, with the words and --env of the create."""
    identity, home, value, words = place.told.read_text().rstrip("\n").split("|")
    assert identity.startswith(f"{openshell.uid}:{openshell.gid}"), identity
    assert (home, value) == ("/sandbox", "a b")
    assert words == f"{place.told} --home {place.rw}"


def test_mounted_file_is_not_written_W09(openshell, place):
    assert openshell.exec(place.name, "head", "-c", "2", place.tool).text == "#!"
    for script in (f": >>{place.tool}", f"rm -f {place.tool}", f"mv {place.tool} /tmp/x",
                   f"chmod 700 {place.tool}"):
        assert not can(openshell, place, script), script
    assert place.main.read_text().endswith(MAIN)
    assert stat.S_IMODE(place.main.stat().st_mode) == 0o755


def test_main_command_answers_other_calls_on_a_socket(openshell, place):
    """One socket below /tmp is how every call comes to the one that serves."""
    answers = [openshell.exec(place.name, "perl", "-e", ASK) for _ in range(2)]
    for done in answers:
        assert done.status == 0 and done.text.endswith(":hello\n"), done
    assert answers[0].text == answers[1].text


def test_environment_of_the_create_is_that_of_every_call(openshell, place):
    assert openshell.shell(place.name, "echo \"[$OW_CT]\"").text == "[a b]\n"
    done = openshell.shell(place.name, "echo \"[$OW_CT]\"", options=("--env", "OW_CT=c"))
    assert done.text == "[c]\n", done


# --- Landlock ---

def test_landlock_is_said_in_the_log_S09(openshell, place):
    """How many of the policy's paths were enforced, and that none was passed over."""
    openshell.exec(place.name, "true")

    def told():
        text = openshell.run("logs", place.name, "--source", "sandbox", "-n", "200").text
        return re.search(r"CONFIG:BUILT \[INFO\] Landlock ruleset built "
                         r"\[rules_applied:(\d+) skipped:(\d+)\]", text)

    found = wait_until(told, 10, "the line about Landlock")
    policy = openshell.get(place.name).json["policy"]["filesystem_policy"]
    assert found.group(2) == "0", found.group()
    assert int(found.group(1)) == len(policy["read_only"]) + len(policy["read_write"])


def test_listed_read_only_path_that_is_not_there_refuses_S09(openshell):
    """All of the create, and not that path alone: nothing is open because of it."""
    name = openshell.new_name()
    done = openshell.create(name, openshell.policy(read_only=["/ow-ct-not-there"]))
    assert done.failed_with("sandbox entered error phase while provisioning: ContainerExited"), done
    assert openshell.phase(name) == "Error"
    assert openshell.delete(name).status == 0
