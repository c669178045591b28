"""What was asked of a server and what it acknowledged, and whether what is left after a crash can be true.

A history belongs to one place (a stored object, a document): the states that it was asked to take, in the order in which one
client asked, each with the moments at which it was asked and acknowledged. A moment is any number that grows.
"""

import dataclasses
import enum
import threading

ABSENT = None


class Verdict(enum.Enum):
    RIGHT = "right"
    LOST = "lost"  # an acknowledged write, and there is nothing
    STALE = "stale"  # what was there before an acknowledged write
    TORN = "torn"  # what nobody wrote
    EARLY = "early"  # what was asked for only later: the rig is wrong


@dataclasses.dataclass
class Change:
    state: object  # what the place holds afterwards; ABSENT: erased
    asked: int
    acknowledged: int | None = None
    refused: bool = False  # it was answered that nothing has happened


class History:
    """Of one place."""

    def __init__(self, place):
        self.place = place
        self.changes = [Change(ABSENT, -1, -1)]

    def ask(self, state, moment):
        self.changes.append(Change(state, moment))
        return self.changes[-1]

    def judge(self, seen, cut):
        """Whether that state can be there when the world ended at that moment."""
        last = max(i for i, change in enumerate(self.changes) if change.acknowledged is not None and change.acknowledged <= cut)
        possible = [change for change in self.changes[last:] if not change.refused]
        if any(change.state == seen and (change.asked < cut or change is possible[0]) for change in possible):
            return Verdict.RIGHT
        if seen is ABSENT:
            return Verdict.LOST
        if any(change.state == seen for change in self.changes[:last]):
            return Verdict.STALE  # though a place may come back to a state: nobody had asked for that yet
        return Verdict.EARLY if any(change.state == seen for change in possible) else Verdict.TORN


class Histories:
    """Of all places, by name; any thread."""

    def __init__(self, moment):
        self.moment = moment
        self.of = {}
        self.n_acknowledged = 0
        self._lock = threading.Condition()

    def place(self, name):
        with self._lock:
            return self.of.setdefault(name, History(name))

    def do(self, states, act):
        """Ask for those states ({place: state}) by one request. act() answers True: done, False: refused; what it raises means
        that nobody knows."""
        asked = [self.place(name).ask(state, self.moment()) for name, state in states.items()]
        done = act()
        for change in asked:
            change.refused = not done
            change.acknowledged = self.moment() if done else None
        with self._lock:
            self.n_acknowledged += done
            self._lock.notify_all()
        return done

    def until(self, n, timeout_s):
        """Wait for that many acknowledgements in all, or for nothing any more."""
        with self._lock:
            self._lock.wait_for(lambda: self.n_acknowledged >= n, timeout_s)

    def judge(self, seen, cut):
        """(verdict, place, state seen) of every place that is not right; seen(place) looks at it."""
        found = ((history.judge(state := seen(name), cut), name, state) for name, history in self.of.items())
        return [wrong for wrong in found if wrong[0] is not Verdict.RIGHT]
