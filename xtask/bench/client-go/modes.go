package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// What an idle process watches.
const idle = 30

var input = bufio.NewScanner(os.Stdin)

func run(mode, url, ca string) {
	config := &rest.Config{
		Host:            url,
		TLSClientConfig: rest.TLSClientConfig{CAFile: ca},
		QPS:             -1,
	}
	stop := make(chan struct{})
	switch mode {
	case "typed-protobuf", "typed-json":
		// Protobuf is what typed clients ask for by themselves.
		if mode == "typed-json" {
			config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
		}
		clients, err := kubernetes.NewForConfig(config)
		check(err)
		factory := informers.NewSharedInformerFactory(clients, 0)
		follow(factory.Core().V1().Pods().Informer(), func() { factory.Start(stop) })
	case "metadata-protobuf":
		clients, err := metadata.NewForConfig(metadata.ConfigFor(config))
		check(err)
		factory := metadatainformer.NewSharedInformerFactory(clients, 0)
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		follow(factory.ForResource(pods).Informer(), func() { factory.Start(stop) })
	case "idle":
		clients, err := dynamic.NewForConfig(config)
		check(err)
		factory := dynamicinformer.NewDynamicSharedInformerFactory(clients, 0)
		for number := range idle {
			things := schema.GroupVersionResource{Group: "bench", Version: "v1", Resource: fmt.Sprintf("things%d", number)}
			factory.ForResource(things).Informer()
		}
		begin()
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		fmt.Println("synced 0")
		newEvents().obey()
	default:
		check(fmt.Errorf("no mode %q", mode))
	}
}

func follow(informer cache.SharedIndexInformer, start func()) {
	events := newEvents()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { events.note(object) },
		UpdateFunc: func(_, object any) { events.note(object) },
		DeleteFunc: func(object any) { events.note(object) },
	})
	check(err)
	began := begin()
	start()
	for !handler.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("synced %.3f\n", float64(time.Since(began).Microseconds())/1000)
	events.obey()
}

// Waits for the word.
func begin() time.Time {
	fmt.Println("ready")
	input.Scan()
	if strings.TrimSpace(input.Text()) != "start" {
		check(fmt.Errorf("expected `start`"))
	}
	return time.Now()
}
