"""The server's thread that embeds what waits: what was just written first, then whatever else has no vector.

It runs in server processes only (`start`), and a process that was forked from one starts its own. All that it has to
know lies in the database, so nothing is lost with it; `manage.py embed` does the same by hand.
"""

import atexit
import logging
import time
from collections.abc import Collection, Mapping
from typing import Final

from django.db import Error, connection

from cortex.api.meters import Level, meters
from memories.background import Background
from memories.models import Vault
from memories.rows import in_chunks
from memories.search import backlog
from memories.search.embedding import EmbedderUnavailable, active_embedder
from memories.search.embedding.base import leaving
from memories.search.turns import turn

RESCAN_SECONDS: Final = 60.0  # what other processes left, such as an import, is found this much later
RESCAN_SHARE: Final = 50  # a scan of many vaults may take a fiftieth of the time
FIRST_RETRY_SECONDS: Final = 5.0
LAST_RETRY_SECONDS: Final = 300.0
MOST_NAMED: Final = 20_000

log = logging.getLogger(__name__)


class EmbeddingWorker(Background):
    """The thread, and the memories that it was told of."""

    name, stop_seconds = "embedding", 3.0

    def __init__(self) -> None:
        self.trouble = ""  # why what waits is not embedded just now
        super().__init__()

    def start(self) -> None:
        """Embed from now on what waits, and load the model before somebody waits for it.

        Raises: ImproperlyConfigured where the embedder is not installed.
        """
        if active_embedder() is not None:
            self._begin()

    def wake(self, vault_id: str, memory_ids: Collection[int]) -> None:
        """Tell of memories that were just written without a vector."""
        if not self._is_on:
            return
        with self._guard:
            if self._named < MOST_NAMED:  # the others are found by looking
                self._wanted.setdefault(vault_id, set()).update(memory_ids)
                self._named += len(memory_ids)
            else:
                self._must_look = True
        self._nudge()

    def _renew(self) -> None:
        super()._renew()
        self._wanted: dict[str, set[int]] = {}
        self._named, self._must_look = 0, True

    def _run(self) -> None:
        pause, retry = RESCAN_SECONDS, FIRST_RETRY_SECONDS
        while not self._stopping.is_set():
            try:
                pause, retry = self._work(), FIRST_RETRY_SECONDS
                self._is_in_trouble("")
            except (EmbedderUnavailable, Error) as error:
                if self._stopping.is_set():
                    break
                said = error.detail if isinstance(error, EmbedderUnavailable) else type(error).__name__
                if said != self.trouble:
                    log.warning("memories wait for their vectors", extra={"reason": said})
                self._is_in_trouble(said)
                self._must_look, pause = True, retry
                retry = min(2 * retry, LAST_RETRY_SECONDS)
                self._stopping.wait(pause)  # what is written meanwhile waits, too
                continue
            finally:
                connection.close()
            self._must_look = not self._woken.wait(pause) or self._must_look
            self._woken.clear()

    def _is_in_trouble(self, said: str) -> None:
        self.trouble = said
        meters.level(Level.EMBEDDING_TROUBLE, float(bool(said)))

    def _work(self) -> float:
        """Embed what was named, and look for the rest if it is time.

        Returns: how long to wait for the next look.
        """
        if self._must_look:
            self._must_look = False
            return self._look()
        with turn():
            self._embed_named()
        return RESCAN_SECONDS

    def _look(self) -> float:
        started = time.monotonic()
        embedder = active_embedder()
        if embedder is not None:
            embedder.embed_question("A model is loaded before somebody waits for it.")
        for vault_id in list(Vault.objects.order_by("pk").values_list("pk", flat=True)):
            for _ in backlog.work_off(vault_id):
                self._embed_named()
                if self._stopping.is_set():
                    return RESCAN_SECONDS
        return max(RESCAN_SECONDS, RESCAN_SHARE * (time.monotonic() - started))

    def _embed_named(self) -> None:
        for vault_id, memory_ids in self._taken().items():
            for some in in_chunks(memory_ids, backlog.batch_size()):
                if not self._stopping.is_set():
                    backlog.embed(vault_id, some)

    def _taken(self) -> Mapping[str, set[int]]:
        with self._guard:
            wanted, self._wanted, self._named = self._wanted, {}, 0
        return wanted


worker: Final = EmbeddingWorker()
worker.lives_with_the_process()
atexit.register(leaving.set)  # the last registered comes first
