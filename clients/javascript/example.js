// `node example.js http://localhost:8080/v1/datasets/demo [token]`: lists arrays, reads, writes where that is allowed, and is refused.
import { Dataset } from "./zarrd.js";

const [url, token] = process.argv.slice(2);
const dataset = new Dataset(url, { token });
const show = values => Array.from(values, value => value.toFixed(3)).join(" ");

console.log("arrays:", (await dataset.list("solar")).filter(node => node.node_type === "array").map(node => node.path).join(" "));
const irradiance = await dataset.open("solar/irradiance");
console.log("shape:", irradiance.shape.join());
const noon = await irradiance.read("12,::24,::48");
console.log("noon:", noon.shape.join(), show(noon));
try {
  await irradiance.write("0,0,0:2", Float32Array.of(1.5, 2.5));
  console.log("written:", show(await irradiance.read("0,0,0:2")));
} catch (problem) {
  console.log("written:", problem.code);
}
await irradiance.read("999").catch(problem => console.log("refused:", problem.status, problem.message));
