package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	objects = 100_000
	readers = 2
	lasting = 3 * time.Second
	// Writes come in batches, as they do from a watch.
	batch            = 50
	batchesPerSecond = 1000
)

// Reads by key from two threads, while a third one writes.
func reads() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	keys := make([]string, objects)
	object := func(n, version int) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("team-%d", n%200),
			Name:            fmt.Sprintf("pod-%06d", n),
			ResourceVersion: strconv.Itoa(version),
		}}
	}
	for n := range keys {
		keys[n] = fmt.Sprintf("team-%d/pod-%06d", n%200, n)
		check(store.Add(object(n, 1)))
	}
	var stop atomic.Bool
	counts := make(chan int)
	for seed := range readers {
		go func() {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			count := 0
			for !stop.Load() {
				for range 1000 {
					if _, found, _ := store.GetByKey(keys[random.IntN(objects)]); !found {
						panic("an object that was always there")
					}
				}
				count += 1000
			}
			counts <- count
		}()
	}
	start := time.Now()
	written := 0
	for time.Since(start) < lasting {
		for range batch {
			check(store.Update(object(written*7919%objects, written)))
			written++
		}
		due := start.Add(time.Second * time.Duration(written/batch) / batchesPerSecond)
		time.Sleep(time.Until(due))
	}
	took := time.Since(start).Seconds()
	stop.Store(true)
	total := 0
	for range readers {
		total += <-counts
	}
	fmt.Printf("reads %.3f\n", float64(total)/took/1e6)
	fmt.Printf("writes %.3f\n", float64(written)/took/1e3)
}
