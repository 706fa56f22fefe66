//lint:file-ignore U1000 not every schema needs everything

package kodec

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	mostPasses = 64
	mostZeros  = 1 << 24
	noPlace    = "bytes after it have no place any more"
	noSize     = math.MinInt64 // of bytes whose size nothing says
)

// way is how a size becomes what is wanted: a change, several that go together ([]way), or nil if it does not apply.
type way any

// change is what a field of an object, or the element of it at an index, becomes; of a sink its size.
type change struct {
	of    any
	name  string
	value any
	index any
}

// solve is the ways to have what is wanted.
type solve func(wanted any) []way

// waysTo is a solve for values of a type.
func waysTo[T any](of func(wanted T) []way) solve {
	return func(wanted any) []way { return of(wanted.(T)) }
}

func noWay() way { return nil }

// followed is a field that is computed: what stands in it until then, and whether it may be absent.
type followed struct {
	name     string
	blank    any
	optional bool
}

// placement is an instance at a position, as a writer needs it.
type placement struct {
	name, label string
	kept        anyKept
	moves       bool   // whether its position depends on where the stream stood
	of          string // the fields that its position is computed of, where it is not known how to change them
	align       int    // a position that is chosen is a multiple of it, with the byte fill in front of it; 0 is any
	fill        byte
	position    func() int64
	stream      func() any // its stream, if that is not the object's own
	solve       solve
	write       func(io *sink)
}

// anyKept is the value of an instance, nil if it was not read or set, and where it was read.
type anyKept interface {
	held() any
	place() *spot
}

// spot is where an instance was read.
type spot struct {
	start  int
	source *Stream
}

func (k *kept[T]) held() any {
	if !k.known || missing(k.value) {
		return nil
	}
	return k.value
}

func (k *kept[T]) place() *spot { return k.spot }

// keep returns a value, which is kept unless its object is being written.
func (k *kept[T]) keep(x node, value T) T {
	if x.base().out == nil {
		k.value, k.known = value, true
	}
	return value
}

// at notes where an instance is read.
func at[T any](k *kept[T], io *Stream) *Stream {
	k.spot = &spot{io.at - io.base, io}
	return io
}

// give sets an instance. What stood there is read first: its place is known then.
func give[T any](x node, k *kept[T], value T, read func() T) {
	if x.base().io != nil && k.spot == nil {
		func() {
			var err error
			defer catch(&err)
			read()
		}()
	}
	k.value, k.known = value, !missing(value)
}

// writable is an object that can be written.
type writable interface {
	node
	write(io *sink)
	followed() []followed
	solvers() map[string]solve
	placements() []placement
	derive(io *sink)
	again(io *Stream) node
	tailMoves() bool
}

// What objects have where their types have nothing of it.
func (o *object) followed() []followed      { return nil }
func (o *object) solvers() map[string]solve { return nil }
func (o *object) placements() []placement   { return nil }
func (o *object) derive(*sink)              {}
func (o *object) again(*Stream) node        { return nil }
func (o *object) tailMoves() bool           { return false }

// streamed is where bytes are read or written.
type streamed interface {
	pos() int64
	size() int64
	eof() bool
}

// stream is what an object is written to, or was read from.
func (o *object) stream() streamed {
	if o.out != nil {
		return o.out
	}
	if o.io == nil {
		panic(&Error{Code: Malformed, Reason: "the object was not read, so that it has no stream"})
	}
	return o.io
}

// member is a field of an object, to be read or set.
type member struct {
	of   any
	name string
}

func (m member) field() reflect.Value { return reflect.ValueOf(m.of).Elem().FieldByName(m.name) }
func (m member) value() any           { return m.field().Interface() }

func (m member) set(value any) {
	field := m.field()
	found := reflect.ValueOf(value)
	switch {
	case !found.IsValid():
		field.SetZero()
	case field.Kind() == reflect.Pointer && found.Kind() != reflect.Pointer:
		held := reflect.New(field.Type().Elem())
		held.Elem().Set(m.converted(found, field.Type().Elem()))
		field.Set(held)
	default:
		field.Set(m.converted(found, field.Type()))
	}
}

// converted is a number in the type of its field, which it may not fit.
func (m member) converted(v reflect.Value, to reflect.Type) reflect.Value {
	if v.Kind() == reflect.Int64 {
		field, number := reflect.Zero(to), v.Int()
		if (field.CanInt() && field.OverflowInt(number)) ||
			(field.CanUint() && (number < 0 || field.OverflowUint(uint64(number)))) {
			panic(refusal(m.label(), "out of range", nil, number))
		}
	}
	return v.Convert(to)
}

// label is what errors call a field.
func (m member) label() string {
	name := reflect.TypeOf(m.of).Elem().Name()
	return name + "." + m.name
}

type changed struct {
	member
	text, by string
}

// keyOf is an object, of which maps know something; what is none has nothing there.
func keyOf(value any) any {
	if x, ok := value.(writable); ok {
		return x
	}
	return nil
}

// settling is what changes while an object is written, in as many passes as it takes.
type settling struct {
	hasZeros   bool // whether zeros of new objects were given
	strict     bool
	number     int64 // in numbers that are not known yet: 0 may mean something of its own
	journal    map[member]any
	order      []member
	blank      map[member]bool
	filled     bool // whether something stands in a field that was not given
	lists      map[member]bool
	sizes      map[any]int
	starts     map[any]place
	own        map[any]bool
	inserted   map[any][]*placed
	origins    map[member]int64
	written    map[writable][]span
	touched    map[writable]bool
	nodes      map[any]bool
	changes    []changed
	doubtful   bool
	guesses    int
	later      []func()
	moved      map[origin]map[int]int
	placed     []writable
	unread     []writable
	calculated []writable
	stored     map[*byte]compressed
}

type place struct {
	owner *sink
	pos   int
}

// origin is a stream that objects were read from.
type origin struct {
	first *byte
	base  int
}

func originOf(s *Stream) origin {
	if len(s.buf) == 0 {
		return origin{nil, s.base}
	}
	return origin{&s.buf[0], s.base}
}

func newSettling(hasZeros bool) *settling {
	return &settling{
		hasZeros: hasZeros, journal: map[member]any{}, blank: map[member]bool{}, lists: map[member]bool{},
		sizes: map[any]int{}, starts: map[any]place{}, own: map[any]bool{}, inserted: map[any][]*placed{},
		origins: map[member]int64{}, written: map[writable][]span{}, touched: map[writable]bool{},
	}
}

func (s *settling) begin() {
	s.changes, s.doubtful, s.guesses, s.later = nil, false, 0, nil
	s.moved, s.placed, s.unread, s.calculated = map[origin]map[int]int{}, nil, nil, nil
	s.nodes = map[any]bool{}
}

// run returns the bytes once nothing changes any more.
func (s *settling) run(write func() []byte) ([]byte, error) {
	var before []changed
	var first error
	for range mostPasses {
		s.begin()
		data, err := s.pass(write)
		if err != nil {
			if s.readInstances() {
				continue
			}
			if len(s.changes) == 0 {
				if !s.tryAnother() {
					if first != nil {
						err = first
					}
					return nil, err
				}
				first = err
				continue
			}
		}
		if len(s.changes) == 0 && s.doubtful && !s.strict {
			s.strict = true
			continue
		}
		if len(s.changes) == 0 {
			if first != nil && len(s.blank) > 0 {
				return nil, first
			}
			return data, nil
		}
		if slices.Equal(s.changes, before) {
			break
		}
		before = s.changes
	}
	return nil, s.contradicted()
}

func (s *settling) pass(write func() []byte) (data []byte, err error) {
	defer catch(&err)
	data = write()
	if len(s.changes) == 0 {
		s.relocate()
	}
	if len(s.changes) == 0 {
		for _, each := range s.calculated {
			each.derive(each.base().out)
		}
	}
	return data, nil
}

// restore has all fields be what they were.
func (s *settling) restore() {
	for _, each := range s.order {
		each.set(s.journal[each])
	}
	for each, spans := range s.written {
		o := each.base()
		o.out, o.taught, o.spans = nil, nil, spans
	}
}

func (s *settling) contradicted() error {
	for _, each := range s.changes {
		old, known := s.journal[each.member]
		if !known {
			continue
		}
		var names []string
		for _, other := range s.changes {
			if other.member == each.member && other.by != "" && !slices.Contains(names, other.by) {
				names = append(names, other.by)
			}
		}
		return refusal(each.label(), "no value of it is right for "+strings.Join(names, " and "), nil, old)
	}
	return refusal("", "what it is computed of changes with it", nil, nil)
}

// enter notes that an object is written.
func (s *settling) enter(node writable, to *sink) {
	o := node.base()
	if _, known := s.written[node]; !known {
		s.written[node] = o.spans
	}
	o.out, o.spans = to, nil
	s.nodes[node] = true
	for _, each := range node.followed() {
		m := member{node, each.name}
		if !each.optional && isBlank(m.field(), o.io == nil && !s.hasZeros) {
			s.fill(m, each.blank)
		}
	}
	pos := to.at()
	s.starts[node] = place{to.owner, pos}
	if o.io == nil {
		return
	}
	before := o.start - o.io.base
	if before != pos && to == to.owner {
		from := originOf(o.io)
		if s.moved[from] == nil {
			s.moved[from] = map[int]int{}
		}
		if _, known := s.moved[from][before]; !known {
			s.moved[from][before] = pos
		}
	}
	placements := node.placements()
	if len(placements) == 0 {
		return
	}
	s.placed = append(s.placed, node)
	for _, each := range placements {
		m := member{node, each.name}
		if _, known := s.origins[m]; !known && each.solve != nil {
			found, err := attempted(each.position)
			s.origins[m] = pick(err == nil, found, -1)
		}
	}
}

// attempted is what a function gives, or its failure.
func attempted[T any](of func() T) (found T, err error) {
	defer catch(&err)
	return of(), nil
}

// relocate has positions follow what has moved.
func (s *settling) relocate() {
	for _, node := range s.placed {
		moves := s.moved[originOf(node.base().io)]
		for _, each := range node.placements() {
			if each.solve == nil || moves == nil {
				continue
			}
			to, moved := moves[int(s.origins[member{node, each.name}])]
			if now := each.position(); moved && now != int64(to) {
				s.settle(each.label, int64(to), now, each.solve, "moved", "")
			}
		}
	}
}

// isUnread reports whether what stands behind an object has to be read before it can move.
func (s *settling) isUnread(value writable) bool {
	if s.touched[value] {
		return false
	}
	s.unread = append(s.unread, value)
	return true
}

func (s *settling) readInstances() bool {
	for _, each := range s.unread {
		touch(each)
		s.touched[each] = true
	}
	return len(s.unread) > 0
}

// -- which fields

// solverOf is how what a member is computed of follows from it; nil of a field.
func solverOf(of any, name string) solve {
	node, ok := of.(writable)
	if !ok {
		return nil
	}
	if found := node.solvers()[name]; found != nil {
		return found
	}
	return node.base().taught[name]
}

func mayChange(of any, name string) bool {
	node, ok := of.(writable)
	return ok && slices.ContainsFunc(node.followed(), func(each followed) bool { return each.name == name })
}

// ways are the fields that change, with what they become, for each way to have what is wanted.
func waysOf(found []way) [][]change {
	var ways [][]change
	for _, each := range found {
		for _, way := range wayOf(each) {
			if !slices.ContainsFunc(ways, func(other []change) bool { return slices.EqualFunc(way, other, alike) }) {
				ways = append(ways, way)
			}
		}
	}
	return ways
}

func alike(one, other change) bool {
	return one.of == other.of && one.name == other.name && one.index == other.index
}

func wayOf(found way) [][]change {
	switch found := found.(type) {
	case []way:
		var all []change
		for _, each := range found {
			part := wayOf(each)
			if len(part) != 1 {
				return nil
			}
			all = append(all, part[0]...)
		}
		return [][]change{all}
	case change:
		if missing(found.of) {
			return nil
		}
		if solver := solverOf(found.of, found.name); solver != nil {
			var ways [][]change
			for _, each := range solver(found.value) {
				ways = append(ways, wayOf(each)...)
			}
			return ways
		}
		if mayChange(found.of, found.name) {
			return [][]change{{found}}
		}
	}
	return nil
}

// byStream reports whether the size of a stream is among what has to change.
func byStream(found []way) bool {
	return slices.ContainsFunc(found, func(each way) bool {
		switch each := each.(type) {
		case []way:
			return byStream(each)
		case change:
			if _, isSink := each.of.(*sink); isSink {
				return true
			}
			if missing(each.of) {
				return false
			}
			solver := solverOf(each.of, each.name)
			return solver != nil && byStream(solver(each.value))
		}
		return false
	})
}

// -- what they become

// resize settles; a size that follows from that of a stream must be right once that is known.
func (s *settling) resize(name string, wanted, stated int64, solve solve, reason, of string) {
	switch {
	case solve == nil || !byStream(solve(wanted)):
		s.settle(name, wanted, stated, solve, reason, of)
	case s.strict:
		s.settle(name, wanted, stated, nil, reason, "")
	default:
		s.doubtful = true
	}
}

// settle has the field change from which stated follows, so that it is wanted.
func (s *settling) settle(name string, wanted, stated any, solve solve, reason, of string) {
	var ways [][]change
	if solve != nil {
		ways = waysOf(solve(wanted))
	}
	if len(ways) > 1 {
		ways = s.chosen(ways, name)
	}
	if len(ways) > 1 {
		var names []string
		for _, each := range slices.Concat(ways...) {
			names = append(names, "`"+each.name+"`")
		}
		slices.Sort(names)
		text := strings.Join(slices.Compact(names), " and ")
		panic(refusal(name, reason+", and it follows from "+text+": leave one of them empty", stated, wanted))
	}
	done := false
	if len(ways) > 0 {
		for _, each := range ways[0] {
			if s.change(each, name) {
				done = true
			}
		}
	}
	if !done {
		if of != "" {
			reason += ", and it cannot be computed: set " + of
		}
		panic(refusal(name, reason, stated, wanted))
	}
}

// chosen are the ways whose fields were not given, or which nothing else has changed.
func (s *settling) chosen(ways [][]change, name string) [][]change {
	var blank, free [][]change
	for _, way := range ways {
		isBlank, isTaken := false, false
		for _, each := range way {
			m := member{each.of, each.name}
			isBlank = isBlank || s.blank[m]
			isTaken = isTaken || slices.ContainsFunc(s.changes, func(other changed) bool {
				return other.by != name && other.member == m
			})
		}
		if isBlank {
			blank = append(blank, way)
		}
		if !isTaken {
			free = append(free, way)
		}
	}
	if len(blank) == 1 {
		return blank
	}
	if len(free) > 0 {
		return free
	}
	return ways
}

// change sets a field; false where it has the value already.
func (s *settling) change(to change, by string) bool {
	m := member{to.of, to.name}
	old, now := m.value(), to.value
	if to.index != nil {
		items, at := reflect.ValueOf(old), to.index.(int64)
		if at < 0 || at > int64(items.Len()) {
			return false
		}
		kind := items.Type().Elem()
		value := m.converted(reflect.ValueOf(to.value), kind)
		list := reflect.AppendSlice(reflect.MakeSlice(items.Type(), 0, items.Len()+1), items)
		if at == int64(items.Len()) {
			list = reflect.Append(list, value)
		} else {
			list.Index(int(at)).Set(value)
		}
		now = list.Interface()
	}
	if isSame(old, now) {
		delete(s.blank, m)
		return false
	}
	s.note(m, old)
	m.set(now)
	delete(s.blank, m)
	s.changes = append(s.changes, changed{m, fmt.Sprint(to.value), by})
	return true
}

func (s *settling) note(m member, old any) {
	if _, known := s.journal[m]; !known {
		s.journal[m] = old
		s.order = append(s.order, m)
	}
}

// derived has a field be what it is derived of; through an instance where it is the value of one.
func (s *settling) derived(label string, m member, have, value any, isInstance bool) {
	if missing(have) {
		return
	}
	if !isInstance {
		s.change(change{m.of, m.name, value, nil}, "-derive of "+label)
	} else if !isSame(have, value) {
		s.settle(label, value, have, func(wanted any) []way { return []way{change{m.of, m.name, wanted, nil}} }, "-derive", "")
	}
}

// satisfied notes that a size is what it has to be: what it follows from is computed, if it was not given.
func (s *settling) satisfied(need any, solve solve) {
	if len(s.blank) == 0 || solve == nil {
		return
	}
	found := solve(need)
	if byStream(found) {
		return
	}
	for _, each := range slices.Concat(waysOf(found)...) {
		delete(s.blank, member{each.of, each.name})
	}
}

// set sets what an object is given.
func (s *settling) set(m member, value any) {
	if old := m.value(); !reflect.DeepEqual(old, value) {
		s.note(m, old)
		m.set(value)
	}
}

// fill puts something into a field that was not given, until what it follows from is written.
func (s *settling) fill(m member, blank any) {
	if _, known := s.journal[m]; known {
		return
	}
	s.note(m, m.value())
	s.blank[m], s.filled = true, true
	if reflect.ValueOf(blank).Kind() == reflect.Slice && reflect.TypeOf(blank) != reflect.TypeFor[[]byte]() {
		s.lists[m] = true
	}
	m.set(blank)
	s.putNumber(m)
}

func (s *settling) putNumber(m member) {
	field := reflect.Indirect(m.field())
	switch {
	case field.CanInt():
		field.SetInt(s.number)
	case field.CanUint():
		field.SetUint(uint64(s.number))
	}
}

// tryAnother puts another number where nothing is known yet.
func (s *settling) tryAnother() bool {
	if s.number != 0 || len(s.blank) == 0 {
		return false
	}
	s.number = 2
	for m := range s.blank {
		s.putNumber(m)
	}
	return true
}

// -- bytes that are written

// sink has bytes that are written one after another, and those of instances at their positions.
type sink struct {
	*settling
	owner   *sink
	base    int
	limit   int // how many bytes the stream will have; negative if that is unknown
	buf     []byte
	done    []byte // all bytes, once they are there
	value   any
	used    bool
	bits    uint64
	left    int
	little  bool
	parts   []*placed
	due     []due
	open    []ending
	unnamed []nameless
}

// due is what must follow at a place, also at the end if it is needed.
type due struct {
	at     int
	mark   []byte
	needed bool
	name   string
}

// ending is where something ends that is read to the end of the stream.
type ending struct {
	at  int
	err *Error
}

// nameless are bytes that no field names, or some bits of a byte.
type nameless struct {
	start, stop int
	others      byte
}

func newSink(s *settling, limit int, owner *sink, base int) *sink {
	found := &sink{settling: s, limit: limit, owner: owner, base: base}
	if owner == nil {
		found.owner = found
	}
	return found
}

// at is the position of the next whole byte.
func (s *sink) at() int    { return s.base + len(s.buf) + pick(s.left > 0, 1, 0) }
func (s *sink) pos() int64 { return int64(s.at()) }

// size is that of the stream; until it is known, what it was in the pass before, or nothing.
func (s *sink) size() int64 {
	o := s.owner
	if o.done != nil {
		return int64(len(o.done))
	}
	o.used = true
	if o.limit < 0 {
		s.guesses++
		o.limit = 0
	}
	return int64(o.limit)
}

func (s *sink) eof() bool { return s.pos() >= s.size() && s.left == 0 }

func (s *sink) mark() (int, int) { return s.at(), 0 }

func (s *sink) all() []byte {
	if s.owner.done == nil {
		panic(&Error{Code: Malformed, Reason: "its bytes are needed before they are written"})
	}
	return s.owner.done
}

// refusal is the error for a value that cannot be written.
func refusal(name, reason string, need, have any) *Error {
	return &Error{Code: NotEncodable, Path: name, Reason: reason, Need: shown(need), Have: shown(have)}
}

// shown is a value as errors have it: objects know what holds them.
func shown(value any) any {
	if _, ok := value.(node); ok || missing(value) {
		return nil
	}
	return value
}

// number appends the lowest bytes of a number.
func (s *sink) number(value uint64, size int, little bool) {
	s.buf = appendBits(s.buf, value, size, little)
}

type whole interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// narrow appends a number of a wider type, which may not fit its field.
func narrow[T whole](io *sink, name string, value T, size int, signed, little bool) {
	unused, raw := 64-8*size, uint64(value)
	fits := value >= 0 && raw<<unused>>unused == raw
	if signed {
		fits = int64(raw)<<unused>>unused == int64(raw) && (value < 0) == (int64(raw) < 0)
	}
	if !fits {
		panic(refusal(name, "out of range", nil, value))
	}
	io.number(raw, size, little)
}

func narrowReal(io *sink, name string, value float64, size int, _, little bool) {
	if found := float64(float32(value)); math.IsInf(found, 0) && !math.IsInf(value, 0) {
		panic(refusal(name, "out of range", nil, value))
	}
	io.number(uint64(math.Float32bits(float32(value))), size, little)
}

func (s *sink) putBits(name string, value uint64, width int64, little bool) {
	if width < 64 && value>>width != 0 {
		panic(refusal(name, "out of range", nil, value))
	}
	for n := range width {
		bit := value >> (width - 1 - n) & 1
		if little {
			bit = value >> n & 1
			s.bits |= bit << s.left
		} else {
			s.bits = s.bits<<1 | bit
		}
		s.little = little
		if s.left++; s.left == 8 {
			s.buf = append(s.buf, byte(s.bits))
			s.bits, s.left = 0, 0
		}
	}
}

// align ends a byte that was begun; its other bits are zeros, or what was there when it was read.
func (s *sink) align() {
	if s.left == 0 {
		return
	}
	at, last := s.at()-1, byte(s.bits)
	others := byte(0xFF) << s.left
	if !s.little {
		others = 0xFF >> s.left
		last <<= 8 - s.left
	}
	s.unnamed = append(s.unnamed, nameless{at, at + 1, others})
	s.buf = append(s.buf, last)
	s.bits, s.left = 0, 0
}

// encoded is the bytes of a text.
func (s *sink) encoded(name string, value any, encoding, upper string) []byte {
	text, ok := value.(string)
	if held, isPointer := value.(*string); isPointer && held != nil {
		text, ok = *held, true
	}
	if !ok {
		panic(refusal(name, pick(missing(value), "not given", "not text"), nil, value))
	}
	found, ok := encode(text, encoding, upper)
	if !ok {
		panic(refusal(name, "not "+encoding, nil, text))
	}
	return found
}

func (s *sink) octets(name string, value any) []byte {
	data, ok := value.([]byte)
	if !ok || data == nil {
		panic(refusal(name, pick(missing(value), "not given", "not bytes"), nil, value))
	}
	return data
}

func (s *sink) xor(name string, data []byte, key int64) []byte {
	if key < 0 || key > 255 {
		panic(refusal(name, fmt.Sprintf("xor: the key %d is no byte", key), nil, nil))
	}
	return s.xorAll(name, data, []byte{byte(key)})
}

func (s *sink) xorAll(name string, data, key []byte) []byte {
	if len(key) == 0 {
		panic(refusal(name, "xor: the key is empty", nil, nil))
	}
	found := make([]byte, len(data))
	for i, each := range data {
		found[i] = each ^ key[i%len(key)]
	}
	return found
}

func (s *sink) rol(_ string, data []byte, by int64) []byte {
	by = floorMod(-by, 8)
	found := make([]byte, len(data))
	for i, each := range data {
		found[i] = each<<by | each>>(8-by)
	}
	return found
}

func (s *sink) ror(name string, data []byte, by int64) []byte { return s.rol(name, data, -by) }

// zlib is the bytes to store: those that were read, if this is what was read of them.
func (s *sink) zlib(name string, data []byte) []byte {
	if len(data) > 1 {
		if found, known := s.stored[&data[0]]; known && found.size == len(data) && holds(found.data, data) {
			return found.data
		}
	}
	var found bytes.Buffer
	w := zlib.NewWriter(&found)
	if _, err := w.Write(data); err != nil {
		panic(refusal(name, err.Error(), nil, nil))
	}
	if err := w.Close(); err != nil {
		panic(refusal(name, err.Error(), nil, nil))
	}
	return found.Bytes()
}

// holds reports whether bytes decompress to others, which may have been changed since they were read.
func holds(data, content []byte) bool {
	opened, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return false
	}
	found, err := io.ReadAll(io.LimitReader(opened, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content)
}

func (s *sink) putFixed(name string, value any, contents []byte) {
	data := s.octets(name, value)
	if !bytes.Equal(data, contents) {
		s.refuse(name, "wrong fixed bytes", contents, data)
	}
	s.buf = append(s.buf, data...)
}

func (s *sink) putBytes(name string, value any, size int64, solve solve, of string) {
	data := s.octets(name, value)
	s.sized(name, len(data), size, solve, of)
	s.buf = append(s.buf, data...)
}

func (s *sink) sized(name string, have int, size int64, solve solve, of string) {
	switch size {
	case noSize:
	case int64(have):
		s.satisfied(size, solve)
	default:
		s.resize(name, int64(have), size, solve, "wrong size", of)
	}
}

// putEnded appends bytes up to a terminator, which they do not hold but at their end.
func (s *sink) putEnded(name string, value any, mark []byte, include, consume, needed bool) {
	data := s.octets(name, value)
	found := markIn(data, mark)
	whole := include && found >= 0 && found == len(data)-len(mark)
	if found >= 0 && !whole {
		panic(refusal(name, "holds its terminator", nil, data))
	}
	if include && needed && !whole {
		panic(refusal(name, "does not end with its terminator", nil, data))
	}
	if whole && !consume {
		data = data[:found]
	}
	s.buf = append(s.buf, data...)
	if whole && consume {
		return
	}
	o := s.owner
	full := o.limit >= 0 && s.at() >= o.limit
	switch {
	case !include && consume && (needed || !full):
		s.buf = append(s.buf, mark...)
	case whole || !consume:
		o.due = append(o.due, due{s.at(), mark, needed || whole, name})
	default:
		o.due = append(o.due, due{s.at(), nil, false, name})
	}
}

// putFilled appends bytes with what fills them up to a size; that changes where they need more.
func (s *sink) putFilled(name string, value any, pad int64, mark []byte, include bool, size int64, solve solve) {
	own := s.octets(name, value)
	data, least := own, len(own)
	if mark != nil && !include {
		least += len(mark)
	}
	room := int64(least)
	if size != noSize {
		room = size
	} else if s.owner == s && s.limit >= 0 && s.limit-s.at() >= len(data) {
		// it reaches to the end of a stream whose size is known
		room = int64(s.limit - s.at())
	}
	if room < int64(len(data)) {
		if solve == nil {
			panic(refusal(name, "wrong size", room, len(data)))
		}
		s.resize(name, int64(least), room, solve, "wrong size", "")
		room = int64(least)
	} else {
		s.satisfied(room, solve)
	}
	if room > mostZeros+int64(len(data)) {
		panic(refusal(name, "wrong size", room, len(data)))
	}
	if mark != nil && !include && room-int64(len(data)) >= int64(len(mark)) {
		data = slices.Concat(data, mark)
	}
	if mark != nil && markIn(data, mark) >= 0 {
		// after its terminator anything may stand
		s.unnamed = append(s.unnamed, nameless{s.at() + len(data), s.at() + int(room), 0xFF})
	}
	full := bytes.Repeat([]byte{byte(max(0, pad))}, int(room))
	copy(full, data)
	if len(mark) > 0 && int64(mark[len(mark)-1]) == pad {
		pad = -1
	}
	if !bytes.Equal(trimmed(nil, full, pad, mark, include), own) {
		panic(refusal(name, "could not be told from what fills it up", nil, own))
	}
	s.buf = append(s.buf, full...)
}

// ends notes that what was written last is read to the end of its stream: nothing can follow.
func (s *sink) ends(name string) {
	s.open = append(s.open, ending{s.at(), refusal(name, "is read to the end of its stream", nil, nil)})
}

func (s *sink) closed(stop int) {
	for _, each := range s.open {
		if each.at != stop {
			panic(each.err)
		}
	}
}

// -- lists and conditions

// listed requires that a list is given.
func listed[T any](io *sink, name string, list []T) []T {
	if list == nil {
		panic(refusal(name, "not given", nil, nil))
	}
	return list
}

// counted sees that a list has a number of elements; m is its field.
func (s *sink) counted(name string, list any, m member, count int64, solve solve, of string) {
	if missing(list) {
		panic(refusal(name, "not given", nil, nil))
	}
	have := int64(reflect.ValueOf(list).Len())
	switch {
	case have < count && s.lists[m] && count <= mostZeros:
		// a list of numbers that are not known yet
		more, field := int(count-have), m.field()
		field.Set(reflect.AppendSlice(field, reflect.MakeSlice(field.Type(), more, more)))
	case have != count && !s.lists[m]:
		s.resize(name, have, count, solve, "wrong number of elements", of)
	default:
		s.satisfied(have, solve)
	}
}

func (s *sink) notEmpty(name string, list any) {
	if reflect.ValueOf(list).Len() == 0 {
		s.refuse(name, "at least one element is needed", nil, list)
	}
}

func (s *sink) last(name string, list any, holds bool, index int64, item any) {
	if holds != (index+1 == int64(reflect.ValueOf(list).Len())) {
		s.refuse(name, "the condition that ends it must hold at its last element, and only there", nil, item)
	}
}

// follows reports whether a field that follows from others is written: then something stands in it.
func (s *sink) follows(x any, name string, there bool, blank any) bool {
	m := member{x, name}
	switch absent := missing(m.value()); {
	case there && absent:
		s.fill(m, blank)
	case !there && !absent:
		s.set(m, nil)
	}
	return there
}

// wanted reports whether a field is written: its condition holds, or is made to hold as there is a value.
func (s *sink) wanted(name string, value any, test func() bool, solve, sizes solve, mayLack bool) bool {
	given, there := !missing(value), test()
	if there == given || (there && mayLack) {
		if solve != nil {
			s.satisfied(there, solve)
		}
		return there
	}
	if solve != nil {
		s.settle(name, given, there, solve, pick(given, "given, but its condition does not hold", "not given"), "")
	} else if sizes != nil && !given {
		_, _ = attempted(func() bool { s.settle(name, int64(0), nil, sizes, "not given", ""); return true })
	}
	there = test()
	if given && !there {
		if s.strict || sizes == nil {
			panic(refusal(name, "given, but its condition does not hold", nil, value))
		}
		// its size may make it hold
		s.doubtful = true
		return true
	}
	return there
}

// oneCase is the value of the only case with a type.
type oneCase struct {
	is    func(any) bool
	value any
}

// choose sees that the case of an object is chosen, if one case alone has its type; else it changes the field.
func (s *sink) choose(name string, value, on any, cases []oneCase, solve solve) {
	for _, each := range cases {
		if !each.is(value) || missing(value) {
			continue
		}
		if isSame(on, each.value) {
			s.satisfied(each.value, solve)
		} else {
			s.settle(name, each.value, on, solve, fmt.Sprintf("a %T has another case", value), "")
		}
		return
	}
}

// refuse ends writing for a value that a rule does not allow, once all that rules ask for is known.
func (s *sink) refuse(name, reason string, need, have any) {
	if (s.guesses > 0 || len(s.blank) > 0) && !s.strict && !missing(have) {
		s.doubtful = true
		return
	}
	panic(refusal(name, pick(missing(have), "not given", reason), need, have))
}

// -- objects

// part is a stream of a size within this one, to be given to putPart.
func (s *sink) part(_ string, value any, size int64) *sink {
	limit := -1
	if known, ok := s.sizes[keyOf(value)]; ok {
		limit = known
	} else if size >= 0 {
		limit = int(min(size, math.MaxInt))
	} else if own := ownBytes(value, true); own != nil {
		limit = len(own)
	}
	return newSink(s.settling, limit, nil, 0)
}

func (s *sink) putPart(name string, part *sink, value any, size int64, solve solve, of string) {
	data := s.wholeOf(name, part, value, size, solve)
	s.sized(name, len(data), size, solve, of)
	s.buf = append(s.buf, data...)
}

func (s *sink) whole(name string, part *sink, value any) []byte {
	return s.wholeOf(name, part, value, noSize, nil)
}

// wholeOf is the bytes of a part.
func (s *sink) wholeOf(name string, part *sink, value any, size int64, solve solve) []byte {
	data, err := attempted(func() []byte { return part.finish(value, size, solve != nil, true) })
	if err != nil {
		panic(within(err, name))
	}
	part.closed(len(data))
	if node, ok := value.(writable); ok && !missing(value) {
		// the same bytes as were read: zlib knows them
		if io := node.base().io; io != nil && bytes.Equal(io.buf, data) {
			return io.buf
		}
	}
	return data
}

// putObject writes an object of a type next; given are its parameters, taught what they follow from.
func putObject[T writable](
	io *sink, name string, index int64, value any, parent, root any, given map[string]any, taught map[string]solve,
) {
	open := len(io.open)
	defer func() {
		found := recover()
		if found == nil {
			return
		}
		e, ok := found.(*Error)
		if !ok {
			panic(found)
		}
		panic(within(e, stepOf(name, index)))
	}()
	x, ok := value.(T)
	if !ok || missing(value) {
		panic(refusal("", pick(missing(value), "not given", "not a "+reflect.TypeFor[T]().Elem().Name()), nil, value))
	}
	if io.nodes[x] {
		panic(refusal("", "an object holds itself", nil, nil))
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		io.set(member{x, key}, given[key])
	}
	o := x.base()
	o.join(x, parent, root)
	o.taught = taught
	io.enter(x, io)
	x.write(io)
	delete(io.nodes, x)
	io.calculated = append(io.calculated, x)
	for _, each := range io.open[open:] {
		_ = within(each.err, stepOf(name, index))
	}
}

func stepOf(name string, index int64) string {
	if index >= 0 && name != "" {
		return nth(name, int(index))
	}
	return name
}

// join has an object be a part of another one, which is written.
func (o *object) join(own, parent, root any) {
	o.parent = parent
	if parent != nil {
		o.order = objectOf(parent).order
	}
	switch {
	case root != nil:
		o.root = root
	case parent != nil:
		o.root = objectOf(parent).root
	default:
		o.root = own
	}
}

// late sees that a parameter of what was written is what its field says now.
func (s *sink) late(name string, value any, parameter string, need any) {
	if have := (member{value, parameter}).value(); !isSame(have, need) {
		panic(refusal(name, "`"+parameter+"` depends on where the stream stands", need, have))
	}
}

// derive has a field be what it is derived of.
func (s *sink) derive(label string, of any, name string, have, value any, isInstance bool) {
	if !missing(of) {
		s.derived(label, member{of, name}, have, value, isInstance)
	}
}

// -- instances

// instance writes one at its position, if it was read or set, and is not elsewhere.
func (s *sink) instance(x writable, name string) {
	for _, each := range x.placements() {
		if each.name != name || !s.isWritten(each) {
			continue
		}
		if each.stream == nil {
			s.put(x, each, s)
			return
		}
		s.later = append(s.later, func() { s.put(x, each, each.stream()) })
	}
}

func (s *sink) isWritten(at placement) bool {
	value := at.kept.held()
	if value == nil {
		return false
	}
	x, isNode := value.(writable)
	if !isNode {
		return true
	}
	start, known := s.starts[x]
	if !known || s.own[x] {
		s.own[x] = true
		return true
	}
	if at.solve != nil && start.owner == s.owner {
		if now := at.position(); now == int64(start.pos) {
			s.satisfied(now, at.solve)
		} else {
			s.settle(at.label, int64(start.pos), now, at.solve, "its position", "")
		}
	}
	return false
}

func (s *sink) put(x writable, at placement, stream any) {
	to, ok := stream.(*sink)
	if !ok {
		panic(refusal("", "the stream of an instance is not being written", nil, nil))
	}
	read := at.kept.place()
	if at.moves && read == nil {
		panic(refusal(at.label, "its position depends on where the stream stood when it was read", nil, nil))
	}
	var pos int64
	if at.moves {
		pos = int64(read.start)
	} else {
		pos = at.position()
	}
	if pos < 0 || int64(int(pos)) != pos {
		panic(refusal(at.label, pick(pos < 0, "negative position", "too far behind what is written"), nil, pos))
	}
	io := newSink(s.settling, -1, to.owner, int(pos))
	at.write(io)
	io.align()
	stop := io.at()
	io.closed(stop)
	found := &placed{placement: at, x: x, pos: int(pos), data: io.buf, unnamed: io.unnamed, read: read}
	o := to.owner
	if read != nil && found.isBlank(s.settling) {
		// where it was read is as good as any other place
		if read.start != int(pos) {
			s.settle(at.label, int64(read.start), pos, at.solve, "its position", "")
			return
		}
		s.satisfied(pos, at.solve)
	}
	if o.done == nil {
		o.parts = append(o.parts, found)
		return
	}
	fillUp(found.data, found.pos, io.unnamed, o.done)
	stands := o.done[min(found.pos, len(o.done)):min(stop, len(o.done))]
	if bytes.Equal(stands, found.data) && !found.isShrunk(len(o.done)) {
		o.settleDue(o.done)
		return
	}
	// that stream is whole already: it is written again with this in it
	others := s.inserted[keyOf(o.value)]
	before := slices.IndexFunc(others, func(each *placed) bool { return each.x == x && each.name == at.name })
	if missing(o.value) || (before >= 0 && bytes.Equal(others[before].data, found.data)) {
		panic(refusal(at.label, "differs from what is written at its position", nil, pos))
	}
	if before >= 0 {
		others = slices.Delete(slices.Clone(others), before, before+1)
	}
	s.inserted[keyOf(o.value)] = append(others, found)
	s.changes = append(s.changes, changed{member{x, at.name}, fmt.Sprint(found.data), at.label})
}

// finish is all bytes of this stream: what was written, instances at their positions, and what stood there before.
func (s *sink) finish(value any, size int64, grows, keepsTail bool) []byte {
	s.align()
	s.value = value
	out := s.buf
	sequence := len(out)
	known := ownBytes(value, keepsTail)
	s.parts = append(s.parts, s.inserted[keyOf(value)]...)
	if known != nil {
		x := value.(writable)
		o := x.base()
		sequence = o.stop - o.io.base
		out = s.withRest(x, out, known, sequence, size == noSize || int64(len(known)) == size || grows)
	}
	if len(s.parts) > 0 {
		out = s.putInstances(out, known, sequence, pick(grows, noSize, size))
	}
	if s.used && s.limit >= 0 && len(out) != s.limit {
		if before, again := s.sizes[keyOf(value)]; again && before == len(out) {
			reason := "the size of the stream, with which the schema computes, has changed"
			panic(refusal("", reason, s.limit, len(out)))
		}
		s.sizes[keyOf(value)] = len(out)
		s.changes = append(s.changes, changed{member{keyOf(value), ""}, fmt.Sprint(len(out)), "its size"})
	}
	s.settleDue(out)
	s.done = pick(out == nil, []byte{}, out)
	return s.done
}

// withRest is what was written, and what stood behind it when it was read.
func (s *sink) withRest(x writable, out, known []byte, before int, fits bool) []byte {
	switch {
	case len(out) == before:
		if !fits {
			return out
		}
		fillUp(out, 0, s.unnamed, known)
		return append(out, known[before:]...)
	case len(known) <= before:
		return out
	case x.tailMoves() && len(s.parts) == 0:
		return append(out, known[before:]...)
	case s.isUnread(x):
		panic(refusal("", noPlace, before, len(out)))
	case isCovered(before, known, s.ranges(), s.fills()) || isCovered(before, known, rangesOf(x, known), s.fills()):
		return out
	}
	farther := slices.ContainsFunc(s.parts, func(each *placed) bool { return each.readStop() > before })
	if len(out) > before || !farther {
		panic(refusal("", noPlace, before, len(out)))
	}
	// what stands at positions stays there, and so does what is between
	return slices.Concat(out, make([]byte, before-len(out)), known[before:])
}

func (s *sink) ranges() [][2]int {
	var found [][2]int
	for _, each := range s.parts {
		if each.read != nil {
			found = append(found, [2]int{each.read.start, each.readStop()})
		}
	}
	return found
}

// fills are the bytes that fill the room between instances.
func (s *sink) fills() string {
	found := []byte{0}
	for _, each := range s.parts {
		found = append(found, each.fill)
	}
	return string(found)
}

// clear leaves nothing of what was read where an instance has moved from, or has become smaller.
func (s *sink) clear(out []byte, written int, value any) {
	for _, each := range s.parts {
		if each.read == nil || each.isBlank(s.settling) {
			continue
		}
		if x, ok := value.(writable); ok && !each.stays() && s.isUnread(x) {
			// others may stand there
			panic(refusal("", noPlace, each.read.start, each.pos))
		}
		start := max(pick(each.stays(), each.stop(), each.read.start), written)
		for at := start; at < min(each.readStop(), len(out)); at++ {
			out[at] = each.fill
		}
	}
}

func (s *sink) settleDue(out []byte) {
	for _, each := range s.due {
		if each.at >= len(out) && !each.needed {
			continue
		}
		if each.mark == nil {
			panic(refusal(each.name, "without terminator before the end", nil, nil))
		}
		if !bytes.HasPrefix(out[min(each.at, len(out)):], each.mark) {
			panic(refusal(each.name, "its terminator does not follow", each.mark, nil))
		}
	}
	s.due = nil
}

// putInstances puts instances at their positions; at the end where they have no room there any more.
func (s *sink) putInstances(out, known []byte, sequence int, size int64) []byte {
	written, end := len(s.buf), len(out)
	for _, each := range s.parts {
		each.compare(known, out)
		if !each.isBlank(s.settling) {
			end = max(end, each.stop())
		}
	}
	if known != nil {
		s.clear(out, written, s.value)
	}
	done := [][2]int{{0, written}}
	order := slices.Clone(s.parts)
	slices.SortStableFunc(order, func(one, other *placed) int {
		if one.same != other.same {
			return pick(one.same, 1, -1)
		}
		return other.weight() - one.weight()
	})
	for _, each := range order {
		blank := each.isBlank(s.settling)
		if len(each.data) == 0 && !blank {
			continue
		}
		over := each.differs(out, done[:1])
		clash := over || each.differs(out, done[1:])
		if clash && each.same && each.read != nil && !(over && each.read.start >= sequence) {
			// it is a view, which nobody changed, of what is written here otherwise
			continue
		}
		if each.solve != nil && (clash || blank || each.isGrown(len(out))) {
			// another one with the same position may have moved it
			if each.isMoved(s.settling) {
				continue
			}
			step := each.step()
			to := (end + step - 1) / step * step
			s.settle(each.label, int64(to), int64(each.pos), each.solve, "has no room at its position", "")
			end = to + len(each.data)
			continue
		}
		if clash {
			panic(refusal(each.label, each.fixed("differs from what is written at its position"), nil, each.pos))
		}
		if each.isGrown(len(out)) {
			reason := each.fixed("larger than what was read at its position, which is fixed")
			panic(refusal(each.label, reason, each.readStop()-each.pos, len(each.data)))
		}
		s.satisfied(int64(each.pos), each.solve)
		if each.stop()-len(out) > mostZeros {
			panic(refusal(each.label, "too far behind what is written", nil, each.pos))
		}
		if len(out) < each.stop() {
			if size != noSize && int64(each.stop()) > size {
				panic(refusal(each.label, "past the end of its stream", size, each.stop()))
			}
			out = append(out, bytes.Repeat([]byte{each.fill}, max(0, each.pos-len(out)))...)
			out = append(out, make([]byte, each.stop()-len(out))...)
		}
		copy(out[each.pos:], each.data)
		done = append(done, [2]int{each.pos, each.stop()})
	}
	last := written
	for _, each := range s.parts {
		last = max(last, each.stop())
	}
	if known != nil && slices.ContainsFunc(s.parts, func(each *placed) bool { return each.isShrunk(len(known)) }) {
		out = out[:min(last, len(out))]
	}
	return out
}

// placed is an instance with its position, and that at which it was read.
type placed struct {
	placement
	x       writable
	pos     int
	data    []byte
	unnamed []nameless
	read    *spot
	same    bool
}

func (p *placed) fixed(reason string) string {
	if p.of == "" {
		return reason
	}
	return reason + ": set " + p.of
}

// step is what its position is a multiple of where that is chosen.
func (p *placed) step() int {
	if p.align > 0 {
		return p.align
	}
	return pick(p.read == nil, 4, alignment(p.pos))
}

// weight orders instances: the largest are placed first; those with an alignment stay in the order of their table.
func (p *placed) weight() int { return pick(p.align > 0, 0, len(p.data)) }

// stays reports whether it is where it was read.
func (p *placed) stays() bool { return p.read != nil && p.read.start == p.pos }

func (p *placed) stop() int { return p.pos + len(p.data) }

func (p *placed) readStop() int {
	if p.read == nil {
		return 0
	}
	return p.read.source.at - p.read.source.base
}

// compare fills what no field names, and sees whether it is the same as what was read.
func (p *placed) compare(known, out []byte) {
	p.same = false
	if known != nil && p.read != nil && p.readStop() <= len(known) && p.read.start <= p.readStop() {
		was := known[p.read.start:p.readStop()]
		if len(was) == len(p.data) {
			moved := make([]nameless, len(p.unnamed))
			for i, each := range p.unnamed {
				moved[i] = nameless{each.start - p.pos, each.stop - p.pos, each.others}
			}
			fillUp(p.data, 0, moved, was)
			p.same = bytes.Equal(p.data, was)
			return
		}
	}
	fillUp(p.data, p.pos, p.unnamed, out)
}

// differs reports whether other bytes are written in its place already.
func (p *placed) differs(out []byte, ranges [][2]int) bool {
	for _, each := range ranges {
		low, high := max(each[0], p.pos), min(each[1], p.stop())
		if low < high && !bytes.Equal(out[low:high], p.data[low-p.pos:high-p.pos]) {
			return true
		}
	}
	return false
}

// isShrunk reports whether it reached to the end of its stream, and does not any more.
func (p *placed) isShrunk(size int) bool {
	return p.read != nil && p.read.start == p.pos && p.stop() < p.readStop() && p.readStop() == size
}

// isGrown reports whether it is longer than what was read at its position, with something behind it.
func (p *placed) isGrown(size int) bool {
	return p.read != nil && p.read.start == p.pos && p.readStop() < p.stop() && p.readStop() < size
}

func (p *placed) members() []member {
	var found []member
	if p.solve != nil {
		for _, each := range slices.Concat(waysOf(p.solve(int64(p.pos)))...) {
			found = append(found, member{each.of, each.name})
		}
	}
	return found
}

// isMoved reports whether its position was changed in this pass.
func (p *placed) isMoved(s *settling) bool {
	return slices.ContainsFunc(p.members(), func(m member) bool {
		return slices.ContainsFunc(s.changes, func(each changed) bool { return each.member == m })
	})
}

// isBlank reports whether nobody said where it is.
func (p *placed) isBlank(s *settling) bool {
	return len(s.blank) > 0 && slices.ContainsFunc(p.members(), func(m member) bool { return s.blank[m] })
}

// -- an object and what it was read from

// appended is an object after other bytes: a zero in a field that is computed was not given, or else it was.
func appended(b []byte, x writable, keepsTail bool) ([]byte, error) {
	first := newSettling(false)
	data, err := first.settled(x, keepsTail)
	if err != nil && first.filled {
		if again, other := newSettling(true).settled(x, keepsTail); other == nil {
			data, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return append(b, data...), nil
}

func (s *settling) settled(x writable, keepsTail bool) (data []byte, err error) {
	defer s.restore()
	defer func() {
		switch found := recover().(type) {
		case nil:
		case runtime.Error: // of an expression
			data, err = nil, refusal("", "a value is missing, or of another type: "+found.Error(), nil, nil)
		default:
			panic(found)
		}
	}()
	if x.base().io != nil {
		s.stored = x.base().io.stored
	}
	data, err = s.run(func() []byte {
		limit := -1
		if size, known := s.sizes[x]; known {
			limit = size
		} else if own := ownBytes(x, keepsTail); own != nil {
			limit = len(own)
		}
		to := newSink(s, limit, nil, 0)
		putObject[writable](to, "", -1, x, x.base().parent, nil, nil, nil)
		// instances in other streams, which are there now
		for _, each := range s.later {
			each()
		}
		found := to.finish(x, noSize, false, keepsTail)
		to.closed(len(found))
		return found
	})
	var e *Error
	if errors.As(err, &e) && e.Code != NotEncodable {
		return nil, refusal(e.Path, "cannot be computed: "+e.Error(), nil, nil)
	}
	return data, err
}

// ownBytes are those of the stream that an object was read from, where it stands at its start.
func ownBytes(value any, keepsTail bool) []byte {
	x, ok := value.(writable)
	if !ok || missing(value) {
		return nil
	}
	o := x.base()
	if o.io == nil || o.start != o.io.base {
		return nil
	}
	return o.io.buf[o.io.base:pick(keepsTail, o.io.end, max(o.stop, o.io.base))]
}

// touch reads every instance in an object, so that it is written; it returns all that were read.
func touch(x writable) []*spot {
	var found []*spot
	seen := map[any]bool{}
	todo := []reflect.Value{reflect.ValueOf(x)}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch at.Kind() {
		case reflect.Interface:
			todo = append(todo, at.Elem())
		case reflect.Slice:
			if at.Type().Elem().Kind() != reflect.Uint8 {
				for i := range at.Len() {
					todo = append(todo, at.Index(i))
				}
			}
		case reflect.Pointer:
			node, ok := at.Interface().(writable)
			if at.IsNil() || !ok || seen[node] {
				continue
			}
			seen[node] = true
			for _, each := range node.placements() {
				if each.kept.held() == nil {
					_, _ = attempted(func() bool { at.MethodByName(each.name).Call(nil); return true })
				}
				if held := each.kept.held(); held != nil {
					todo = append(todo, reflect.ValueOf(held))
					if each.kept.place() != nil {
						found = append(found, each.kept.place())
					}
				}
			}
			for i := range at.Elem().NumField() {
				if field := at.Elem().Field(i); at.Elem().Type().Field(i).IsExported() {
					todo = append(todo, field)
				}
			}
		}
	}
	return found
}

// rangesOf is where instances stand in the bytes that an object was read from, whatever became of it since.
func rangesOf(x writable, known []byte) [][2]int {
	if x.base().parent != nil {
		return nil
	}
	io := newStream(known, x.base().io.opt)
	again, err := attempted(func() node { return x.again(io) })
	if err != nil || missing(again) {
		return nil
	}
	var found [][2]int
	for _, each := range touch(again.(writable)) {
		if originOf(each.source) == originOf(io) {
			found = append(found, [2]int{each.start, each.source.at})
		}
	}
	return found
}

// isCovered reports whether ranges cover all bytes from start on but those that fill the room between.
func isCovered(start int, known []byte, ranges [][2]int, fills string) bool {
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(each [2]int) bool { return each[1] <= start })
	slices.SortFunc(ranges, func(one, other [2]int) int { return one[0] - other[0] })
	fillsUp := func(data []byte) bool {
		return !slices.ContainsFunc(data, func(each byte) bool { return strings.IndexByte(fills, each) < 0 })
	}
	for _, each := range ranges {
		if each[0] > start && !fillsUp(known[start:min(each[0], len(known))]) {
			return false
		}
		start = max(start, each[1])
	}
	return len(ranges) > 0 && fillsUp(known[min(start, len(known)):])
}

// fillUp has what no field names be what it is there, in the bytes that data is for from base on.
func fillUp(data []byte, base int, unnamed []nameless, there []byte) {
	for _, each := range unnamed {
		if each.stop > len(there) {
			continue
		}
		if each.others == 0xFF {
			copy(data[each.start-base:], there[each.start:each.stop])
		} else {
			data[each.start-base] |= there[each.start] & each.others
		}
	}
}

// alignment is the largest power of two, up to 16, that a position is a multiple of.
func alignment(pos int) int {
	if pos == 0 {
		return 16
	}
	return min(pos&-pos, 16)
}

func markIn(data, mark []byte) int {
	for at := 0; len(mark) > 0 && at+len(mark) <= len(data); at += len(mark) {
		if bytes.Equal(data[at:at+len(mark)], mark) {
			return at
		}
	}
	return -1
}

// missing reports whether a value is nothing.
func missing(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// isBlank reports whether a value stands for none: nothing, or in a new object what a field is at first.
func isBlank(v reflect.Value, isNew bool) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Interface:
		return v.IsNil()
	}
	return isNew && v.IsZero()
}

// isSame reports whether two values are equal; numbers may be of two types, and one of them may be a pointer.
func isSame(one, other any) bool {
	if missing(one) || missing(other) {
		return missing(one) && missing(other)
	}
	a, b := reflect.Indirect(reflect.ValueOf(one)), reflect.Indirect(reflect.ValueOf(other))
	switch {
	case a.CanInt() && b.CanInt():
		return a.Int() == b.Int()
	case a.CanUint() && b.CanUint():
		return a.Uint() == b.Uint()
	case a.CanInt() && b.CanUint():
		return a.Int() >= 0 && uint64(a.Int()) == b.Uint()
	case a.CanUint() && b.CanInt():
		return b.Int() >= 0 && uint64(b.Int()) == a.Uint()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// digits is a number as text of as many digits as there were.
func digits(_ node, value int64, base int, like string) string {
	found := fmt.Sprint(max(0, value))
	if base != 10 {
		found = formatted(uint64(max(0, value)), base)
	}
	return strings.Repeat("0", max(0, utf8.RuneCountInString(like)-len(found))) + found
}

func formatted(value uint64, base int) string {
	const signs = "0123456789abcdefghijklmnopqrstuvwxyz"
	found := ""
	for ; value > 0 || found == ""; value /= uint64(base) {
		found = signs[value%uint64(base):value%uint64(base)+1] + found
	}
	return found
}

// encode is the bytes of a text; false if the encoding does not have it.
func encode(text, encoding, upper string) ([]byte, bool) {
	switch encoding {
	case "UTF-8":
		return []byte(text), true
	case "ASCII":
		// a text of Go has bytes that are no characters as they are
		for at, sign := range text {
			if _, size := utf8.DecodeRuneInString(text[at:]); sign >= 0x80 && (sign != utf8.RuneError || size > 1) {
				return nil, false
			}
		}
		return []byte(text), true
	}
	if !utf8.ValidString(text) {
		return nil, false
	}
	signs, little := []rune(text), !strings.HasSuffix(encoding, "BE")
	var found []byte
	switch {
	case strings.HasPrefix(encoding, "UTF-16"):
		for _, unit := range utf16.Encode(signs) {
			found = appendBits(found, uint64(unit), 2, little)
		}
	case strings.HasPrefix(encoding, "UTF-32"):
		for _, sign := range signs {
			found = appendBits(found, uint64(sign), 4, little)
		}
	default:
		table := []rune(upper)
		for _, sign := range signs {
			at := slices.Index(table, sign)
			if sign < 0x80 || (upper == "" && sign < 0x100) {
				at = int(sign) - 0x80
			} else if at < 0 || sign == utf8.RuneError {
				return nil, false
			}
			found = append(found, byte(0x80+at))
		}
	}
	if found == nil {
		found = []byte{}
	}
	return found, true
}
