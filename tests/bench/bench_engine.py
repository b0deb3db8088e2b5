# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The engine behind its socket and the window in front of it: see [engine] in goals.toml."""

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from model_server import ModelServer    # noqa: E402

STARTS = 7
TOKENS_A_SECOND = 200
SECONDS = 10
CLOCK = os.sysconf("SC_CLK_TCK")


class Screen:
    """An Xvfb, and when there is something on it other than its black ground."""

    def __init__(self, environment):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1180x820x24", "-noreset",
             "-nolisten", "tcp"], env=environment, pass_fds=[write],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            self.name = f":{numbers.readline().strip()}"
        self.x11 = ctypes.CDLL("libX11.so.6")
        for function in ("XOpenDisplay", "XGetImage"):
            getattr(self.x11, function).restype = ctypes.c_void_p
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.x11.XGetPixel.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(self.name.encode()))
        self.root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))

    def is_dark(self):
        """Whether the middle of where windows open is still the ground."""
        image = ctypes.c_void_p(self.x11.XGetImage(
            self.display, self.root, 300, 300, 1, 1, ctypes.c_ulong(0xffffff), 2))
        pixel = self.x11.XGetPixel(image, 0, 0)
        self.x11.XFree(image)
        return pixel & 0xffffff == 0

    def column(self):
        """What stands in the middle of the transcript, from its top to its bottom."""
        image = ctypes.c_void_p(self.x11.XGetImage(
            self.display, self.root, 600, 60, 1, 660, ctypes.c_ulong(0xffffff), 2))
        pixels = [self.x11.XGetPixel(image, 0, y) for y in range(660)]
        self.x11.XFree(image)
        return pixels

    def press(self, x, y):
        subprocess.run(["xdotool", "mousemove", str(x), str(y), "click", "1"], check=True,
                       env={**os.environ, "DISPLAY": self.name})

    def end(self):
        self.x11.XCloseDisplay(self.display)
        self.process.terminate()
        self.process.wait()


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("what is measured did not come about")
        time.sleep(0.002)


def memory_mib(pid, kind="Pss"):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split(f"{kind}:")[1].split()[0]) / 1024


def cpu_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / CLOCK


def stop(process):
    process.terminate()
    process.wait(30)


def show_window(argv, screen, environment):
    """(milliseconds to the first picture, the process)"""
    begun = time.monotonic()
    process = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: not screen.is_dark())
    return (time.monotonic() - begun) * 1000, process


def measure_windows(build, environment, figures):
    screen = Screen(environment)
    env = dict(environment, DISPLAY=screen.name, GSK_RENDERER="cairo", GDK_BACKEND="x11",
               GSETTINGS_BACKEND="memory", GTK_A11Y="none")
    for name, argv in (("bare", [build / "tests/bench/bench-window"]),
                       ("window", [build / "src/ui/openworker-desktop"])):
        times, memory, whole = [], [], []
        for _ in range(STARTS):
            shown, process = show_window(argv, screen, env)
            times.append(shown)
            time.sleep(1)
            memory.append(memory_mib(process.pid))
            whole.append(memory_mib(process.pid, "Rss"))
            stop(process)
            wait_for(screen.is_dark)
        figures[f"{name}_shown"] = statistics.median(times)
        figures[f"{name}_resident"] = statistics.median(memory)
        figures[f"{name}_whole"] = statistics.median(whole)
    measure_stream(build, env, screen, figures)
    screen.end()


def measure_stream(build, environment, screen, figures):
    """What the window costs while it idles, and while it shows a model's words as they come: a
    client of `openworker up`, whose own work is not counted."""
    script = [{"text": ["word "] * TOKENS_A_SECOND * (SECONDS + 10), "chunk": None,
               "delay": 1 / TOKENS_A_SECOND}]
    folder = Path(environment["HOME"]) / "folder"
    folder.mkdir(exist_ok=True)
    program = build / "src/cli/openworker"
    up = subprocess.Popen([program, "up"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: subprocess.run([program, "status"], env=environment, check=False,
                                    stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL).returncode == 0)
    time.sleep(1)
    figures["up_whole"] = memory_mib(up.pid, "Rss")
    figures["up_resident"] = memory_mib(up.pid)
    with ModelServer(script) as server:
        _, window = show_window([build / "src/ui/openworker-desktop"], screen, environment)
        time.sleep(2)
        before = cpu_seconds(window.pid)
        time.sleep(SECONDS)
        figures["idle_cpu"] = (cpu_seconds(window.pid) - before) / SECONDS * 100
        subprocess.run([program, "run", "--detach", "--provider", "direct", "--folder", folder,
                        "--model", "openai:bench", "--base-url", server.url, "Speak."],
                       env=environment, check=True, stdout=subprocess.DEVNULL)
        time.sleep(1)
        # The only session of the list; no words are shown before it is chosen.
        screen.press(130, 80)
        time.sleep(1)
        seen, before = screen.column(), cpu_seconds(window.pid)
        time.sleep(SECONDS)
        figures["stream_cpu"] = (cpu_seconds(window.pid) - before) / SECONDS * 100
        if screen.column() == seen:
            raise RuntimeError("the window did not show what the model said")
        stop(window)
        stop(up)


def measure(build):
    workspace = Path(tempfile.mkdtemp(prefix="ow-bench-", dir="/var/tmp"))
    try:
        for name in ("home", "run"):
            (workspace / name).mkdir(mode=0o700)
        environment = {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(workspace / "home"),
            "XDG_RUNTIME_DIR": str(workspace / "run"),
            "OPENWORKER_LIBEXEC": str(build / "libexec"),
        }
        figures = {}

        def run(*words):
            done = subprocess.run([build / "tests/bench/bench-engine", *words], env=environment,
                                  check=True, stdout=subprocess.PIPE, text=True)
            for line in done.stdout.splitlines():
                name, value = line.split()
                figures[name] = float(value)

        run("inside")
        run("sse")
        run("audit", str(workspace / "home/audit.jsonl"))
        figures["append_sync"] = sync_ms(workspace / "home/sync")
        up = subprocess.Popen([build / "src/cli/openworker", "up"], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        wait_for((workspace / "run/coworker/engine").exists)
        run("socket")
        stop(up)
        measure_windows(build, environment, figures)
        return figures
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def sync_ms(path):
    values = []
    with open(path, "ab", buffering=0) as file:
        for _ in range(50):
            begun = time.monotonic()
            file.write(b"x" * 400)
            os.fdatasync(file.fileno())
            values.append((time.monotonic() - begun) * 1000)
    return statistics.median(values)
