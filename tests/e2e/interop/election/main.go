// A candidate with client-go's election: writes its name into a file for as long as it leads.
// The scenario `interop` and `cargo xtask bench election` run it beside `evenkeel elect`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	name := flag.String("lease", "", "name of the Lease, in the namespace default")
	identity := flag.String("identity", "", "who this is")
	file := flag.String("file", "/dev/null", "file to write to")
	lease := flag.Duration("lease-duration", 15*time.Second, "")
	renew := flag.Duration("renew-deadline", 10*time.Second, "")
	retry := flag.Duration("retry-period", 2*time.Second, "")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.Timeout = max(time.Second, *renew/2)
	out, err := os.OpenFile(*file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	check(err)

	terminated, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	election, end := context.WithCancel(context.Background())
	// The work ends before the Lease is given back: client-go itself does not wait for it.
	go func() { <-terminated.Done(); time.Sleep(50 * time.Millisecond); end() }()
	leaderelection.RunOrDie(election, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: *name},
			Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
		},
		LeaseDuration: *lease, RenewDeadline: *renew, RetryPeriod: *retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				for ctx.Err() == nil && terminated.Err() == nil {
					fmt.Fprintln(out, *identity)
					time.Sleep(20 * time.Millisecond)
				}
			},
			OnStoppedLeading: func() { fmt.Println("stopped") },
		},
	})
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
