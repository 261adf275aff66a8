"""A local server that stands in for Kaggle's API and its storage: credentials, redirects to signed addresses, ranges, breaks."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIGNATURE = "signature-canary-5d1f"


class Kaggle(ThreadingHTTPServer):
    """``files``: (dataset, file name or None for all) -> bytes, a competition's leaderboard as dataset ``leaderboard/NAME``;
    ``breaks``: how many storage answers break off half-way."""

    daemon_threads = True

    def __init__(self, files: dict[tuple[str, str | None], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.breaks = 0
        self.refuse: int | None = None
        self.requests: list[tuple[str, str, str | None]] = []
        self.sent = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Kaggle
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        authorization = self.headers.get("Authorization")
        self.server.requests.append(("POST", self.path, authorization))
        if not authorization or self.server.refuse:
            # The worst a server can do: echo what it was sent.
            self._answer(self.server.refuse or 401, json.dumps({"code": 401, "message": f"refused {authorization}"}).encode())
            return
        if self.path == "/v1/competitions.CompetitionApiService/DownloadLeaderboard":
            dataset, name = f"leaderboard/{body['competitionName']}", None
        elif self.path == "/v1/datasets.DatasetApiService/DownloadDataset":
            dataset, name = f"{body['ownerSlug']}/{body['datasetSlug']}", body.get("fileName")
        else:
            self._answer(404, b'{"code": 404, "message": "no such method"}')
            return
        if (dataset, name) not in self.server.files:
            self._answer(404, b'{"code": 404, "message": "no such dataset"}')
            return
        self.send_response(302)
        self.send_header("Location", f"{self.server.address}/storage/{dataset}/{name or 'archive.zip'}?token={SIGNATURE}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        _, _, owner, slug, name = self.path.split("?")[0].split("/")
        data = self.server.files[(f"{owner}/{slug}", None if name == "archive.zip" else name)]
        asked = self.headers.get("Range")
        self.server.requests.append(("GET", self.path, asked))
        first = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        part = data[first:]
        self.send_response(206 if asked else 200)
        for key, value in (
            ("Content-Length", str(len(part))),
            ("Accept-Ranges", "bytes"),
            ("ETag", f'"{hash(data)}"'),
            ("Last-Modified", "Sat, 01 Aug 2026 00:20:00 GMT"),
        ):
            self.send_header(key, value)
        self.end_headers()
        if self.server.breaks > 0 and name == "archive.zip":
            self.server.breaks -= 1
            part = part[: len(part) // 2]
            self.close_connection = True
        self.server.sent += len(part)
        self.wfile.write(part)
        self.wfile.flush()
        if self.close_connection:
            self.connection.close()

    def _answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(files: dict[tuple[str, str | None], bytes]) -> Iterator[Kaggle]:
    """The server, which ends with the block."""
    with Kaggle(files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
