// Opens each ARRAY_URL with zarrita and prints its shape, strides (in elements), data type and elements as a line of JSON:
// `node read.mjs URL...`.
import * as zarr from "zarrita";

for (const url of process.argv.slice(2)) {
  const array = await zarr.open.v3(new zarr.FetchStore(url), { kind: "array" });
  const whole = await zarr.get(array);
  const values = Array.from(whole.data, (value) => (typeof value === "bigint" ? value.toString() : value));
  console.log(JSON.stringify({ shape: whole.shape, stride: whole.stride, dtype: array.dtype, values }));
}
