"""Stand-ins for two providers: to a question they answer with one call of a tool, to its result with what it says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTION = {"task": "Prepare the Atlas launch"}
NOTE = {"command": "create", "path": "/memories/atlas.md", "file_text": "The launch is on 12 May."}


@contextmanager
def providers() -> Iterator[str]:
    """Serve both on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def openai(body: dict[str, Any]) -> dict[str, Any]:
    """Answer `POST /v1/responses`."""
    (*_, last) = body["input"]
    if last.get("type") == "function_call_output":
        told = json.dumps(last["output"], ensure_ascii=False)
        item: dict[str, Any] = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": f"I was told: {told}", "annotations": []}],
        }
    else:
        assert "get_context" in {tool["name"] for tool in body["tools"]}
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "get_context",
            "arguments": json.dumps(QUESTION),
            "status": "completed",
        }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def anthropic(body: dict[str, Any]) -> dict[str, Any]:
    """Answer `POST /v1/messages`."""
    assert body["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    (*_, last) = body["messages"]
    if isinstance(last["content"], str):
        block: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": NOTE}
    else:
        (result,) = last["content"]
        block = {"type": "text", "text": f"I was told: {result['content']} (error: {result['is_error']})"}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": block["type"].replace("text", "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"/v1/responses": openai, "/v1/messages": anthropic}[self.path.partition("?")[0]](body)
        sent = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
