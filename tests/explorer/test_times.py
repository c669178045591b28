"""Times of the CF conventions as the explorer reads them, held against cftime: every calendar and unit, both ways."""

import json
import random
import subprocess

import cftime
import pytest
from live import ROOT

CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]
UNITS = ["days since 1970-01-01", "hours since 1582-10-01 06:00", "minutes since 2000-02-28T12:30:00", "seconds since 1900-1-1 00:00:0.0", "d since 0850-03-01",
         "hours since 2001-03-01 00:00 +02:00"]
DAYS = 600_000  # about each reference
SCRIPT = """
const cases = JSON.parse(process.argv[1]);
console.log(JSON.stringify(cases.map(({units, calendar, values}) => {
  const axis = timeAxis({units, calendar});
  return axis && values.map(value => [axis.text(value), axis.value(axis.text(value))]);
})));
"""


def read_by_the_explorer(cases):
    source = (ROOT / "server/explorer/times.js").read_text()
    done = subprocess.run(["node", "--input-type=module", "-e", source + SCRIPT, json.dumps(cases)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def steps_of(units):
    """How many of the unit are a day."""
    return {"d": 1, "days": 1, "hours": 24, "minutes": 1440, "seconds": 86400}[units.split()[0]]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_times_are_those_of_cftime(calendar):
    rng = random.Random(calendar)
    cases = [{"units": units, "calendar": calendar, "values": [rng.randint(-DAYS, DAYS) * steps_of(units) // 4 for _ in range(200)] + [0, 1, -1, 59 * steps_of(units)]}
             for units in UNITS]
    for case, found in zip(cases, read_by_the_explorer(cases)):
        units = case["units"].replace("d since", "days since")  # cftime knows no units of one letter
        dates = cftime.num2date(case["values"], units, calendar, only_use_cftime_datetimes=True)
        for value, date, (text, again) in zip(case["values"], dates, found):
            expected = date.strftime("%Y-%m-%d %H:%M:%S").strip().rjust(19, "0").removesuffix(":00")
            assert text == (expected.removesuffix(" 00:00") if steps_of(units) == 1 else expected), (units, value)
            assert again == pytest.approx(value, abs=1e-6), (units, value)


@pytest.mark.parametrize("attributes", [
    {"units": "K"}, {"units": "days"}, {"units": "days since"}, {"units": "days since now"}, {"units": "fortnights since 2000-01-01"}, {"units": 7}, {},
    {"units": "days since 2000-01-01", "calendar": "none.such"}, {"units": "months since 2000-01-01"}])
def test_numbers_that_are_no_times_stay_numbers(attributes):
    assert read_by_the_explorer([{"calendar": "standard", **attributes, "values": [1]}]) == [None]
