// One of client-go's informers, in one mode, as `bench-client` is one of ours: the same commands, the
// same answers, the same handler. Run by `cargo xtask bench client` and `bench store`.
package main

import (
	"fmt"
	"os"
)

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "reads":
		reads()
	case len(args) == 2 && args[0] == "encode":
		encode(args[1] == "metadata")
	case len(args) == 3:
		run(args[0], args[1], args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: client MODE URL CA, client reads, client encode pods|metadata")
		os.Exit(2)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
