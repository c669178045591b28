"""Tiles as PNG, of decoded chunks and cold: beside the same elements as a raw slice, which the picture costs on top."""

import data
import numpy as np
from group_slices import UNCACHED, Block, requests
from load import Request, WrongAnswer, ask
from peers import running, zarrds
from pictures import indices
from png import Png
from rounds import Row, measure_all

ARRAY = "map_lz4"
SIDE = 256
N_ENDS = 32  # ranges of each tile, so that no answer is a prepared one
TILE = Block("tile 256x256", (1, SIDE, SIDE), None)
WARM_US, COLD_US = 1200, 3000  # goals


def tiles(values):
    low, high = float(values.min()), float(values.max())
    n_y, n_x = (-(-n // SIDE) for n in values.shape[1:])
    return [(t, y, x, low - i / 1024, high) for i in range(N_ENDS) for t in range(0, values.shape[0], 4)
            for y in range(n_y) for x in range(n_x)]


def target(tile):
    t, y, x, low, high = tile
    return f"/v1/datasets/bench/images/{ARRAY}?slice={t}&tile=0,{y},{x}&vmin={low!r}&vmax={high!r}"


def check_pixels(peer, tile, values):
    t, y, x, low, high = tile
    _, body = ask(peer.port, Request(target(tile)))
    plane = values[t, y * SIDE:(y + 1) * SIDE, x * SIDE:(x + 1) * SIDE].astype(np.float64)
    if not (Png(body).indices == indices(plane, low, high)).all():
        raise WrongAnswer(f"{peer.name}: {target(tile)}: other pixels than numpy's")


def run(options, report):
    root = data.chunks(options, "slices")
    values = data.field()
    asked = tiles(values)
    for state, goal, settings in (("decoded", WARM_US, ()), ("cold", COLD_US, UNCACHED)):
        with running(zarrds(options, {"bench": root}, *settings), options) as peers:
            for peer in peers:
                check_pixels(peer, asked[0], values)
                check_pixels(peer, asked[-1], values)
            pictures = Row(f"{state} PNG {TILE.name}", [Request(target(tile)) for tile in asked], cpu_us_goal=goal)
            measure_all(peers, [pictures, Row(f"{state} raw {TILE.name}", requests(ARRAY, TILE, values))], options, report)
