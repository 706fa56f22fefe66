// Command dump prints every record of log segments as a line of JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"kit/formats"
)

type row struct {
	Offset    int64   `json:"offset"`
	Timestamp *int64  `json:"timestamp"`
	Control   bool    `json:"control"`
	Key       *string `json:"key"`
	Value     *string `json:"value"`
}

func main() {
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		if err == nil {
			err = dump(data)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func dump(data []byte) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := json.NewEncoder(out)
	for pos := 0; pos < len(data); {
		rest := data[pos:]
		if len(rest) < 17 || int64(binary.BigEndian.Uint32(rest[8:]))+12 > int64(len(rest)) || zeros(rest) {
			fmt.Fprintf(os.Stderr, "torn tail: %d bytes at byte %d\n", len(rest), pos)
			return nil
		}
		entry, size, err := formats.ReadLogSegmentEntry(rest, formats.Options{})
		if err != nil {
			return fmt.Errorf("entry at byte %d: %w", pos, err)
		}
		if _, unknown := entry.Body.([]byte); unknown {
			return fmt.Errorf("entry at byte %d: unknown magic %d", pos, int8(rest[16]))
		}
		for _, each := range rows(entry) {
			if err := lines.Encode(each); err != nil {
				return err
			}
		}
		pos += size
	}
	return nil
}

func rows(entry formats.LogSegmentEntry) (found []row) {
	switch body := entry.Body.(type) {
	case formats.RecordBatch:
		for _, record := range body.Records {
			at := body.BaseTimestamp + record.Body.TimestampDelta
			if body.Attributes.TimestampType == formats.RecordBatchTimestampTypeLogAppendTime {
				at = *body.MaxTimestamp
			}
			offset := body.BaseOffset + int64(record.Body.OffsetDelta)
			found = append(found, row{offset, &at, body.Attributes.IsControl, text(record.Body.Key), text(record.Body.Value)})
		}
	case formats.MessageSetEntry:
		wrapped, compressed := body.Message.Value.(formats.MessageSet)
		if !compressed {
			return []row{message(body, body.Offset, nil)}
		}
		// in magic 1 the offsets inside count from 0, and the wrapper has that of the last one
		base := int64(0)
		if n := len(wrapped.Entries); n > 0 && body.Message.Magic >= 1 && body.Offset != 0 {
			base = body.Offset - wrapped.Entries[n-1].Offset
		}
		var appended *int64
		if body.Message.Attributes.TimestampType == formats.MessageSetTimestampTypeLogAppendTime {
			appended = &body.Message.Timestamp
		}
		for _, inner := range wrapped.Entries {
			found = append(found, message(inner, base+inner.Offset, appended))
		}
	}
	return found
}

func message(entry formats.MessageSetEntry, offset int64, appended *int64) row {
	at := appended
	if at == nil && entry.Message.Magic >= 1 {
		at = &entry.Message.Timestamp
	}
	value, _ := entry.Message.Value.([]byte)
	return row{offset, at, false, text(entry.Message.Key), text(value)}
}

func text(data []byte) *string {
	if data == nil {
		return nil
	}
	found := hex.EncodeToString(data)
	return &found
}

func zeros(data []byte) bool {
	return len(bytes.Trim(data, "\x00")) == 0
}
