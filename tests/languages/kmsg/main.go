// A program that franz-go reads and writes with, for tests/languages/peer_testee.py: a request a line, an answer a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type message interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

type request struct {
	ID    json.Number `json:"id"`
	Do    string      `json:"do"`
	Type  string      `json:"type"`
	Bytes string      `json:"bytes"`
	Exact bool        `json:"exact"`
	Value any         `json:"value"`
}

type object = map[string]any

var (
	tagsType = reflect.TypeFor[kmsg.Tags]()
	errForm  = errors.New("not a value of the type")
)

func ptr[T any](v T) *T { return &v }

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		numbers := json.NewDecoder(bytes.NewReader(line))
		numbers.UseNumber()
		if err := numbers.Decode(&asked); err != nil {
			panic(err)
		}
		timer := time.AfterFunc(5*time.Second, func() { panic("no answer in 5 seconds") })
		answer, err := answered(asked)
		timer.Stop()
		if err != nil {
			answer = object{"error": err.Error()}
		}
		answer["id"] = asked.ID
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(append(text, '\n'))
	}
}

func answered(asked request) (answer object, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("panic: %v", found)
		}
	}()
	data, err := hex.DecodeString(asked.Bytes)
	if err != nil {
		return nil, err
	}
	switch asked.Do {
	case "hello":
		types := object{}
		for name := range messages {
			types[name] = plain(fresh(name))
		}
		return object{"version": version, "types": types}, nil
	case "rows":
		return rows(data)
	case "encode":
		value := fresh(asked.Type)
		if err := set(value, asked.Value); err != nil {
			return nil, err
		}
		return object{"bytes": hex.EncodeToString(value.Addr().Interface().(message).AppendTo(nil))}, nil
	}
	value, err := read(fresh(asked.Type), data)
	if err != nil {
		return nil, err
	}
	// ReadFrom does not say how many bytes it read: where one less is enough too, the last was not
	if asked.Exact && len(data) > 0 {
		if _, err := read(fresh(asked.Type), data[:len(data)-1]); err == nil {
			return nil, errors.New("bytes are left over")
		}
	}
	// nor which fields the version has: what was 1 before and still is, it did not read
	other := fresh(asked.Type)
	for i := range other.NumField() {
		if other.Field(i).CanInt() {
			other.Field(i).SetInt(1)
		}
	}
	again, err := read(other, data)
	for name, each := range again {
		if each != nil && reflect.TypeOf(each).Comparable() && each != value[name] {
			delete(value, name)
		}
	}
	return object{"value": value}, err
}

func fresh(name string) reflect.Value { return reflect.ValueOf(messages[name]()).Elem() }

func read(into reflect.Value, data []byte) (object, error) {
	if err := into.Addr().Interface().(message).ReadFrom(data); err != nil {
		return nil, err
	}
	return plain(into).(object), nil
}

// rows are the records that a client gets.
func rows(data []byte) (object, error) {
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.RecordBatches = data
	options := kgo.ProcessFetchPartitionOpts{Offset: math.MinInt64}
	fetched, _ := kgo.ProcessFetchPartition(options, &partition, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		return nil, fetched.Err
	}
	found := []object{}
	for _, each := range fetched.Records {
		headers := [][]any{}
		for _, header := range each.Headers {
			headers = append(headers, []any{text(header.Key), octets(header.Value)})
		}
		stamp := int64(-1)
		if !each.Timestamp.IsZero() {
			stamp = each.Timestamp.UnixMilli()
		}
		found = append(found, object{
			"offset": each.Offset, "timestamp": stamp, "key": octets(each.Key), "value": octets(each.Value),
			"headers": headers,
		})
	}
	return object{"rows": found}, nil
}

func octets(data []byte) any {
	if data == nil {
		return nil
	}
	return hex.EncodeToString(data)
}

func text(text string) any {
	if !utf8.ValidString(text) {
		return object{"raw": hex.EncodeToString([]byte(text))}
	}
	return text
}

// plain is a value as JSON has it.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		if v.Type() == tagsType {
			found := []object{}
			tags := v.Interface().(kmsg.Tags)
			tags.Each(func(number uint32, data []byte) {
				found = append(found, object{"number": number, "data": hex.EncodeToString(data)})
			})
			return found
		}
		found := object{}
		for i := range v.NumField() {
			found[v.Type().Field(i).Name] = plain(v.Field(i))
		}
		return found
	case reflect.Array:
		data := v.Interface().([16]byte)
		text := hex.EncodeToString(data[:])
		return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return octets(v.Bytes())
		}
		if v.IsNil() {
			return nil
		}
		found := []any{}
		for i := range v.Len() {
			found = append(found, plain(v.Index(i)))
		}
		return found
	case reflect.String:
		return text(v.String())
	case reflect.Bool:
		return v.Bool()
	case reflect.Uint16, reflect.Uint32:
		return v.Uint()
	default:
		return v.Int()
	}
}

// set puts what JSON says into a value; what it leaves out stays as it is, and what kmsg lacks is left out.
func set(v reflect.Value, given any) error {
	switch v.Kind() {
	case reflect.Pointer:
		if given == nil {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return set(v.Elem(), given)
	case reflect.Struct:
		return setFields(v, given)
	case reflect.Array, reflect.Slice:
		return setItems(v, given)
	case reflect.Bool:
		flag, ok := given.(bool)
		if !ok {
			return errForm
		}
		v.SetBool(flag)
	case reflect.String:
		switch text := given.(type) {
		case string:
			v.SetString(text)
		case object:
			data, err := hex.DecodeString(fmt.Sprint(text["raw"]))
			v.SetString(string(data))
			return err
		default:
			return errForm
		}
	case reflect.Uint16:
		number, err := strconv.ParseUint(fmt.Sprint(given), 10, v.Type().Bits())
		v.SetUint(number)
		return err
	default:
		number, err := strconv.ParseInt(fmt.Sprint(given), 10, v.Type().Bits())
		v.SetInt(number)
		return err
	}
	return nil
}

func setFields(v reflect.Value, given any) error {
	if v.Type() == tagsType {
		return setTags(v.Addr().Interface().(*kmsg.Tags), given)
	}
	members, ok := given.(object)
	if !ok {
		return errForm
	}
	if made, ok := v.Addr().Interface().(interface{ Default() }); ok {
		made.Default()
	}
	for i := range v.NumField() {
		if value, ok := members[strings.ToLower(v.Type().Field(i).Name)]; ok {
			if err := set(v.Field(i), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func setTags(tags *kmsg.Tags, given any) error {
	items, ok := given.([]any)
	if !ok {
		return errForm
	}
	for _, each := range items {
		tag, ok := each.(object)
		if !ok {
			return errForm
		}
		number, err := strconv.ParseUint(fmt.Sprint(tag["number"]), 10, 32)
		if err != nil {
			return err
		}
		data, err := hex.DecodeString(fmt.Sprint(tag["data"]))
		if err != nil {
			return err
		}
		tags.Set(uint32(number), data)
	}
	return nil
}

func setItems(v reflect.Value, given any) error {
	switch items := given.(type) {
	case nil:
		if v.Kind() == reflect.Array {
			return errForm
		}
		v.SetZero()
	case string:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return errForm
		}
		data, err := hex.DecodeString(strings.ReplaceAll(items, "-", ""))
		if v.Kind() == reflect.Array {
			reflect.Copy(v, reflect.ValueOf(data))
		} else {
			v.SetBytes(data)
		}
		return err
	case []any:
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, each := range items {
			if err := set(v.Index(i), each); err != nil {
				return err
			}
		}
	default:
		return errForm
	}
	return nil
}
