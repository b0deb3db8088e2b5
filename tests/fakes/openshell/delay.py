# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What travels as long as it does through a real relay, without holding up what comes behind."""

import collections
import threading
import time

# Most that is under way at once.
BYTES = 1 << 20
# Bytes of these may be joined.
LIKE = (b"O", b"I")


class Delay:
    """Hands each frame on in its order, @seconds after it came; none: at once."""

    def __init__(self, seconds, hand_on):
        self.seconds, self.hand_on = seconds, hand_on
        self.changed = threading.Condition()
        self.frames, self.size, self.busy, self.over, self.failure = (
            collections.deque(), 0, False, False, None)
        if seconds > 0:
            threading.Thread(target=self._run, daemon=True).start()

    def send(self, letter, data):
        """Waits while too much is under way; OSError once a frame could not be handed on."""
        if self.seconds <= 0:
            self.hand_on(letter, data)
            return
        with self.changed:
            while self.size > BYTES and self.failure is None:
                self.changed.wait()
            if self.failure is not None:
                raise self.failure
            self.frames.append((time.monotonic() + self.seconds, letter, data))
            self.size += len(data)
            self.changed.notify_all()

    def close(self):
        """All that came is handed on before this returns."""
        with self.changed:
            self.over = True
            self.changed.notify_all()
            while (self.frames or self.busy) and self.failure is None and self.seconds > 0:
                self.changed.wait()

    def _first(self):
        """When the next frame is due; None at the end."""
        with self.changed:
            self.busy = False
            self.changed.notify_all()
            while not self.frames and not self.over:
                self.changed.wait()
            return self.frames[0][0] if self.frames else None

    def _due(self):
        """(letter, bytes) of what is due now and alike."""
        with self.changed:
            self.busy = True
            _, letter, data = self.frames.popleft()
            parts, now = [data], time.monotonic()
            while self.frames and self.frames[0][0] <= now and self.frames[0][1] == letter in LIKE:
                parts.append(self.frames.popleft()[2])
            data = b"".join(parts)
            self.size -= len(data)
            return letter, data

    def _run(self):
        while True:
            due = self._first()
            if due is None:
                return
            time.sleep(max(0, due - time.monotonic()))
            try:
                self.hand_on(*self._due())
            except OSError as error:
                with self.changed:
                    self.failure, self.busy = error, False
                    self.changed.notify_all()
                return
