package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type message interface {
	Marshal() ([]byte, error)
}

// Reads objects as JSON, one a line, and writes them as protobuf, each after its length in four bytes.
func encode(metadata bool) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for lines.Scan() {
		var object message = &corev1.Pod{}
		if metadata {
			object = &metav1.PartialObjectMetadata{}
		}
		check(json.Unmarshal(lines.Bytes(), object))
		bytes, err := object.Marshal()
		check(err)
		check(binary.Write(out, binary.BigEndian, uint32(len(bytes))))
		_, err = out.Write(bytes)
		check(err)
	}
	check(lines.Err())
	check(out.Flush())
}
