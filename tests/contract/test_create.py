# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Sandboxes come, are found, and go: create, get, list, delete, and each way that a create fails."""

import json
import signal
import time

import pytest

from openshell_cli import plain, scaled, wait_until

INVALID = "Client specified an invalid argument"
NOT_FOUND = "sandbox not found"
PROGRESS = ["Requesting compute", "Sandbox allocated", "Pulling image", "Image already present",
            "Container created", "Waiting for supervisor relay"]


@pytest.fixture(scope="module")
def created(openshell):
    """A sandbox with labels: (its name, how its create ended)."""
    name = openshell.new_name()
    done = openshell.create(name, labels=["openworker-contract=1", f"openworker-ct={name}",
                                          "openworker-text=Az.0_9-z"])
    return name, done


def test_create_tells_progress_and_ends_ready(openshell, created):
    name, done = created
    assert done.status == 0 and not done.err, done
    told = [line for line in plain(done.text).splitlines() if line.strip()]
    assert told[0] == f"Created sandbox: {name}", done
    places = [next(at for at, line in enumerate(told) if words in line) for words in PROGRESS]
    assert places == sorted(places), done
    assert all("s] " in line for line in told[1:]), done
    assert openshell.phase(name) == "Ready"


def test_get_tells_labels_phase_and_policy(openshell, created):
    name, _ = created
    sandbox = openshell.get(name).json
    assert sandbox["name"] == name and sandbox["id"], sandbox
    assert sandbox["labels"] == {"openworker-contract": "1", "openworker-ct": name,
                                 "openworker-text": "Az.0_9-z"}, sandbox
    assert sandbox["phase"] == "Ready" and sandbox["current_policy_version"] == 1, sandbox
    time.strptime(sandbox["created_at"], "%Y-%m-%d %H:%M:%S")
    policy = sandbox["policy"]
    assert policy["landlock"]["compatibility"] == "hard_requirement", policy
    assert policy["process"]["run_as_user"] == str(openshell.uid), policy
    assert "/usr" in policy["filesystem_policy"]["read_only"], policy


def test_no_credential_provider_is_attached_W13(openshell, created):
    assert not openshell.get(created[0]).json.get("providers")


def test_get_of_an_unknown_name(openshell):
    done = openshell.get("ow-ct-none")
    assert done.failed_with(NOT_FOUND) and not done.out, done


def test_list_by_label_finds_those_and_no_other(openshell, created):
    name, _ = created
    other = openshell.made_box()
    assert openshell.names(f"openworker-ct={name}") == [name]
    both = openshell.names("openworker-contract=1")
    assert name in both and other in both
    assert openshell.list("openworker-ct=nobody") == []
    entry = openshell.list(f"openworker-ct={name}")[0]
    assert entry["labels"]["openworker-ct"] == name and entry["phase"] == "Ready", entry
    assert entry["id"] == openshell.get(name).json["id"] and entry["created_at"], entry
    assert other in openshell.names()
    assert openshell.delete(other).status == 0


def test_label_of_63_characters_is_kept_and_64_refused_S13(openshell):
    name = openshell.new_name()
    done = openshell.create(name, labels=[f"openworker-session={'a' * 64}"])
    assert done.failed_with(INVALID) and openshell.phase(name) is None, done
    longest = openshell.made_box(labels=[f"openworker-session={'a' * 63}"])
    assert openshell.get(longest).json["labels"] == {"openworker-session": "a" * 63}
    openshell.delete(longest)


@pytest.mark.parametrize("value", ["a b", "a/b", "a\nb", "a=b"])
def test_label_of_other_characters_is_refused_S13(openshell, value):
    name = openshell.new_name()
    done = openshell.create(name, labels=[f"openworker-session={value}"])
    assert done.failed_with("label value contains invalid characters"), done
    assert openshell.phase(name) is None


@pytest.mark.parametrize("value", ["-a", "a-", ".a", "a.", "_a", "a_"])
def test_label_begins_and_ends_with_letter_or_digit_S13(openshell, value):
    name = openshell.new_name()
    done = openshell.create(name, labels=[f"openworker-session={value}"])
    assert done.failed_with("label value must"), done
    assert openshell.phase(name) is None


@pytest.mark.parametrize("name, sentence", [
    ("ow-ct" + "a" * 15, "name exceeds maximum length (20 > 19)"),
    ("Ow-ct-Upper", "name must contain only lowercase alphanumeric characters or hyphens"),
    ("ow ct", "name must contain only lowercase alphanumeric characters or hyphens"),
    ("ow-ct--double", None),
    ("ow-ct-end-", None),
], ids=["long", "upper", "space", "double-hyphen", "end-hyphen"])
def test_bad_name_is_refused_S13(openshell, name, sentence):
    done = openshell.create(name)
    assert done.failed_with(sentence or INVALID), done
    assert openshell.get(name).failed_with(NOT_FOUND)


def test_name_of_19_characters_is_taken_S13(openshell):
    name = openshell.new_name()[:5] + "0" * 14
    openshell.made.append(name)
    done = openshell.create(name)
    assert done.status == 0 and openshell.phase(name) == "Ready", done
    openshell.delete(name)


def test_same_name_again_is_refused_and_changes_nothing(openshell, created):
    name, _ = created
    before = openshell.get(name).json["id"]
    done = openshell.create(name)
    assert done.failed_with(f"sandbox '{name}' already exists"), done
    assert openshell.get(name).json["id"] == before
    assert openshell.exec(name, "true").status == 0


def fails(openshell, sentence, leaves, **more):
    """A create that fails with @sentence; @leaves: the phase of what is left, or None."""
    name = openshell.new_name()
    done = openshell.create(name, **more)
    assert done.failed_with(sentence), done
    assert openshell.phase(name) == leaves
    if leaves:
        gone = openshell.delete(name)
        assert gone.status == 0 and openshell.phase(name) is None, gone
    return done


def test_image_that_is_not_to_be_had_U11(openshell):
    done = fails(openshell, "ImagePullFailed", "Error", image="localhost/ow-ct-nothere:1")
    assert done.said("sandbox entered error phase while provisioning"), done
    assert "Image already present" not in plain(done.text), done


def test_mount_of_a_folder_that_is_not_there(openshell):
    gone = openshell.work / "gone"
    done = fails(openshell, f"bind source path does not exist: {gone}", "Error",
                 mounts=openshell.mounts((gone, gone, False)))
    assert done.said("ContainerCreateFailed"), done


def test_mount_of_a_relative_path(openshell):
    fails(openshell, "bind source must be an absolute host path", None,
          mounts=openshell.mounts(("relative", "/x", False)))


def test_driver_config_that_is_no_json(openshell):
    name = openshell.new_name()
    done = openshell.create(name, mounts="{")
    assert done.status == 1 and done.error and openshell.phase(name) is None, done


def test_mounts_of_another_driver_are_not_made(openshell):
    """The key has to be the driver's own name; another's is passed over, or refused."""
    folder = openshell.folder("other-driver")
    openshell.file("other-driver", "file", content="x")
    name = openshell.new_name()
    mounts = json.loads(openshell.mounts((folder, folder, False)))
    done = openshell.create(name, openshell.policy(read_write=[folder]),
                            json.dumps({"ow-ct-driver": mounts[openshell.driver]}))
    if done.status == 0:
        assert openshell.exec(name, "cat", folder / "file").status != 0
    openshell.delete(name)


@pytest.mark.parametrize("text", [
    "version: 1\nfilesystem_policy: [nonsense\n",
    "version: 1\nfilesystem_policy: [a, b]\n",
    "version: 1\nnonsense: 1\n",
], ids=["no-yaml", "wrong-type", "unknown-key"])
def test_policy_that_is_none_is_refused(openshell, text):
    fails(openshell, "failed to parse sandbox policy YAML", None,
          policy=openshell.policy(text=text))


@pytest.mark.parametrize("sentence, more", [
    ("too many filesystem paths", {"read_only": [f"/ow-ct/{n}" for n in range(257)]}),
    ("path exceeds maximum length", {"read_only": ["/" + "a" * 4096]}),
    ("path contains '..' traversal component", {"read_only": ["/usr/../etc"]}),
    ("read-write path is overly broad", {"read_write": ["/"]}),
    ("TLD wildcard '*.com' is not allowed", {"hosts": [("*.com", 443)]}),
    ("invalid host wildcard '*'", {"hosts": [("*", 443)]}),
    ("must declare at least one port", {"hosts": [("ow-ct.example", 0)]}),
], ids=["paths", "length", "dots", "root", "top-level", "every-host", "no-port"])
def test_policy_that_is_unsafe_is_refused_S12_S14(openshell, sentence, more):
    done = fails(openshell, sentence, None, policy=openshell.policy(**more))
    assert done.said("policy contains unsafe content"), done


@pytest.mark.parametrize("target, sentence, leaves", [
    ("/", "mount target must not be the container root", None),
    ("/etc/openshell/x", "conflicts with reserved OpenShell path", None),
    ("/opt/openshell/x", "conflicts with reserved OpenShell path", None),
    (" /x", "mount target must not contain surrounding whitespace", None),
    ("/x/../y", "mount target must be normalized", None),
    ("/sandbox", "is reserved for the OpenShell workspace", "Error"),
], ids=["root", "openshell", "supervisor", "white-space", "dots", "workspace"])
def test_mount_on_a_reserved_place_is_refused_S12(openshell, target, sentence, leaves):
    folder = openshell.folder("reserved")
    fails(openshell, sentence, leaves, mounts=openshell.mounts((folder, target, False)))


def test_two_mounts_on_one_place_are_refused_S12(openshell):
    one, two = openshell.folder("one"), openshell.folder("two")
    fails(openshell, f"duplicate {openshell.driver} driver_config mount target", None,
          mounts=openshell.mounts((one, one, False), (two, one, False)))


def test_limits_of_processor_and_memory(openshell):
    name = openshell.made_box(limits=("--cpu", "1", "--memory", "512Mi"))
    assert openshell.exec(name, "true").status == 0
    openshell.delete(name)
    refused = openshell.create(openshell.new_name(), limits=("--cpu", "nope"))
    assert refused.failed_with("invalid --cpu value 'nope'"), refused
    refused = openshell.create(openshell.new_name(), limits=("--memory", "nope"))
    assert refused.failed_with("invalid --memory value 'nope'"), refused


def test_policy_file_that_is_not_there(openshell):
    name = openshell.new_name()
    done = openshell.create(name, openshell.work / "no-policy.yaml")
    assert done.status == 1 and done.error and openshell.phase(name) is None, done


def test_main_command_that_ends_makes_the_sandbox_terminal_P13(openshell):
    """Told in one of two words, whichever the gateway hears of first."""
    name = openshell.new_name()
    done = openshell.create(name, command=["/bin/false"])
    assert done.failed_with("sandbox entered error phase while provisioning"), done
    assert done.said("MainProcessExited") or done.said("ContainerExited"), done
    assert openshell.phase(name) == "Error"
    tried = openshell.exec(name, "true")
    assert tried.failed_with(f"sandbox '{name}' is not ready (phase: Error)"), tried
    assert openshell.delete(name).status == 0 and openshell.phase(name) is None


def test_main_command_that_ends_later_makes_the_sandbox_terminal_P13(openshell):
    name = openshell.made_box(command=["/bin/sh", "-c", "sleep 2"])
    assert openshell.exec(name, "true").status == 0
    ended = wait_until(lambda: openshell.phase(name) not in ("Ready",) and openshell.phase(name),
                       30, "the end of the main command")
    assert ended in ("Error", "Completed"), ended
    tried = openshell.exec(name, "true")
    assert tried.failed_with(f"sandbox '{name}' is not ready"), tried
    openshell.delete(name)


def test_delete_takes_it_away(openshell):
    name = openshell.made_box()
    done = openshell.delete(name)
    assert done.status == 0 and f"Deleted sandbox {name}" in plain(done.text), done
    wait_until(lambda: openshell.phase(name) is None, 20, "the end of the sandbox")
    assert name not in openshell.names()
    assert openshell.exec(name, "true").failed_with(NOT_FOUND)


def test_delete_of_one_that_is_not_there(openshell):
    """Two forms were seen, the other being exit 0 and a warning: both mean gone."""
    done = openshell.delete("ow-ct-none")
    assert (done.failed_with(NOT_FOUND)
            or (done.status == 0 and "Sandbox ow-ct-none not found" in plain(done.text))), done


def test_name_can_be_taken_again_after_delete(openshell):
    """The session's sandbox is made again when its folders change."""
    name = openshell.made_box()
    before = openshell.get(name).json["id"]
    assert openshell.delete(name).status == 0
    done = openshell.create(name)
    assert done.status == 0 and openshell.get(name).json["id"] != before, done
    openshell.delete(name)


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3, 0.6])
def test_delete_after_a_killed_create_is_final_S21(openshell, seconds):
    """The CLI is killed in the middle: the sandbox may come all the same. When it was deleted
    by its name and is told to be absent for a while, it stays absent."""
    name = openshell.new_name()
    creating = openshell.popen(*openshell.create_words(name, openshell.policy()))
    time.sleep(seconds)
    creating.send_signal(signal.SIGKILL)
    creating.communicate()
    time.sleep(scaled(0.5))
    openshell.delete(name)
    wait_until(lambda: openshell.phase(name) is None, 20, "the end of the sandbox")
    quiet = time.monotonic() + scaled(1)
    while time.monotonic() < quiet:
        assert name not in openshell.names()
        time.sleep(0.2)


def test_delete_in_the_middle_of_a_create_ends_both_S21(openshell):
    name = openshell.new_name()
    creating = openshell.popen(*openshell.create_words(name, openshell.policy()))
    wait_until(lambda: openshell.phase(name), 10, "the sandbox")
    done = openshell.delete(name)
    assert done.status == 0, done
    _, error = creating.communicate(timeout=scaled(60))
    assert creating.returncode != 0 or openshell.phase(name) is None, error
    wait_until(lambda: openshell.phase(name) is None, 20, "the end of the sandbox")


def test_two_creates_at_once(openshell):
    names = [openshell.new_name() for _ in range(2)]
    creating = [openshell.popen(*openshell.create_words(name, openshell.policy()))
                for name in names]
    assert [each.wait(scaled(60)) for each in creating] == [0, 0]
    for each in creating:
        each.communicate()
    assert [openshell.phase(name) for name in names] == ["Ready", "Ready"]
    for name in names:
        openshell.delete(name)
