"""What pictures show: numpy says which pixels."""

import numpy as np

COLORS = 255
CLEAR = (0, 0, 0, 0)


def blocks(values, factor):
    """Means of blocks of factor x factor elements without NaN; the last ones may be smaller."""
    height, width = (-(-n // factor) for n in values.shape[:2])
    out = np.full((height, width, *values.shape[2:]), np.nan)
    for y in range(height):
        for x in range(width):
            block = values[y * factor:(y + 1) * factor, x * factor:(x + 1) * factor].astype(float)
            if not np.isnan(block).all():
                out[y, x] = np.nanmean(block, axis=(0, 1))
    return out


def shares(n, n_pixels):
    """How much of each element is in each pixel: a row for each pixel."""
    edges = np.arange(n_pixels + 1) * n / n_pixels
    first, last = np.arange(n), np.arange(n) + 1
    return np.clip(np.minimum(edges[1:, None], last) - np.maximum(edges[:-1, None], first), 0, None)


def resized(values, width, height):
    """Area means where it shrinks, the nearest element where it grows."""
    def weights(n, n_pixels):
        if n_pixels < n:
            return shares(n, n_pixels)
        nearest = ((np.arange(n_pixels) + 0.5) * n / n_pixels).astype(int)
        return np.eye(n)[nearest]
    rows, columns = weights(values.shape[0], height), weights(values.shape[1], width)
    counts = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return (rows @ np.where(counts, values, 0) @ columns.T) / (rows @ counts @ columns.T)


def indices(values, vmin=None, vmax=None, stretch="linear"):
    """The colour of each number; COLORS is missing."""
    finite = values[np.isfinite(values)]
    vmin = finite.min() if vmin is None else vmin
    vmax = finite.max() if vmax is None else vmax
    low, high = min(vmin, vmax), max(vmin, vmax)
    with np.errstate(all="ignore"):
        if stretch == "log":
            position = (np.log(values) - np.log(low)) / (np.log(high) - np.log(low))
            position[values <= 0] = 0
        else:
            position = (values - low) / (high - low)
        if stretch == "sqrt":
            position = np.sqrt(np.maximum(position, 0))
        color = np.minimum(np.maximum(np.nan_to_num(position * COLORS, nan=0, posinf=COLORS, neginf=0), 0), COLORS - 1).astype(int)
    color = COLORS - 1 - color if vmin > vmax else color
    return np.where(np.isnan(values), COLORS, color)


def palette(table, missing=CLEAR):
    """The colours of pictures: those of a map from its first to its last one, and that of what is missing."""
    places = (np.arange(COLORS) * 255 + 127) // 254
    return np.vstack([np.column_stack([np.array(table, "u1")[places], np.full(COLORS, 255, "u1")]), np.array([missing], "u1")])
