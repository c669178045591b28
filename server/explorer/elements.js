// Elements of arrays: bytes of a slice -> values, and values as text.

import {ask, target} from "./api.js";

const KINDS = {i: "integer", u: "integer", f: "float", b: "bool", M: "time", m: "duration"};
const TIME_UNITS = {s: 1000n, ms: 1n};
const FINE_UNITS = {us: 1000n, ns: 1000000n};
const PLACES_MORE = 3; // of a number that is written out, beyond the digits it is rounded to
export const GLANCE_DIGITS = 7; // of a value beside a picture or a line

// "<f4" -> {kind: "float", letter: "f", size: 4, isLittle: true, unit: ""}; null: such elements come as JSON alone.
export function typeOf(dtype) {
  const match = /^([<>|])([iufbMm])(\d+)(?:\[(\w+)\])?$/.exec(dtype ?? "");
  return match && {kind: KINDS[match[2]], letter: match[2], size: Number(match[3]), isLittle: match[1] !== ">", unit: match[4] ?? ""};
}

// Whether it can be painted, drawn as a line and counted.
export function isNumeric(array) {
  const type = typeOf(array.dtype);
  return type !== null && ["integer", "float", "bool"].includes(type.kind);
}

function half(bits) {
  const exponent = bits >> 10 & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction === 0 ? Infinity : NaN) : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

function reader(view, {letter, size, isLittle}) {
  switch (`${letter}${size}`) {
    case "b1": return at => view.getUint8(at) !== 0;
    case "i1": return at => view.getInt8(at);
    case "u1": return at => view.getUint8(at);
    case "i2": return at => view.getInt16(at, isLittle);
    case "u2": return at => view.getUint16(at, isLittle);
    case "i4": return at => view.getInt32(at, isLittle);
    case "u4": return at => view.getUint32(at, isLittle);
    case "u8": return at => view.getBigUint64(at, isLittle);
    case "f2": return at => half(view.getUint16(at, isLittle));
    case "f4": return at => view.getFloat32(at, isLittle);
    case "f8": return at => view.getFloat64(at, isLittle);
    default: return at => view.getBigInt64(at, isLittle); // i8, and times
  }
}

export function decoded(buffer, dtype) {
  const type = typeOf(dtype);
  const read = reader(new DataView(buffer), type);
  return Array.from({length: buffer.byteLength / type.size}, (_, i) => read(i * type.size));
}

// {values (flat, in C order), shape, selection} of a slice. Types without a plain layout come as JSON.
export async function readSlice({dataset, path, array, decode}, slice, signal) {
  const isRaw = typeOf(array.dtype) !== null;
  const answer = await ask(target("slices", dataset, path, {slice, decode, format: isRaw ? "raw" : "json"}), {signal});
  const shape = (answer.headers.get("Zarr-Shape") ?? "").split(",").filter(Boolean).map(Number);
  if (isRaw) {
    return {values: decoded(await answer.arrayBuffer(), answer.headers.get("Zarr-Dtype")), shape};
  }
  const {data} = await answer.json();
  return {values: shape.length === 0 ? [data] : data.flat(shape.length - 1), shape};
}

// ---- what values mean (CF conventions, 8.1 and 2.5.1) ----

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// How stored numbers become what they mean: slices and pictures come decoded where that changes anything.
export class Packing {
  constructor(attributes, array) {
    this.units = typeof attributes.units === "string" ? attributes.units : "";
    const isPacked = ["scale_factor", "add_offset", "_FillValue", "missing_value"].some(name => isNumber(attributes[name]));
    this.decode = isPacked && isNumeric(array) ? "cf" : undefined;
  }
}

// ---- text ----

function timeText(value, unit) {
  if (value === -(2n ** 63n)) {
    return "missing";
  }
  const ms = TIME_UNITS[unit] !== undefined ? value * TIME_UNITS[unit] : FINE_UNITS[unit] !== undefined ? value / FINE_UNITS[unit] : null;
  const date = ms === null ? null : new Date(Number(ms));
  return date === null || Number.isNaN(date.getTime()) ? `${value} ${unit}` : date.toISOString().replace("T", " ").replace(/(:00)?\.000Z$|Z$/, "");
}

// Few digits; a number that is much longer than them by its power of ten.
export function numberText(value, digits = 7) {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    return String(value);
  }
  if (Math.abs(value) >= 10 ** (digits + PLACES_MORE)) {
    return Number(value.toPrecision(digits)).toExponential();
  }
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(digits)));
}

// A value of an array as a person reads it. digits: of a float; undefined: all that its type has.
export function valueText(value, dtype, digits) {
  const type = typeOf(dtype);
  if (typeof value === "bigint" && type?.kind === "time") {
    return timeText(value, type.unit);
  }
  if (typeof value === "object" || value === undefined) {
    return JSON.stringify(value) ?? "";
  }
  return typeof value === "number" ? numberText(value, digits ?? (type?.size === 8 ? 15 : 7)) : String(value);
}
