"""The server's thread that lets a language model read what was captured. No answer ever waits for it.

It runs in server processes only (`start`), where a model is configured; a fork starts its own. What waits is a column
of the captures, so nothing is lost with it; `manage.py extract` does the same by hand.
"""

import logging
import time
from typing import Any, Final

from django.db import Error, connection

from memories.background import Background
from memories.models import Vault
from memories.proposing import backlog
from memories.proposing.chat import ModelUnavailable, active_model
from memories.signals import capture_waits

RESCAN_SECONDS: Final = 60.0
RESCAN_SHARE: Final = 50  # a scan of many vaults may take a fiftieth of the time
FIRST_RETRY_SECONDS: Final = 5.0
LAST_RETRY_SECONDS: Final = 300.0

log = logging.getLogger(__name__)


class ExtractionWorker(Background):
    name, stop_seconds = "extraction", 1.0

    def start(self) -> None:
        if active_model() is not None:
            self._begin()

    def wake(self, **told: Any) -> None:
        """Tell that something was just captured."""
        if self._is_on:
            self._nudge()

    def _renew(self) -> None:
        super()._renew()
        self.trouble, self.failures = "", 0  # why what waits is not read just now; how often that was so

    def _run(self) -> None:
        pause, retry = RESCAN_SECONDS, FIRST_RETRY_SECONDS
        while not self._stopping.is_set():
            try:
                pause = self._look()
                self.trouble, retry = "", FIRST_RETRY_SECONDS
            except (ModelUnavailable, Error) as error:
                said = error.detail if isinstance(error, ModelUnavailable) else type(error).__name__
                if said != self.trouble:
                    log.warning("captures wait for the language model", extra={"reason": said})
                self.trouble, self.failures = said, self.failures + 1
                self._stopping.wait(retry)
                retry = min(2 * retry, LAST_RETRY_SECONDS)
                continue
            finally:
                connection.close()
            self._woken.wait(pause)
            self._woken.clear()

    def _look(self) -> float:
        """Read what waits, beginning with another vault each time.

        Returns: how long to wait for the next look, unless something is captured meanwhile.
        """
        started, has_read = time.monotonic(), False
        for _ in backlog.work_off(*Vault.objects.order_by("?")):
            has_read = True
            if self._stopping.is_set():
                break
        return (
            RESCAN_SECONDS if has_read else max(RESCAN_SECONDS, RESCAN_SHARE * (time.monotonic() - started))
        )


worker: Final = ExtractionWorker()
capture_waits.connect(worker.wake)
worker.lives_with_the_process()
