"""A proxy for tests: it forwards requests of HTTP, makes tunnels (CONNECT), and knows the way to hosts that do not exist."""

import select
import socket
import socketserver
import threading
import urllib.parse

HEAD_MOST = 1 << 16
OWN = ("connection", "proxy-connection", "proxy-authorization")


class Proxy(socketserver.ThreadingTCPServer):
    """with Proxy({"lake.test": origin.port}) as proxy: ..., then proxy.asked has (method, target, {header: value})."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, ports, answer=None):
        """ports: of loopback, by host. answer: bytes in place of all that the proxy would do."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.ports, self.answer, self.asked = ports, answer, []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="proxy", daemon=True)
        self.thread.start()

    def __exit__(self, *unused):
        self.shutdown()
        self.server_close()

    def handle_error(self, *unused):
        """Clients may go whenever they like."""


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline(HEAD_MOST).decode("latin-1").split()
        fields = {}
        while field := self.rfile.readline(HEAD_MOST).decode("latin-1").strip():
            name, _, value = field.partition(":")
            fields[name.lower()] = value.strip()
        method, target, _ = line
        self.server.asked.append((method, target, fields))
        if self.server.answer is not None:
            self.wfile.write(self.server.answer)
            return
        url = urllib.parse.urlsplit(target if method != "CONNECT" else f"//{target}")
        with socket.create_connection(("127.0.0.1", self.server.ports[url.hostname]), timeout=60) as there:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                lines = [f"{method} {url._replace(scheme='', netloc='').geturl()} HTTP/1.1", "Connection: close"]
                lines += [f"{name}: {value}" for name, value in fields.items() if name not in OWN]
                there.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
            self.relay(there)

    def relay(self, there):
        """Bytes go both ways until one side has no more."""
        other = {self.connection: there, there: self.connection}
        while True:
            for one in select.select(list(other), [], [])[0]:
                data = one.recv(1 << 16)
                if not data:
                    return
                other[one].sendall(data)
