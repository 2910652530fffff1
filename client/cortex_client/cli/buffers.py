"""The memory buffers of conversations, kept in files so that one command goes on where the last one stopped."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from cortex_client.buffer import Buffer
from cortex_client.cli.failing import Usage
from cortex_client.cli.settings import Access, state_folder, write_private


def file_of(access: Access, session_id: str) -> Path:
    """Return where a conversation's buffer is kept: apart for each server and token, since vaults are."""
    return _folder(access) / f"{quote(session_id, safe='')}.json"


def kept_buffer(path: Path) -> Buffer:
    """Return the buffer in a file; an empty one where there is no file.

    Raises: Usage for a file that holds none.
    """
    try:
        return Buffer.from_json(json.loads(path.read_text()))
    except FileNotFoundError:
        return Buffer()
    except OSError as error:
        raise Usage(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Usage(f"{path} holds no buffer; without it the next answer holds everything") from error


def keep_buffer(path: Path, buffer: Buffer) -> None:
    write_private(path, json.dumps(buffer.to_json(), ensure_ascii=False))


def kept_sessions(access: Access) -> Iterator[tuple[str, Buffer]]:
    """Yield the conversations that are kept for a server and a token, by name."""
    for path in sorted(_folder(access).glob("*.json")):
        yield unquote(path.stem), kept_buffer(path)


def _folder(access: Access) -> Path:
    return state_folder() / "sessions" / access.fingerprint
