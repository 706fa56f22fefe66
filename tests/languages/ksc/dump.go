// What ksc's Go readers make of bytes, in the words of bridge.py.
//
//	dump TABLE
//
// A second argument is of a program that goes on after itself. `made` is written beside this file: a function for each row of the table.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

var (
	rows  [][]string
	rowOf = map[string]int{}
)

// The value of a field, or of an instance, which is a method.
func part(object reflect.Value, name string) reflect.Value {
	if field := object.Elem().FieldByName(name); field.IsValid() {
		return field
	}
	found := object.MethodByName(name).Call(nil)
	if err, failed := found[1].Interface().(error); failed {
		panic(err)
	}
	return found[0]
}

func dump(value reflect.Value, kind byte) string {
	switch value.Kind() {
	case reflect.Interface, reflect.Pointer:
		if value.IsNil() {
			return "null"
		}
		if value.Kind() == reflect.Interface {
			return dump(value.Elem(), kind)
		}
		number := rowOf[value.Elem().Type().Name()]
		var found []string
		for _, each := range rows[number][1:] {
			found = append(found, dump(part(value, each[2:]), each[0]))
		}
		return fmt.Sprintf(`{"%d":[%s]}`, number, strings.Join(found, ","))
	case reflect.Bool:
		if value.Bool() {
			return "1"
		}
		return "0"
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf(`{"f":"%016x"}`, math.Float64bits(value.Float()))
	case reflect.String:
		return strconv.Quote(hex.EncodeToString([]byte(value.String())))
	case reflect.Slice:
		if data, isBytes := value.Interface().([]byte); isBytes && kind != 'n' {
			if data == nil {
				return "null"
			}
			return strconv.Quote(hex.EncodeToString(data))
		}
		var found []string
		for i := range value.Len() {
			found = append(found, dump(value.Index(i), kind))
		}
		return "[" + strings.Join(found, ",") + "]"
	}
	return fmt.Sprintf("%d", value.Interface())
}

func answer(line string) (said string) {
	defer func() {
		if failed := recover(); failed != nil {
			said = "E" + strings.ReplaceAll(fmt.Sprint(failed), "\n", " ")
		}
	}()
	asked := strings.Split(line, " ")
	number, _ := strconv.Atoi(asked[0])
	data, err := hex.DecodeString(asked[2])
	if err != nil {
		panic(err)
	}
	stream := kaitai.NewStream(bytes.NewReader(data))
	create := reflect.ValueOf(made[number])
	var told []reflect.Value
	if asked[1] != "-" {
		version, _ := strconv.ParseInt(asked[1], 10, 64)
		told = append(told, reflect.ValueOf(version).Convert(create.Type().In(0)))
	}
	object := create.Call(told)[0]
	read := object.MethodByName("Read")
	takes := read.Type()
	failed := read.Call([]reflect.Value{reflect.ValueOf(stream), reflect.Zero(takes.In(1)), reflect.Zero(takes.In(2))})
	if err, found := failed[0].Interface().(error); found {
		panic(err)
	}
	value := dump(object, 'o')
	if isEnd, _ := stream.EOF(); isEnd {
		return "V" + value
	}
	return "R" + value
}

func runtimeVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if strings.HasSuffix(each.Path, "/kaitai_struct_go_runtime") {
			return each.Version
		}
	}
	return "?"
}

// Readers take memory for a length before they read, and a Go program that gets none ends. So that the same
// lengths are too large each time, there is a limit, and the program goes on as a new one after a large value.
func renew() {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	if now.Sys > 64<<20 {
		panic(syscall.Exec(os.Args[0], []string{os.Args[0], os.Args[1], "again"}, os.Environ()))
	}
}

func main() {
	limit := syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		panic(err)
	}
	table, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		row := strings.Split(line, " ")
		rowOf[row[0]] = len(rows)
		rows = append(rows, row)
	}
	if len(os.Args) == 2 {
		fmt.Printf("kaitai_struct_go_runtime %s, %s\n", runtimeVersion(), runtime.Version())
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Println(answer(strings.TrimSuffix(line, "\n")))
		renew()
	}
}
