package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
)

// Later events are counted, but not timed.
const timed = 1 << 20

type events struct {
	lock         sync.Mutex
	count        int
	microseconds []uint32
}

func newEvents() *events {
	return &events{microseconds: make([]uint32, 0, timed)}
}

// Takes note of an event, whose resource version is the time when it was sent.
func (e *events) note(object any) {
	now := time.Now().UnixMicro()
	accessor, err := meta.Accessor(object)
	check(err)
	sent, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	check(err)
	e.lock.Lock()
	defer e.lock.Unlock()
	e.count++
	if len(e.microseconds) < timed {
		e.microseconds = append(e.microseconds, uint32(min(max(now-sent, 0), 1<<32-1)))
	}
}

// Carries out commands until there are no more.
func (e *events) obey() {
	for input.Scan() {
		words := strings.Fields(input.Text())
		switch {
		case len(words) == 1 && words[0] == "reset":
			e.lock.Lock()
			e.count, e.microseconds = 0, e.microseconds[:0]
			e.lock.Unlock()
			fmt.Println("ok")
		case len(words) == 1 && words[0] == "collect":
			debug.FreeOSMemory()
			fmt.Println("ok")
		case len(words) == 2 && words[0] == "wait":
			count, err := strconv.Atoi(words[1])
			check(err)
			e.wait(count)
		default:
			check(fmt.Errorf("no such command: %s", input.Text()))
		}
	}
}

func (e *events) wait(count int) {
	for e.seen() < count {
		time.Sleep(2 * time.Millisecond)
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	slices.Sort(e.microseconds)
	at := func(thousandths int) uint32 {
		return e.microseconds[len(e.microseconds)*thousandths/1000]
	}
	fmt.Printf("events %d %d %d\n", at(500), at(990), at(999))
}

func (e *events) seen() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.count
}
