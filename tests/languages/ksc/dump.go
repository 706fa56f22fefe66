// What ksc's Go readers make of bytes, in the words of bridge.py.
//
//	dump TABLE
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

var (
	rows  [][]string
	rowOf = map[string]int{}
)

func dump(value reflect.Value) (string, error) {
	switch value.Kind() {
	case reflect.Invalid:
		return "null", nil
	case reflect.Bool:
		if value.Bool() {
			return "1", nil
		}
		return "0", nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(value.Uint(), 10), nil
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf(`{"f":"%016x"}`, math.Float64bits(value.Float())), nil
	case reflect.String:
		return fmt.Sprintf(`"%x"`, value.String()), nil
	case reflect.Slice:
		// a list that is empty is nil too
		if value.Type().Elem().Kind() == reflect.Uint8 {
			if value.IsNil() {
				return "null", nil
			}
			return fmt.Sprintf(`"%x"`, value.Bytes()), nil
		}
		found, err := all(value.Len(), func(i int) reflect.Value { return value.Index(i) })
		return "[" + found + "]", err
	case reflect.Interface:
		return dump(value.Elem())
	}
	if value.IsNil() {
		return "null", nil
	}
	number, known := rowOf[value.Elem().Type().Name()]
	if !known {
		return "", fmt.Errorf("no row for %v", value.Type())
	}
	var failed error
	found, err := all(len(rows[number])-1, func(i int) reflect.Value {
		name := rows[number][i+1][2:]
		if method := value.MethodByName(name); method.IsValid() {
			results := method.Call(nil)
			if thrown, is := results[1].Interface().(error); is {
				failed = thrown
			}
			return results[0]
		}
		return value.Elem().FieldByName(name)
	})
	return fmt.Sprintf(`{"%d":[%s]}`, number, found), errors.Join(failed, err)
}

func all(count int, at func(int) reflect.Value) (string, error) {
	found := make([]string, count)
	for i := range found {
		var err error
		if found[i], err = dump(at(i)); err != nil {
			return "", err
		}
	}
	return strings.Join(found, ","), nil
}

func read(line string) (answer string, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	asked := strings.SplitN(line, " ", 3)
	number, _ := strconv.Atoi(asked[0])
	data, _ := hex.DecodeString(asked[2])
	made := reflect.ValueOf(makers[rows[number][0]])
	var told []reflect.Value
	if asked[1] != "-" {
		version, _ := strconv.Atoi(asked[1])
		told = append(told, reflect.ValueOf(version).Convert(made.Type().In(0)))
	}
	value := made.Call(told)[0]
	stream := kaitai.NewStream(bytes.NewReader(data))
	reads := value.MethodByName("Read")
	given := []reflect.Value{reflect.ValueOf(stream), reflect.Zero(reads.Type().In(1)), reflect.Zero(reads.Type().In(2))}
	if value.Type() == reads.Type().In(2) {
		given[2] = value
	}
	if thrown, is := reads.Call(given)[0].Interface().(error); is {
		return "", thrown
	}
	shown, err := dump(value)
	if err != nil {
		return "", err
	}
	if end, err := stream.EOF(); err == nil && !end {
		return "R" + shown, nil
	}
	return "V" + shown, nil
}

func main() {
	table, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		row := strings.Split(line, " ")
		rowOf[row[0]] = len(rows)
		rows = append(rows, row)
	}
	fmt.Println("kaitai_struct_go_runtime " + os.Args[2] + ", " + runtime.Version())
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer, err := read(strings.TrimSuffix(line, "\n"))
		if err != nil {
			answer = "E" + strings.SplitN(err.Error(), "\n", 2)[0]
		}
		fmt.Println(answer)
	}
}
