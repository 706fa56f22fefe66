// Each schema of this folder: an object is made, written, read, changed and written again.
package main

import (
	"fmt"

	"kodec.test/formats"
)

var options formats.Options

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func orders() (made, changed []byte) {
	message := formats.NewOrders()
	message.Events = []formats.OrdersEvent{
		{Kind: formats.OrdersKindsCreated, Body: formats.OrdersCreated{Name: "book"}},
		{Kind: formats.OrdersKindsMoved, Body: formats.OrdersMoved{X: 3, Y: -4}},
	}
	message.Content.Body = formats.OrdersPayload{Note: "by hand"}
	made = must(message.Append(nil))
	read, _, err := formats.ReadOrders(made, options)
	read = must(read, err)
	read.Events[0].Body = formats.OrdersCreated{Name: "a longer book"} // lengths and the checksum follow
	read.Events = read.Events[:1]
	return made, must(read.Append(nil))
}

func pack() (made, changed []byte) {
	one, two := &formats.PackSection{Name: "one"}, &formats.PackSection{Name: "two"}
	one.SetBody([]byte("first section"))
	two.SetBody([]byte("second"))
	file := &formats.Pack{Magic: []byte("PACK"), Version: 1, Sections: []*formats.PackSection{one, two}}
	made = must(file.Append(nil))
	read, _, err := formats.ReadPack(made, options)
	read = must(read, err)
	first := read.Sections[0]
	body := must(first.Body())
	first.SetBody(append(body[:len(body):len(body)], ", which has grown"...)) // the second one moves
	return made, must(read.Append(nil))
}

func shift() (made, changed []byte) {
	rack, none := "r7", ""
	message := formats.NewShift()
	message.Name, message.Replicas, message.Rack = "night", []int32{1, 2, 3}, &rack
	made = must(message.Append(nil))
	read, _, err := formats.ReadShift(made, options)
	read = must(read, err)
	read.Version, read.Rack = 1, &none // version 1 has no tagged fields
	read.Replicas = nil
	return made, must(read.Append(nil))
}

func telemetry() (made, changed []byte) {
	frame := &formats.Telemetry{
		Sync: []byte{0xeb, 0x90}, Vehicle: 700, Mode: formats.TelemetryModesCruise, SeqFlags: 2,
		Gps:     &formats.TelemetryGps{Lat: -5, Lon: 6},
		Samples: []*formats.TelemetrySample{{Channel: 1, Value: 0x234}, {Channel: 5, Value: 0x678}},
	}
	made = must(frame.Append(nil))
	read, _, err := formats.ReadTelemetry(made, options)
	read = must(read, err)
	read.Gps = nil // HasGps becomes false
	read.Samples = append(read.Samples, &formats.TelemetrySample{Channel: 9, Value: 1})
	return made, must(read.Append(nil))
}

func chunks() (made, changed []byte) {
	file := formats.NewChunks()
	file.Chunks = []formats.ChunksChunk{
		{Kind: "HEAD", Body: formats.ChunksHead{Width: 640, Height: 480}},
		{Kind: "TEXT", Body: formats.ChunksText{Value: "hello"}},
	}
	made = must(file.Append(nil))
	read, _, err := formats.ReadChunks(made, options)
	read = must(read, err)
	read.Chunks[1].Body = formats.ChunksText{Value: "hello, world"}
	read.Chunks = append(read.Chunks, formats.ChunksChunk{Kind: "OTHR", Body: []byte{1, 2}})
	return made, must(read.Append(nil))
}

func compressed() string {
	message := formats.NewOrders()
	message.Content.Codec, message.Content.Body = formats.OrdersCodecsGzip, formats.OrdersPayload{Note: "by hand"}
	read, _, err := formats.ReadOrders(must(message.Append(nil)), options)
	return must(read, err).Content.Body.Note
}

func main() {
	for _, each := range []struct {
		name string
		of   func() (made, changed []byte)
	}{{"orders", orders}, {"pack", pack}, {"shift", shift}, {"telemetry", telemetry}, {"chunks", chunks}} {
		made, changed := each.of()
		fmt.Printf("%s made %x\n%s changed %x\n", each.name, made, each.name, changed)
	}
	fmt.Println("compressed", compressed())
}
