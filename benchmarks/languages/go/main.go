// Command bench compares generated Go with franz-go on the same bytes, in interleaved rounds.
//
//	bench BATCHES COMMITS    files of record batches, and of values of offset commits with their lengths in front
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kodec.bench/formats"
)

const rounds = 60

type contender struct {
	name string
	run  func() (int, error)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	batches := must(os.ReadFile(os.Args[1]))
	commits := split(must(os.ReadFile(os.Args[2])))
	var values []formats.OffsetCommitValue
	var peers []*kmsg.OffsetCommitValue
	for _, data := range commits {
		value, _, err := formats.ReadOffsetCommitValue(data, formats.Options{})
		values = append(values, must(value, err))
		peer := kmsg.NewOffsetCommitValue()
		peers = append(peers, must(&peer, peer.ReadFrom(data)))
	}
	compare("record batches, read", []contender{
		{"kodec", func() (n int, err error) {
			for rest := batches; len(rest) > 0; {
				batch, size, err := formats.ReadRecordBatch(rest, formats.Options{})
				if err != nil {
					return n, err
				}
				n += len(batch.Records)
				rest = rest[size:]
			}
			return n, nil
		}},
		{"franz-go", func() (int, error) {
			partition := kmsg.NewFetchResponseTopicPartition()
			partition.RecordBatches, partition.HighWatermark = batches, 1<<40
			found, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &partition, kgo.DefaultDecompressor(), nil)
			return len(found.Records), found.Err
		}},
	})
	compare("offset commits, read", []contender{
		{"kodec", func() (n int, err error) {
			for _, data := range commits {
				if _, _, err := formats.ReadOffsetCommitValue(data, formats.Options{}); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
		{"franz-go", func() (n int, err error) {
			for _, data := range commits {
				value := kmsg.NewOffsetCommitValue()
				if err := value.ReadFrom(data); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
	})
	var out []byte
	compare("offset commits, written", []contender{
		{"kodec", func() (n int, err error) {
			for i := range values {
				if out, err = values[i].Append(out[:0]); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
		{"franz-go", func() (n int, err error) {
			for _, value := range peers {
				out = value.AppendTo(out[:0])
				n++
			}
			return n, nil
		}},
	})
}

func split(data []byte) (found [][]byte) {
	for len(data) > 0 {
		size := 4 + binary.BigEndian.Uint32(data)
		found = append(found, data[4:size])
		data = data[size:]
	}
	return found
}

func compare(name string, contenders []contender) {
	best := make([]time.Duration, len(contenders))
	counts := make([]int, len(contenders))
	for round := range rounds {
		for n := range contenders {
			i := (round + n) % len(contenders) // each is first in turn
			start := time.Now()
			counts[i] = must(contenders[i].run())
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	for i, each := range contenders {
		if counts[i] != counts[0] {
			panic(fmt.Sprintf("%s: %d and %d", name, counts[0], counts[i]))
		}
		fmt.Printf("| %s | %s | %.1f | %.2f |\n", name, each.name,
			float64(best[i].Nanoseconds())/float64(counts[i]), float64(best[0])/float64(best[i]))
	}
}
