package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Counts runs: first one of each object, which does nothing else, then those of events, which are
// timed.
type runs struct {
	objects int64
	begun   atomic.Int64
	started time.Time
	done    chan time.Duration

	lock         sync.Mutex
	microseconds []uint32
}

func newRuns(objects int64) *runs {
	return &runs{objects: objects, done: make(chan time.Duration, 1)}
}

// Whether this run is one of the first ones.
func (r *runs) begin() bool {
	if r.begun.Load() >= r.objects {
		return false
	}
	number := r.begun.Add(1)
	if number == 1 {
		r.started = time.Now()
	}
	if number == r.objects {
		r.done <- time.Since(r.started)
	}
	return true
}

// Milliseconds from the first run of the first object to that of the last one.
func (r *runs) first() float64 {
	return float64((<-r.done).Microseconds()) / 1000
}

// Takes note of a run for an object, whose resource version is the time when it was sent.
func (r *runs) note(version string) {
	now := time.Now().UnixMicro()
	sent, err := strconv.ParseInt(version, 10, 64)
	check(err)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.microseconds = append(r.microseconds, uint32(min(max(now-sent, 0), 1<<32-1)))
}

// Carries out commands until there are no more.
func (r *runs) obey() {
	for input.Scan() {
		words := strings.Fields(input.Text())
		switch {
		case len(words) == 1 && words[0] == "reset":
			r.lock.Lock()
			r.microseconds = r.microseconds[:0]
			r.lock.Unlock()
			fmt.Println("ok")
		case len(words) == 2 && words[0] == "wait":
			count, err := strconv.Atoi(words[1])
			check(err)
			r.wait(count)
		default:
			check(fmt.Errorf("no such command: %s", input.Text()))
		}
	}
}

func (r *runs) wait(count int) {
	for r.timed() < count {
		time.Sleep(2 * time.Millisecond)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	slices.Sort(r.microseconds)
	at := func(thousandths int) uint32 {
		return r.microseconds[len(r.microseconds)*thousandths/1000]
	}
	fmt.Printf("runs %d %d %d\n", at(500), at(990), at(999))
}

func (r *runs) timed() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.microseconds)
}
