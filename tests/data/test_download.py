"""Files from the network: whole, checked, or not there at all. A server of this machine is the network."""

from __future__ import annotations

import hashlib
import http.server
import threading

import pytest
from pyburn.data import check_integrity, download_url

DATA = bytes(range(256)) * 1000


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/absent":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(DATA)))
        self.end_headers()
        self.wfile.write(DATA[:1000] if self.path == "/short" else DATA)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha256"])
def test_right_file(address, tmp_path, kind, capfd):
    digest = hashlib.new(kind, DATA).hexdigest()
    path = download_url(f"{address}/file.bin", tmp_path / "new", md5=digest)
    assert path == str(tmp_path / "new" / "file.bin") and (tmp_path / "new" / "file.bin").read_bytes() == DATA
    assert "100" in capfd.readouterr().err
    assert check_integrity(path, digest) and not check_integrity(path, "0" * len(digest))
    (tmp_path / "new" / "file.bin").write_bytes(b"spoilt")
    download_url(f"{address}/file.bin", tmp_path / "new", md5=digest, progress=False)
    assert check_integrity(path, digest) and capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "md5", "message"),
    [
        ("file", "0" * 32, "was expected; nothing was kept"),
        ("short", None, "ended after 1000 of"),
        ("absent", None, "404"),
    ],
)
def test_nothing_is_kept_of_a_wrong_file(address, tmp_path, name, md5, message):
    with pytest.raises(RuntimeError, match=message):
        download_url(f"{address}/{name}", tmp_path, md5=md5, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path):
    with pytest.raises(RuntimeError, match=r"no network, or no way to localhost:1 .* put it at .*file"):
        download_url("http://localhost:1/file", tmp_path, progress=False)
    with pytest.raises(ValueError, match="checksum of 3 digits"):
        check_integrity(__file__, "abc")
