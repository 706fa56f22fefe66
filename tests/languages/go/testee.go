// A program that reads a request a line, and answers a line: what the generated Go makes of bytes.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"

	"kodec.test/formats"
)

type request struct {
	Type    string `json:"type"`
	Bytes   string `json:"bytes"`
	Version int16  `json:"version"`
}

// codec is what a type does with bytes: its value, and what it writes.
type codec func(data []byte, version int16) (value any, written []byte, err error, wrong error)

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		answer, err := json.Marshal(answered(asked))
		if err != nil {
			panic(err)
		}
		out.Write(answer)
		out.WriteByte('\n')
	}
}

func answered(asked request) map[string]any {
	data, err := hex.DecodeString(asked.Bytes)
	if err != nil {
		panic(err)
	}
	value, written, err, wrong := codecs[asked.Type](data, asked.Version)
	if err != nil {
		return problem(err)
	}
	found := map[string]any{"value": plain(reflect.ValueOf(value))}
	if wrong == nil {
		found["written"] = hex.EncodeToString(written)
	}
	return found
}

func problem(err error) map[string]any {
	e := err.(*formats.Error)
	return map[string]any{"code": e.Code, "path": e.Path, "at": e.At}
}

// plain is a value as tests/languages/cases.py has it.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		found := map[string]any{}
		for i := 0; i < v.NumField(); i++ {
			found[fieldNames[v.Type().Field(i).Name]] = plain(v.Field(i))
		}
		return found
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() && v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			data := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(data), v)
			return "0x" + hex.EncodeToString(data)
		}
		if v.Len() == 0 {
			return nil
		}
		found := []any{}
		for i := 0; i < v.Len(); i++ {
			found = append(found, plain(v.Index(i)))
		}
		return found
	case reflect.String:
		return "0t" + hex.EncodeToString([]byte(v.String()))
	case reflect.Bool:
		return v.Bool()
	case reflect.Float32, reflect.Float64:
		if v.Float() != v.Float() {
			return "nan"
		}
		return fmt.Sprintf("%016x", math.Float64bits(v.Float()))
	default:
		return fmt.Sprint(v.Interface())
	}
}
