// Times of the CF conventions (4.4): "hours since 2024-01-01" in any of their calendars, as text and back.

const SECONDS = {
  nanosecond: 1e-9, ns: 1e-9, microsecond: 1e-6, us: 1e-6, millisecond: 1e-3, millisec: 1e-3, msec: 1e-3, ms: 1e-3,
  second: 1, sec: 1, s: 1, minute: 60, min: 60, hour: 3600, hr: 3600, h: 3600, day: 86400, d: 86400, week: 604800,
};
const DAY_S = 86400;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SWITCH_DAY = -141427; // 1582-10-15, the first day of the Gregorian calendar, from 1970-01-01

function floorDiv(a, b) {
  return Math.floor(a / b);
}

// ---- calendars: day numbers, 0 = 1970-01-01 of that calendar, and back ----

// With a leap day where isLeap says so, and so many days before a year.
function monthly(isLeap, daysBefore) {
  const epoch = daysBefore(1970);
  const length = (year, month) => MONTH_DAYS[month - 1] + (month === 2 && isLeap(year) ? 1 : 0);
  return {
    number(year, month, day) {
      let n = daysBefore(year) - epoch + day - 1;
      for (let m = 1; m < month; m++) {
        n += length(year, m);
      }
      return n;
    },
    date(n) {
      let year = 1970 + Math.floor(n / 365.2425);
      while (daysBefore(year) - epoch > n) {
        year--;
      }
      while (daysBefore(year + 1) - epoch <= n) {
        year++;
      }
      let day = n - (daysBefore(year) - epoch);
      let month = 1;
      while (day >= length(year, month)) {
        day -= length(year, month++);
      }
      return [year, month, day + 1];
    },
  };
}

const gregorian = monthly(year => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0),
  year => 365 * year + floorDiv(year - 1, 4) - floorDiv(year - 1, 100) + floorDiv(year - 1, 400));
const julianAlone = monthly(year => year % 4 === 0, year => 365 * year + floorDiv(year - 1, 4));
const JULIAN_SHIFT = 13; // the Julian 1970-01-01 is that many days later
const julian = {
  number: (...date) => julianAlone.number(...date) + JULIAN_SHIFT,
  date: n => julianAlone.date(n - JULIAN_SHIFT),
};
const mixed = {
  number(...date) {
    const n = gregorian.number(...date);
    return n >= SWITCH_DAY ? n : julian.number(...date);
  },
  date: n => n >= SWITCH_DAY ? gregorian.date(n) : julian.date(n),
};
const noLeap = monthly(() => false, year => 365 * year);
const allLeap = monthly(() => true, year => 366 * year);
const equalMonths = {
  number: (year, month, day) => 360 * (year - 1970) + 30 * (month - 1) + day - 1,
  date: n => [1970 + floorDiv(n, 360), 1 + floorDiv(n, 30) - 12 * floorDiv(n, 360), 1 + n - 30 * floorDiv(n, 30)],
};

const CALENDARS = {
  standard: mixed, gregorian: mixed, proleptic_gregorian: gregorian, julian, noleap: noLeap, "365_day": noLeap, all_leap: allLeap, "366_day": allLeap,
  "360_day": equalMonths,
};

// ---- units ----

const DATE = /^\s*(-?\d{1,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T\s]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$/i;

// Seconds since 1970-01-01 of that calendar, or null.
function secondsOf(text, calendar) {
  const match = DATE.exec(text);
  if (match === null) {
    return null;
  }
  const [, year, month = 1, day = 1, hour = 0, minute = 0, second = 0, zone] = match;
  const shift = /^([+-]\d{1,2}):?(\d{2})?$/.exec(zone ?? "");
  const zone_s = shift === null ? 0 : Number(shift[1]) * 3600 + Math.sign(Number(shift[1]) || 1) * Number(shift[2] ?? 0) * 60;
  return calendar.number(Number(year), Number(month), Number(day)) * DAY_S + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - zone_s;
}

function pad(n, width = 2) {
  return String(n).padStart(width, "0");
}

function textOf(seconds, calendar, isFine) {
  const rounded = Math.round(seconds * 1000) / 1000;
  const day = Math.floor(rounded / DAY_S);
  const left = rounded - day * DAY_S;
  const [year, month, dayOfMonth] = calendar.date(day);
  const date = `${year < 0 ? "-" : ""}${pad(Math.abs(year), 4)}-${pad(month)}-${pad(dayOfMonth)}`;
  const clock = `${pad(Math.floor(left / 3600))}:${pad(Math.floor(left / 60) % 60)}`;
  const s = Math.round(left % 60 * 1000) / 1000;
  return !isFine && left === 0 ? date : `${date} ${clock}${s === 0 ? "" : `:${s < 10 ? "0" : ""}${s}`}`;
}

// How the numbers of a coordinate are times; null: they are none.
export function timeAxis(attributes) {
  const match = /^\s*([a-z]+)\s+since\s+(.+)$/i.exec(typeof attributes.units === "string" ? attributes.units : "");
  const unit_s = match && (SECONDS[match[1].toLowerCase()] ?? SECONDS[match[1].toLowerCase().replace(/s$/, "")]);
  const calendar = CALENDARS[String(attributes.calendar ?? "standard").toLowerCase()];
  const begin_s = unit_s && calendar ? secondsOf(match[2], calendar) : null;
  if (begin_s === null) {
    return null;
  }
  return {
    text: value => Number.isFinite(Number(value)) ? textOf(begin_s + Number(value) * unit_s, calendar, unit_s < DAY_S) : String(value),
    // null: it is no time
    value(text) {
      const seconds = secondsOf(text, calendar);
      return seconds === null ? null : (seconds - begin_s) / unit_s;
    },
  };
}
