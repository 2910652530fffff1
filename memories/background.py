"""The life of a thread that works beside a server's answers: begun once, woken, ended with the process, begun anew in a
fork. What it does, and how long it pauses, its kind says."""

import atexit
import os
import threading
from typing import ClassVar


class Background:
    """At most one thread in a process, and none before it is begun."""

    name: ClassVar[str]
    stop_seconds: ClassVar[float]  # what a process that ends waits for it

    def __init__(self) -> None:
        self._is_on = False
        self._renew()

    def stop(self) -> None:
        """End after what is under way; what waits goes on waiting."""
        self._stopping.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(self.stop_seconds)

    def forked(self) -> None:
        """Begin anew in a child: it has neither the thread nor whoever held the locks."""
        self._renew()

    def lives_with_the_process(self) -> None:
        atexit.register(self.stop)
        os.register_at_fork(after_in_child=self.forked)

    def _begin(self) -> None:
        self._is_on = True
        self._ensure_running()

    def _nudge(self) -> None:
        self._woken.set()
        self._ensure_running()

    def _renew(self) -> None:
        self._guard = threading.Lock()
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def _ensure_running(self) -> None:
        with self._guard:
            if (self._thread is None or not self._thread.is_alive()) and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        raise NotImplementedError
