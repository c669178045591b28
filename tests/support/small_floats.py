"""Floats that NumPy lacks: what each code means, and the codes of the floats that answers have instead."""

import functools
import math

import numpy as np

# exponent bits, mantissa bits, bias, which codes are no numbers
FORMATS = {
    "bfloat16": (8, 7, 127, "ieee"),
    "float8_e3m4": (3, 4, 3, "ieee"),
    "float8_e4m3": (4, 3, 7, "ieee"),
    "float8_e4m3b11fnuz": (4, 3, 11, "fnuz"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float8_e8m0fnu": (8, 0, 127, "fnu"),
    "float6_e2m3fn": (2, 3, 1, "fn"),
    "float6_e3m2fn": (3, 2, 3, "fn"),
    "float4_e2m1fn": (2, 1, 1, "fn"),
}
INTEGERS = {"int2": "i1", "int4": "i1", "uint2": "u1", "uint4": "u1"}
COMPLEX = {f"complex_{name}": name for name in FORMATS}


def meaning(name, code):
    """The bits of the float32 of a code."""
    n_exponent, n_mantissa, bias, specials = FORMATS[name]
    if specials == "fnu":
        value = math.nan if code == 255 else 2.0 ** (code - 127)
        return int(np.float32(value).view("u4"))
    sign = code >> (n_exponent + n_mantissa)
    exponent = code >> n_mantissa & (1 << n_exponent) - 1
    mantissa = code & (1 << n_mantissa) - 1
    if specials == "fnuz" and sign and not exponent and not mantissa:
        return int(np.float32(math.nan).view("u4"))
    if specials == "ieee" and exponent == (1 << n_exponent) - 1:
        return sign << 31 | 0x7F800000 | mantissa << 23 - n_mantissa
    size = 2.0 ** (1 - bias) * mantissa / 2**n_mantissa if exponent == 0 else 2.0 ** (exponent - bias) * (1 + mantissa / 2**n_mantissa)
    return int(np.float32(-size if sign else size).view("u4"))


def n_codes(name):
    n_exponent, n_mantissa, _, specials = FORMATS[name]
    return 1 << n_exponent + n_mantissa + (specials != "fnu")


@functools.cache
def meanings(name):
    """Of every code."""
    return np.array([meaning(name, code) for code in range(n_codes(name))], "u4")


@functools.cache
def _codes_by_meaning(name):
    return {int(bits): code for code, bits in enumerate(meanings(name))}


def codes(data_type, body):
    """The bytes that are stored (little-endian) of the floats of an answer."""
    name = COMPLEX.get(data_type, data_type)
    by_meaning = _codes_by_meaning(name)
    return np.array([by_meaning[int(bits)] for bits in np.frombuffer(body, "<u4")], code_type(name)).tobytes()


def code_type(name):
    return "<u2" if name == "bfloat16" else "u1"
