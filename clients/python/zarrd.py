"""A client of zarrd that needs only the standard library.

Numbers come as a memoryview with the shape of the slice: `values[3, 4]`, `values.tolist()`, and `numpy.asarray(values)` without a copy.
All other elements (strings, times, complex numbers, structs) come as nested lists.
"""

import json
import urllib.error
import urllib.parse
import urllib.request

FORMATS = {"|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q", "<f4": "f", "<f8": "d"}


class Problem(Exception):
    """What the server refused, as the problem document says it: `status`, `code`, and all its members in `document`."""

    def __init__(self, status, document):
        helps = [f"{name}: {document[name]}" for name in ("allowed", "suggestions", "expected", "found") if document.get(name)]
        super().__init__("; ".join([document.get("detail", f"HTTP status {status}"), *helps]))
        self.status, self.code, self.document = status, document.get("code", ""), document


class Dataset:
    """`Dataset("http://localhost:8080/v1/datasets/demo")`; a token is sent with every request."""

    def __init__(self, url, token=None):
        self.url, self.headers = url.rstrip("/"), {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method, resource, path, params, body=None, media_type=None):
        headers = self.headers | ({"Content-Type": media_type} if media_type else {})
        url = f"{self.url}/{resource}/{urllib.parse.quote(path)}?{urllib.parse.urlencode(params)}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method)) as answer:
                return answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            text = error.read()
            is_problem = error.headers.get_content_type() == "application/problem+json"
            raise Problem(error.code, json.loads(text) if is_problem and text else {}) from None

    def list(self, group=""):
        """All nodes from the group on: `[{"path": "solar/lat", "node_type": "array", "array": {"shape": [72], ...}}, ...]`."""
        return json.loads(self.ask("GET", "tree", group, {"fields": "path,node_type,array.shape,array.data_type,array.dimension_names"})[1])["nodes"]

    def __getitem__(self, path):
        return Array(self, path)


class Array:
    """`dataset["solar/irradiance"]`: `array["12,::4"]` reads a slice, `array["12,::4"] = values` writes it."""

    def __init__(self, dataset, path):
        self.dataset, self.path = dataset, path
        self.node = json.loads(dataset.ask("GET", "nodes", path, {})[1])
        if "array" not in self.node:
            raise Problem(400, self.node.get("refused") or {"detail": f"'{path}' is a group"})
        self.shape, self.dtype = tuple(self.node["array"]["shape"]), self.node["array"]["dtype"]
        self.attributes = self.node["metadata"].get("attributes", {})

    def __getitem__(self, selection):
        if self.dtype not in FORMATS:
            return json.loads(self.dataset.ask("GET", "slices", self.path, {"slice": selection, "format": "json"})[1])["data"]
        headers, body = self.dataset.ask("GET", "slices", self.path, {"slice": selection, "format": "raw"})
        shape = [int(length) for length in headers["Zarr-Shape"].split(",") if length]
        return memoryview(body).cast(FORMATS[self.dtype], *[shape] if body else [])  # no memoryview has a dimension of length 0

    def __setitem__(self, selection, values):
        """Values are anything with the array's type in memory (array.array, memoryview, NumPy), or nested lists."""
        is_list = isinstance(values, (list, int, float))
        body = json.dumps(values).encode() if is_list else memoryview(values).cast("B")
        media_type = "application/json" if is_list else "application/octet-stream"
        self.dataset.ask("PUT", "slices", self.path, {"slice": selection}, body, media_type)
