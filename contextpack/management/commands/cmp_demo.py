"""`manage.py cmp_demo`: boot a server from source, and show on it that the protocol holds."""

import os
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from contextpack.demo.acts import conversing, envelope, packing, profiles, querying
from contextpack.demo.client import ServerTrouble
from contextpack.demo.examples import write_examples
from contextpack.demo.report import EvidenceMissing, Report
from contextpack.demo.scene import Scene, write_memories
from contextpack.demo.server import SOURCE_DIR, Server, end_on_terminate, throwaway_server

ACTS: Final = (profiles, envelope, packing, querying, conversing)
EXAMPLES_DIR: Final = SOURCE_DIR / "docs" / "examples"


class Command(BaseCommand):
    help = "Prove the protocol on a live server with a throw-away database; ends in CMP DEMO OK."
    requires_system_checks: list[str] = []  # the server that it boots checks itself

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--examples", type=Path, default=EXAMPLES_DIR, help="where the captured envelopes go"
        )
        parser.add_argument("--port", type=int, help="default: a free one")
        parser.add_argument(
            "--keep",
            action="store_true",
            help="leave the server running; Ctrl-C ends it and removes its database",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        end_on_terminate()
        try:
            with throwaway_server(port=options["port"]) as server:
                self._play(server, examples=options["examples"])
                if options["keep"]:
                    self._keep(server)
        except (ServerTrouble, EvidenceMissing) as failure:
            raise CommandError(f"the demo failed: {failure}") from failure

    def _play(self, server: Server, *, examples: Path) -> None:
        report = Report(write=self._write)
        began_at = datetime.now(UTC).replace(microsecond=0)
        scene = Scene(client=server.client(), report=report, began_at=began_at)
        report.heading("The Contextual Memory Protocol, shown on a live server")
        report.line(f"{server.url} was ready after {server.seconds_to_ready:.1f} s")
        write_memories(scene)
        for act in ACTS:
            act.play(scene)
        files = write_examples(scene.shown, began_at=began_at, folder=examples)
        scene.client.close()
        shown = ", ".join(os.path.relpath(path) for path in files)
        self._write(f"\n{report.held} checks held. Examples: {shown}\nCMP DEMO OK")

    def _keep(self, server: Server) -> None:
        self._write(
            f"\nThe server keeps running until Ctrl-C.\n  API    {server.url}/v1/\n  Docs   {server.url}/docs\n"
            f"  Admin  {server.url}/admin/\n  Token  {server.token}"
        )
        try:
            server.process.wait()
        except KeyboardInterrupt:
            self._write("\nThe server ends, and its database goes.")
            return
        raise ServerTrouble(f"the server ended: {server.last_words()}")

    def _write(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
