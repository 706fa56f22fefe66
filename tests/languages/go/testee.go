// A testee of the generated Go: a request a line, an answer a line, as docs/conformance.md says.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"kodec.test/formats"
)

// codec is what a type does with bytes.
type codec struct {
	read  func(data []byte, version int64, opt formats.Options) (any, int, error)
	write func(value any, version int64) ([]byte, error)
	made  func() any
}

// field is a field of a struct by its names in Go and in the schema; forms are the types of which it is one.
type field struct {
	name, id string
	nullable bool
	listed   bool // a list, whose elements may be bytes
	forms    []reflect.Type
}

type request struct {
	ID      json.Number `json:"id"`
	Do      string      `json:"do"`
	Type    string      `json:"type"`
	Version int64       `json:"version"`
	Bytes   string      `json:"bytes"`
	Exact   bool        `json:"exact"`
	Limit   int         `json:"limit"`
	Most    int         `json:"elements"`
	Deep    int         `json:"depth"`
	All     bool        `json:"instances"` // the value has those too, each as a value or an error
	Value   any         `json:"value"`
	Edits   []edit      `json:"edits"` // changes of what was read, before it is written again
}

type edit struct {
	Path  []any  `json:"path"`
	How   string `json:"how"`
	Value any    `json:"value"`
}

type object = map[string]any

var uuidType = reflect.TypeFor[formats.UUID]()

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
		answer := answered(asked)
		answer["id"] = asked.ID
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(append(text, '\n'))
	}
}

func answered(asked request) object {
	if asked.Do == "hello" {
		names, reads := []string{}, []string{}
		for name, each := range codecs {
			names = append(names, name)
			if each.write == nil {
				reads = append(reads, name)
			}
		}
		return object{
			"protocol": 1, "name": "kodec-go", "language": "Go", "version": runtime.Version(),
			"does": []string{"decode", "encode", "round_trip"}, "types": names, "reads": reads,
		}
	}
	found, ok := codecs[asked.Type]
	if !ok {
		return object{"unsupported": "no type " + asked.Type}
	}
	if asked.Do == "encode" {
		return encoded(found, asked)
	}
	data, err := hex.DecodeString(asked.Bytes)
	if err != nil {
		panic(err)
	}
	opt := formats.Options{MaxDecompressed: asked.Limit, MaxElements: asked.Most, MaxDepth: asked.Deep}
	value, size, err := found.read(data, asked.Version, opt)
	if err != nil {
		return object{"error": problem(err)}
	}
	if asked.Exact && size != len(data) {
		return object{"error": object{"code": "malformed", "path": "", "at": size}}
	}
	if asked.Do == "rewrite" {
		if found.write == nil {
			return object{"unsupported": "streamed types are only read"}
		}
		for _, each := range asked.Edits {
			if each.apply(reflect.ValueOf(value).Elem()) != nil {
				return object{"unsupported": "no value of the field's type"}
			}
		}
		written, err := found.write(value, asked.Version)
		if err != nil {
			return object{"error": problem(err)}
		}
		return object{"bytes": hex.EncodeToString(written)}
	}
	deepest = -1
	if asked.All {
		deepest = 4
	}
	answer := object{"value": plain(reflect.ValueOf(value), nil)}
	if asked.Do == "round_trip" && found.write != nil {
		if written, err := found.write(value, asked.Version); err != nil {
			answer["encode_error"] = problem(err)
		} else {
			answer["bytes"] = hex.EncodeToString(written)
		}
	}
	return answer
}

func encoded(found codec, asked request) object {
	if found.write == nil {
		return object{"unsupported": "streamed types are only read"}
	}
	value := reflect.New(reflect.TypeOf(found.made())).Elem()
	if err := set(value, asked.Value, nil); err != nil {
		return object{"error": object{"code": "not_encodable"}}
	}
	written, err := found.write(value.Interface(), asked.Version)
	if err != nil {
		return object{"error": problem(err)}
	}
	return object{"bytes": hex.EncodeToString(written)}
}

// apply changes a field of an object.
func (e edit) apply(v reflect.Value) error {
	var of *field
	for _, step := range e.Path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if number, ok := step.(json.Number); ok {
			index, _ := number.Int64()
			v = v.Index(int(index))
			continue
		}
		fields := fieldsOf[v.Type()]
		for i := range fields {
			if fields[i].id == step.(string) {
				v, of = v.FieldByName(fields[i].name), &fields[i]
				break
			}
		}
	}
	list := v
	if v.Kind() == reflect.Interface {
		list = v.Elem()
	}
	switch e.How {
	case "set":
		return set(v, e.Value, of)
	case "pop":
		v.Set(list.Slice(0, max(0, list.Len()-1)))
	case "clear":
		v.Set(reflect.MakeSlice(list.Type(), 0, 0))
	case "reverse", "double":
		found := reflect.MakeSlice(list.Type(), 0, 2*list.Len())
		for i := range list.Len() {
			if e.How == "double" {
				found = reflect.Append(found, list.Index(i))
			} else {
				found = reflect.Append(found, list.Index(list.Len()-1-i))
			}
		}
		for i := range list.Len() {
			held := list.Index(i)
			if held.Kind() == reflect.Interface {
				held = held.Elem()
			}
			if e.How == "double" && held.Kind() != reflect.Pointer {
				found = reflect.Append(found, list.Index(i))
			}
		}
		v.Set(found)
	}
	return nil
}

func problem(err error) object {
	var e *formats.Error
	if !errors.As(err, &e) {
		panic(err)
	}
	told := object{"code": e.Code, "path": e.Path}
	if e.Code != formats.NotEncodable {
		told["at"] = e.At
	}
	return told
}

// deepest is how many instances in instances a value has.
var deepest int

// withInstances adds the instances of an object.
func withInstances(v reflect.Value, found object) {
	if deepest--; deepest >= 0 {
		for i, each := range instancesOf[v.Type()] {
			made := v.Addr().MethodByName(each.name).Call(nil)
			if err, failed := made[1].Interface().(error); failed {
				found[each.id] = object{"error": problem(err)}
			} else {
				found[each.id] = plain(made[0], &instancesOf[v.Type()][i])
			}
		}
	}
	deepest++
}

// plain is a value as vectors have it; of is its field, where it is one.
func plain(v reflect.Value, of *field) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if !v.CanInterface() || v.Type().String() == "*formats.Stream" {
			return "stream"
		}
		return plain(v.Elem(), nil)
	case reflect.Struct:
		found := object{}
		for i, each := range fieldsOf[v.Type()] {
			found[each.id] = plain(v.FieldByName(each.name), &fieldsOf[v.Type()][i])
		}
		withInstances(v, found)
		return found
	case reflect.Array:
		data := v.Interface().(formats.UUID)
		text := hex.EncodeToString(data[:])
		return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	case reflect.Slice:
		if v.IsNil() && of != nil && of.nullable {
			return nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 && (of == nil || !of.listed) {
			return hex.EncodeToString(v.Bytes())
		}
		found := []any{}
		for i := range v.Len() {
			found = append(found, plain(v.Index(i), nil))
		}
		return found
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return object{"raw": hex.EncodeToString([]byte(v.String()))}
		}
		return v.String()
	case reflect.Float32, reflect.Float64:
		switch f := v.Float(); {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		case f == 0 && math.Signbit(f):
			return json.Number("-0.0")
		default:
			return f
		}
	case reflect.Int64, reflect.Uint64:
		return fmt.Sprint(v.Interface())
	default:
		return v.Interface()
	}
}

var errForm = errors.New("not a value of the type")

// set puts what JSON says into a value; what it leaves out has its default.
func set(v reflect.Value, given any, of *field) error {
	if given == nil {
		if of == nil || !of.nullable {
			return errForm
		}
		v.SetZero()
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return set(v.Elem(), given, nil)
	case reflect.Interface:
		for _, form := range of.forms {
			made := reflect.New(form).Elem()
			if set(made, given, nil) == nil {
				v.Set(made)
				return nil
			}
		}
		return errForm
	case reflect.Struct:
		return setFields(v, given)
	case reflect.Array, reflect.Slice:
		return setItems(v, given, of)
	case reflect.Bool:
		flag, ok := given.(bool)
		if !ok {
			return errForm
		}
		v.SetBool(flag)
	case reflect.String:
		return setText(v, given)
	case reflect.Float32, reflect.Float64:
		number, err := strconv.ParseFloat(fmt.Sprint(given), 64)
		v.SetFloat(number)
		return err
	default:
		return setWhole(v, given)
	}
	return nil
}

func setFields(v reflect.Value, given any) error {
	members, ok := given.(object)
	if !ok {
		return errForm
	}
	if made, ok := newOf[v.Type()]; ok {
		v.Set(reflect.ValueOf(made()))
	}
	known := fieldsOf[v.Type()]
	sought, streamed := instancesOf[v.Type()]
	count := 0
	for i, each := range known {
		if value, ok := members[each.id]; ok {
			held := v.FieldByName(each.name)
			if err := set(held, value, &known[i]); err != nil {
				return err
			}
			if items, ok := value.([]any); ok && len(items) == 0 && streamed && held.Kind() == reflect.Slice {
				held.Set(reflect.MakeSlice(held.Type(), 0, 0))
			}
			count++
		}
	}
	for i, each := range sought {
		if value, ok := members[each.id]; ok {
			put := v.Addr().MethodByName("Set" + each.name)
			if !put.IsValid() {
				return errForm
			}
			held := reflect.New(put.Type().In(0)).Elem()
			if err := set(held, value, &sought[i]); err != nil {
				return err
			}
			put.Call([]reflect.Value{held})
			count++
		}
	}
	if count != len(members) {
		return errForm
	}
	return nil
}

func setItems(v reflect.Value, given any, of *field) error {
	if text, ok := given.(string); ok && v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Type() == uuidType {
			text = strings.ReplaceAll(text, "-", "")
		}
		data, err := hex.DecodeString(text)
		if err != nil {
			return err
		}
		if v.Kind() == reflect.Array {
			reflect.Copy(v, reflect.ValueOf(data))
		} else {
			v.SetBytes(data)
		}
		return nil
	}
	items, ok := given.([]any)
	if !ok {
		return errForm
	}
	if len(items) == 0 && (of == nil || !of.nullable) {
		v.SetZero() // as readers have it
		return nil
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, each := range items {
		if err := set(v.Index(i), each, of); err != nil {
			return err
		}
	}
	return nil
}

func setText(v reflect.Value, given any) error {
	switch text := given.(type) {
	case string:
		v.SetString(text)
		return nil
	case object:
		raw, _ := text["raw"].(string)
		data, err := hex.DecodeString(raw)
		v.SetString(string(data))
		return err
	}
	return errForm
}

func setWhole(v reflect.Value, given any) error {
	switch given.(type) {
	case json.Number, string:
	default:
		return errForm
	}
	number, ok := new(big.Int).SetString(fmt.Sprint(given), 10)
	switch {
	case ok && v.CanInt() && number.IsInt64() && !v.OverflowInt(number.Int64()):
		v.SetInt(number.Int64())
	case ok && v.CanUint() && number.IsUint64() && !v.OverflowUint(number.Uint64()):
		v.SetUint(number.Uint64())
	default:
		return errForm
	}
	return nil
}
