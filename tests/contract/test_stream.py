# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The live stream: `exec --tty` with a raw terminal as stdin and a pipe as stdout."""

import signal
import subprocess
import time

from openshell_cli import scaled, wait_until

# What an inside does before it speaks: its own terminal raw, then hello.
RAW = "stty raw -echo; printf 'hello\\n'; "


def processes(openshell, box):
    return openshell.shell(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text


def end_inside(openshell, box, argument):
    """Ends the process inside that has @argument, so that the next test begins clean."""
    openshell.shell(box, "for p in /proc/[0-9]*; do case $(tr '\\0' ' ' <$p/cmdline) in "
                         f"*' {argument} '*) kill -9 ${{p#/proc/}};; esac; done 2>/dev/null")


def test_hello_first_and_bytes_both_ways(openshell, box):
    with openshell.stream(box, RAW + "exec cat") as stream:
        assert stream.wait_for(b"hello\n") == b"hello\n"
        every = bytes(range(256)) * 3
        stream.write(every)
        assert stream.wait_for_length(6 + len(every)) == b"hello\n" + every
        assert not stream.errors


def test_echo_is_the_insides_until_it_is_raw(openshell, box):
    """So the host sends nothing before the hello."""
    with openshell.stream(box, "read line; echo got:$line") as stream:
        time.sleep(scaled(0.5))
        stream.write(b"word\n")
        assert stream.wait(10) == 0
        assert bytes(stream.output) == b"word\r\ngot:word\r\n"
    with openshell.stream(box, RAW + "read line; echo got:$line") as stream:
        stream.wait_for(b"hello\n")
        stream.write(b"word\n")
        assert stream.wait(10) == 0
        assert bytes(stream.output) == b"hello\ngot:word\n"


def test_round_trips(openshell, box):
    with openshell.stream(box, RAW + "exec cat") as stream:
        stream.wait_for(b"hello\n")
        begun = time.monotonic()
        for number in range(50):
            stream.write(b"%d\n" % number)
            stream.wait_for(b"\n%d\n" % number)
        took = time.monotonic() - begun
        assert took < scaled(5)
        # Its way there and back is most of what a call costs. The simulation of these tests
        # takes a quarter of a real one's time, so not less than this.
        assert took > 50 * 0.00035


def test_line_of_5_MB_is_whole(openshell, box):
    line = b"0123456789abcdef" * (5 * 65536) + b"\n"
    with openshell.stream(box, RAW + "exec cat") as stream:
        stream.wait_for(b"hello\n")
        stream.write_beside(line)
        answer = stream.wait_for_length(6 + len(line), 60)
        assert answer == b"hello\n" + line, len(answer)


def test_flood_of_output_is_whole_and_in_order(openshell, box):
    with openshell.stream(box, RAW + "seq 300000") as stream:
        assert stream.wait(60) == 0
        lines = bytes(stream.output).split(b"\n")
        assert lines == [b"hello", *[b"%d" % n for n in range(1, 300001)], b""]


def test_exit_status_is_passed_on(openshell, box):
    for script, status in (("exit 9", 9), ("true", 0), ("kill -9 $$", 1), ("exit 1", 1)):
        with openshell.stream(box, script) as stream:
            assert stream.wait(10) == status, script


def test_both_outputs_of_the_inside_come_as_one(openshell, box):
    with openshell.stream(box, RAW + "echo out; echo err >&2") as stream:
        assert stream.wait(10) == 0
        assert bytes(stream.output) == b"hello\nout\nerr\n" and not stream.errors


def test_no_terminal_as_stdin_means_no_stream(openshell, box):
    """With a pipe it is read to its end first, --tty or not."""
    with openshell.stream(box, RAW + "read line; echo got:$line",
                          stdin_is_terminal=False) as stream:
        stream.process.stdin.write(b"word\n")
        stream.process.stdin.flush()
        time.sleep(scaled(1.5))
        assert not stream.output and stream.process.poll() is None
        stream.process.stdin.close()
        stream.wait(20)
        assert b"got:word" in stream.output


def test_inside_is_not_told_that_the_command_was_killed(openshell, box):
    """No end of input, no hang-up: what runs inside has to end itself."""
    with openshell.stream(box, RAW + "trap 'touch /tmp/ow-ct-hup' HUP; cat; sleep 98765") as stream:
        stream.wait_for(b"hello\n")
        stream.process.kill()
        stream.process.wait()
        time.sleep(scaled(2))
        assert "sh -c stty" in processes(openshell, box)
        assert "98765 " not in processes(openshell, box).replace("; sleep 98765", "")
        assert openshell.shell(box, "test -e /tmp/ow-ct-hup").status == 1
    end_inside(openshell, box, "98765")


def test_closed_terminal_is_no_end_of_input(openshell, box):
    with openshell.stream(box, RAW + "cat; sleep 98764") as stream:
        stream.wait_for(b"hello\n")
        stream.close_terminal()
        # The command itself stays, or is hung up where the terminal was its own.
        assert stream.wait(3) in (None, -signal.SIGHUP)
        assert "\ncat " in processes(openshell, box).replace("cat ", "\ncat ")
        assert "sleep 98764 " not in processes(openshell, box).replace("cat; sleep 98764", "")
    end_inside(openshell, box, "98764")


def test_streams_and_one_shots_beside_each_other(openshell, box):
    streams = [openshell.stream(box, RAW + "exec cat") for _ in range(3)]
    try:
        for number, stream in enumerate(streams):
            stream.wait_for(b"hello\n")
            stream.write(b"number %d\n" % number)
        assert openshell.shell(box, "echo beside").text == "beside\n"
        for number, stream in enumerate(streams):
            assert stream.wait_for(b"number %d\n" % number) == b"hello\nnumber %d\n" % number
    finally:
        for stream in streams:
            stream.close()


def test_output_that_nobody_reads_does_not_stop_other_calls(openshell, box):
    stuck = openshell.popen("sandbox", "exec", "-n", box, "--no-tty", "--", "sh", "-c",
                            "head -c 50000000 /dev/urandom")
    time.sleep(scaled(1))
    done = openshell.shell(box, "echo beside", timeout=20)
    assert done.text == "beside\n" and done.seconds < 10, done
    stuck.kill()
    stuck.communicate()


def test_stream_to_an_unknown_sandbox(openshell):
    with openshell.stream("ow-ct-none", "true") as stream:
        assert stream.wait(10) == 1
        assert b"sandbox not found" in stream.errors and not stream.output


def test_silent_stream_stays(openshell, box):
    with openshell.stream(box, RAW + "sleep 3; echo late") as stream:
        stream.wait_for(b"hello\n")
        assert stream.wait(15) == 0 and bytes(stream.output) == b"hello\nlate\n"


def test_end_of_the_sandbox_ends_the_stream(openshell):
    name = openshell.made_box()
    with openshell.stream(name, RAW + "exec cat") as stream:
        stream.wait_for(b"hello\n")
        deleting = openshell.popen("sandbox", "delete", name, stderr=subprocess.STDOUT)
        assert stream.wait(30) == 1
        deleting.communicate(timeout=scaled(30))
        assert b"exec relay closed" in stream.errors.replace(b"\n", b" "), stream.errors
    wait_until(lambda: openshell.phase(name) is None, 20, "the end of the sandbox")
