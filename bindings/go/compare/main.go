// Command compare builds folders with krm and with kustomize's own library, in one program, and prints how long each takes
// and whether their bytes agree. It fails if they do not. `benches/library.py` makes folders for it.
//
//	go run . DIR...
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	krm "github.com/krm-tools/krm/bindings/go"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const rounds = 5

func main() {
	start := time.Now()
	engine, err := krm.New(context.Background())
	check(err)
	fmt.Printf("compiling the engine: %.0f ms\n\n", milliseconds(time.Since(start)))
	fmt.Printf("%-40s %12s %12s %8s  %s\n", "folder", "kustomize ms", "krm ms", "ratio", "bytes")
	differ := 0
	for _, folder := range os.Args[1:] {
		if !compare(engine, folder) {
			differ++
		}
	}
	if differ > 0 {
		check(fmt.Errorf("the bytes of %d folder(s) differ", differ))
	}
}

// compare measures one folder, and says whether both give the same bytes.
func compare(engine *krm.Engine, folder string) bool {
	absolute, err := filepath.Abs(folder)
	check(err)
	// The whole file system: an overlay may name bases anywhere.
	root := os.DirFS("/")
	target := strings.TrimPrefix(absolute, "/")
	var ours, theirs []byte
	mine := best(func() {
		result, err := engine.Build(context.Background(), root, target)
		check(err)
		ours = result.YAML
	})
	reference := best(func() {
		options := krusty.MakeDefaultOptions()
		// As the program sorts what it prints.
		options.Reorder = krusty.ReorderOptionUnspecified
		resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), absolute)
		check(err)
		theirs, err = resources.AsYaml()
		check(err)
	})
	agree := bytes.Equal(ours, theirs)
	said := "same"
	if !agree {
		said = "DIFFERENT"
	}
	fmt.Printf("%-40s %12.1f %12.1f %8.1f  %s\n", folder, milliseconds(reference), milliseconds(mine),
		float64(reference)/float64(mine), said)
	return agree
}

// best is the shortest of some rounds: what is left when nothing else disturbs. A round that takes seconds is not repeated.
func best(run func()) time.Duration {
	shortest := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Now()
		run()
		shortest = min(shortest, time.Since(start))
		if shortest > 5*time.Second {
			break
		}
	}
	return shortest
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
