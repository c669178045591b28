"""Results as plain tables, and as JSON."""

import dataclasses
import json

COLUMNS = ("req/s", "p50 us", "p99 us", "CPU us", "calls", "read", "peak", "client")
HEAD = f"  {'':24}" + "".join(f"{column:>9}" for column in COLUMNS) + "   x rate    x CPU"


def size(n):
    for unit in ("", "k", "M", "G"):
        if n < 1000 or unit == "G":
            return f"{n:.0f}{unit}" if n >= 10 or n == int(n) else f"{n:.1f}{unit}"
        n /= 1024


def cells(cost):
    calls = "-" if cost.calls is None else f"{cost.calls:.1f}"
    values = (f"{cost.rate:.0f}", f"{cost.p50_us:.0f}", f"{cost.p99_us:.0f}", f"{cost.cpu_us:.1f}", calls,
              size(cost.bytes_read), size(cost.peak_bytes), f"{100 * cost.client_share:.0f}%")
    ratios = (cost.by_rate, cost.by_cpu) if cost.by_rate else ()
    return (f"  {cost.server:24}" + "".join(f"{value:>9}" for value in values)
            + "".join(f"{ratio.median:8.2f}x" for ratio in ratios) + (f"   {cost.n_failed} FAILED" if cost.n_failed else ""))


class Report:
    """Prints rows as they come, keeps them for JSON and for the summary."""

    def __init__(self):
        self.rows = []
        self.short = []
        self.n_goals = 0
        self.group_name = ""

    def group(self, name, about):
        self.group_name = name
        print(f"\n== {name}: {about}", flush=True)

    def row(self, result, note=""):
        """A row of several servers: rounds.Result."""
        missed = result.shortfalls + [f"{result.costs[0].n_failed} answers failed"] * (result.costs[0].n_failed > 0)
        print(f"\n{result.row.name}{self._verdict(result.n_goals, result.row.name, missed)}")
        print(HEAD)
        for cost in result.costs:
            print(cells(cost))
        if result.is_marked:
            spread = ", ".join(f"{what} {100 * ratio.spread:.0f} %" for what, _, (_, ratio) in result.goals())
            print(f"  ! spread over 15 %: {spread}")
        print(f"  {note}\n" if note else "", end="", flush=True)
        self.rows.append({"group": self.group_name, "row": result.row.name, "marked": result.is_marked, "short": missed, "note": note,
                          "servers": [dataclasses.asdict(cost) for cost in result.costs]})

    def figure(self, name, value, unit="", goal=None, at_least=False, note=""):
        """A single figure; goal is the most it may be, or the least."""
        missed = [] if goal is None or (value >= goal if at_least else value <= goal) else [
            f"{value:.2f} {unit}, goal {'at least' if at_least else 'at most'} {goal:g}"]
        print(f"  {name:52} {value:10.2f} {unit:6}{self._verdict(int(goal is not None), name, missed)}{'  ' + note if note else ''}", flush=True)
        self.rows.append({"group": self.group_name, "row": name, "value": value, "unit": unit, "goal": goal, "short": missed, "note": note})

    def failure(self, name, text):
        self._verdict(1, name, [text])
        print(f"  {name}: FAILED: {text}", flush=True)
        self.rows.append({"group": self.group_name, "row": name, "short": [text]})

    def _verdict(self, n_goals, name, missed):
        self.n_goals += n_goals
        self.short += [f"{self.group_name}: {name}: {text}" for text in missed]
        return f"  SHORT ({'; '.join(missed)})" if missed else "  ok" if n_goals else ""

    def summary(self):
        print(f"\n{self.n_goals} goals, {len(self.short)} short" + (":" if self.short else "."))
        for text in self.short:
            print(f"  {text}")

    def save(self, path):
        path.write_text(json.dumps({"rows": self.rows, "n_goals": self.n_goals, "short": self.short}, indent=1) + "\n")
