// Drives the work queues of client-go and controller-runtime through the same
// figures as `bench-queue`, one figure a process. Run by `cargo xtask bench queue`.
package main

import (
	"fmt"
	"os"
	"time"
)

// What both queues have in common.
type queue interface {
	Add(key string)
	AddAfter(key string, delay time.Duration)
	Get() (key string, shutdown bool)
	Done(key string)
	Len() int
}

var queues = map[string]func() queue{
	"client-go":          clientGo,
	"client-go-metrics":  clientGoWithMetrics,
	"controller-runtime": controllerRuntime,
}

var figures = map[string]func(func() queue){
	"item":   item,
	"bytes":  bytesPerKey,
	"hot":    hot,
	"delays": delays,
	"busy":   busy,
}

func main() {
	if len(os.Args) == 3 {
		queue, figure := queues[os.Args[1]], figures[os.Args[2]]
		if queue != nil && figure != nil {
			figure(queue)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: queue client-go|client-go-metrics|controller-runtime item|bytes|hot|delays|busy")
	os.Exit(2)
}

func report(name string, value float64) {
	fmt.Printf("%s %.3f\n", name, value)
}
