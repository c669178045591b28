// `go run ./example http://localhost:8080/v1/datasets/demo [token]` lists arrays, reads, writes where that is allowed, and is refused.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"zarrd"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	dataset := zarrd.Dataset{URL: os.Args[1]}
	if len(os.Args) > 2 {
		dataset.Token = os.Args[2]
	}
	nodes, err := dataset.List("solar")
	must(err)
	fmt.Print("arrays:")
	for _, node := range nodes {
		if node.Array != nil {
			fmt.Print(" ", node.Path)
		}
	}
	fmt.Println("\nshape:", nodes[1].Array.Shape)
	noon, shape, err := zarrd.Read[float32](dataset, "solar/irradiance", "12,::24,::48")
	must(err)
	fmt.Printf("noon: %v %.3f\n", shape, noon)
	var problem zarrd.Problem
	if err = zarrd.Write(dataset, "solar/irradiance", "0,0,0:2", []float32{1.5, 2.5}); errors.As(err, &problem) {
		fmt.Println("written:", problem["code"])
	} else {
		written, _, err := zarrd.Read[float32](dataset, "solar/irradiance", "0,0,0:2")
		must(err)
		fmt.Printf("written: %.3f\n", written)
	}
	if _, _, err = zarrd.Read[float32](dataset, "solar/irradiance", "999"); errors.As(err, &problem) {
		fmt.Println("refused:", problem["status"], problem)
	}
}
