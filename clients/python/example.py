"""`python3 example.py http://localhost:8080/v1/datasets/demo [token]`: lists arrays, reads, writes where that is allowed, and is refused."""

import sys

from zarrd import Dataset, Problem

dataset = Dataset(*sys.argv[1:])
print("arrays:", " ".join(node["path"] for node in dataset.list("solar") if node["node_type"] == "array"))
irradiance = dataset["solar/irradiance"]
print("shape:", ",".join(map(str, irradiance.shape)))
noon = irradiance["12,::24,::48"]
print("noon:", ",".join(map(str, noon.shape)), *(f"{value:.3f}" for row in noon.tolist() for value in row))
try:
    irradiance["0,0,0:2"] = [1.5, 2.5]
    print("written:", *(f"{value:.3f}" for value in irradiance["0,0,0:2"]))
except Problem as problem:
    print("written:", problem.code)
try:
    irradiance["999"]
except Problem as problem:
    print("refused:", problem.status, problem)
