"""nginx as an HTTP origin, on loopback: Debian's package, over directories that tests share with it.

What it serves below /html/ has an HTML index, below /json/ one of JSON, below /nolist/ none (403), below /norange/ no ranges, and
below /bare/ neither ETag nor Last-Modified. With certificates (certificates.py) it speaks TLS, and HTTP/2 to clients that can.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

START_S = 60
CONFIGURATION = """daemon on; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 1024; }}
http {{
    log_format requests '$server_protocol $connection $request_method $uri';
    access_log {folder}/access.log requests; default_type application/octet-stream; types {{ application/json json; text/html html; }}
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port}{tls};
        location /html/ {{ alias {folder}/shared/; autoindex on; }}
        location /json/ {{ alias {folder}/shared/; autoindex on; autoindex_format json; }}
        location /nolist/ {{ alias {folder}/shared/; }}
        location /norange/ {{ alias {folder}/shared/; max_ranges 0; }}
        location /bare/ {{ alias {folder}/shared/; etag off; if_modified_since off; add_header Last-Modified ""; }}
    }}
}}
"""

TLS = " ssl http2; ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem"


def missing():
    """Why there can be none here, or None."""
    return None if program() else "nginx not installed (deploy/packages/engines)"


def program():
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")


class Nginx:
    def __init__(self, folder, certificates=None):
        self.folder = pathlib.Path(folder)
        self.certificates = certificates

    @property
    def url(self):
        return ("https" if self.certificates else "http") + "://127.0.0.1:" + (self.folder / "port").read_text()

    def start(self):
        (self.folder / "shared").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        user = "user root;" if os.geteuid() == 0 else ""
        tls = TLS.format(folder=self.certificates) if self.certificates else ""
        (self.folder / "conf").write_text(CONFIGURATION.format(folder=self.folder, port=port, user=user, tls=tls))
        self._run()
        (self.folder / "port").write_text(str(port))
        return self

    def _run(self, *arguments):
        command = [program(), "-c", self.folder / "conf", "-e", self.folder / "error.log", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=START_S)

    def reload(self):
        """New processes answer new connections; the old ones end theirs when nothing is under way on them."""
        self._run("-s", "reload")

    def requests(self):
        """What has been answered so far: (protocol, connection, method, path) of each."""
        return [line.split(" ", 3) for line in (self.folder / "access.log").read_text().splitlines()]

    def share(self, directory, name):
        """Serve a directory under this name, which is nobody else's."""
        with contextlib.suppress(FileExistsError):
            (self.folder / "shared" / name).symlink_to(directory)

    def stop(self):
        with contextlib.suppress(OSError):
            pid = int((self.folder / "pid").read_text())
            os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + START_S
            while (self.folder / "pid").exists() and time.monotonic() < end:
                time.sleep(0.02)
        shutil.rmtree(self.folder, ignore_errors=True)
