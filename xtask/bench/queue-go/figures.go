package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const (
	count   = 1_000_000
	workers = 1_000
	// How long a busy worker holds a key.
	hold = 10 * time.Millisecond
	// How many adds are timed beside the busy workers, and how far apart.
	timed = 200_000
	pause = 10 * time.Microsecond
	// Delays are spread evenly over this time.
	spread = 5 * time.Second
)

func keys(n int, prefix string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s/pod-%07d", prefix, i)
	}
	return all
}

func drain(q queue, n int) {
	for range n {
		key, _ := q.Get()
		q.Done(key)
	}
}

// Add, get and done of distinct keys, in nanoseconds an item.
func item(new func() queue) {
	all := keys(count, "default")
	report("item_ns", leastOf(3, func() time.Duration {
		q := new()
		runtime.GC()
		start := time.Now()
		for _, key := range all {
			q.Add(key)
		}
		drain(q, count)
		return time.Since(start)
	}))
}

// The quickest of several runs, by item: what else the machine does only ever adds.
func leastOf(runs int, run func() time.Duration) float64 {
	least := run()
	for range runs - 1 {
		least = min(least, run())
	}
	return float64(least.Nanoseconds()) / count
}

// What a queued key takes, the 16 bytes of its string header included.
func bytesPerKey(new func() queue) {
	all := keys(count, "default")
	q := new()
	before := heap()
	for _, key := range all {
		q.Add(key)
	}
	// Adds may be buffered; counting flushes them.
	if q.Len() != count {
		panic("not all keys are queued")
	}
	report("bytes", float64(heap()-before)/count)
	runtime.KeepAlive(all)
	runtime.KeepAlive(q)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// One key that waits is added again and again, in nanoseconds an add.
func hot(new func() queue) {
	q := new()
	key := keys(1, "default")[0]
	q.Add(key)
	report("hot_ns", leastOf(10, func() time.Duration {
		start := time.Now()
		for range count {
			q.Add(key)
		}
		return time.Since(start)
	}))
}

// Keys with random delays, until all have been handed out: CPU nanoseconds a key.
func delays(new func() queue) {
	all := keys(count, "default")
	random := rand.New(rand.NewPCG(1, 2))
	q := new()
	runtime.GC()
	before := cpu()
	go func() {
		for _, key := range all {
			q.AddAfter(key, time.Duration(1+random.Int64N(int64(spread))))
		}
	}()
	drain(q, count)
	report("delays_cpu_ns", float64((cpu()-before).Nanoseconds())/count)
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Adds of new keys with a million ready and a thousand workers that each hold a
// key, add it again and give it back: percentiles in nanoseconds.
func busy(new func() queue) {
	q := new()
	for _, key := range keys(count, "default") {
		q.Add(key)
	}
	fresh := keys(timed, "fresh")
	for range workers {
		go func() {
			for {
				key, _ := q.Get()
				time.Sleep(hold)
				q.Add(key)
				q.Done(key)
			}
		}()
	}
	time.Sleep(100 * time.Millisecond)
	took := make([]time.Duration, 0, timed)
	next := time.Now()
	for _, key := range fresh {
		for time.Now().Before(next) {
		}
		start := time.Now()
		q.Add(key)
		took = append(took, time.Since(start))
		next = start.Add(pause)
	}
	slices.Sort(took)
	report("busy_p99_ns", float64(took[timed*99/100].Nanoseconds()))
	report("busy_p999_ns", float64(took[timed*999/1000].Nanoseconds()))
}
