"""PNG files: a strict reader of what zarrd writes, without a library."""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {3: 1, 2: 3, 6: 4}  # of a colour type: palette, RGB, RGBA


class Png:
    """Its `pixels` as RGBA, and of a palette the `colors` and which of them each pixel has (`indices`)."""

    def __init__(self, data):
        assert data.startswith(SIGNATURE), data[:20]
        chunks, at = [], len(SIGNATURE)
        while at < len(data):
            length, name = struct.unpack_from(">I4s", data, at)
            body = data[at + 8:at + 8 + length]
            assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(name + body), name
            chunks.append((name, body))
            at += 12 + length
        assert at == len(data) and chunks[0][0] == b"IHDR" and chunks[-1] == (b"IEND", b"")
        self.width, self.height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
        assert depth == 8 and rest == [0, 0, 0]
        n = CHANNELS[kind]
        rows = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
        rows = np.frombuffer(rows, "u1").reshape(self.height, 1 + self.width * n)
        assert (rows[:, 0] == (1 if self.width > 1 else 0)).all()  # a sample is the difference to the one before it, if there is one
        samples = np.add.accumulate(rows[:, 1:].reshape(self.height, self.width, n), axis=1, dtype="u1")
        parts = dict(chunks)
        self.colors = self.indices = None
        if kind == 3:
            rgb = np.frombuffer(parts[b"PLTE"], "u1").reshape(-1, 3)
            alpha = np.full(len(rgb), 255, "u1")
            clear = np.frombuffer(parts.get(b"tRNS", b""), "u1")
            alpha[:len(clear)] = clear
            self.colors = np.column_stack([rgb, alpha])
            self.indices = samples[:, :, 0]
            self.pixels = self.colors[self.indices]
        elif n == 3:
            self.pixels = np.dstack([samples, np.full((self.height, self.width), 255, "u1")])
        else:
            self.pixels = samples
