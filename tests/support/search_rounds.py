"""How many rounds a test that searches makes: tests/run asks for a part of them, tests/run --all for all of them.

ZARRD_TESTS_ROUNDS is that part in percent. Without it a test makes all of its rounds.
"""

import os

PERCENT = int(os.environ.get("ZARRD_TESTS_ROUNDS", "100"))


def rounds(n, least=1):
    """The rounds that a test makes in this run, of the n that it makes in a full one."""
    return max(least, n * PERCENT // 100)
