//lint:file-ignore U1000 not every schema needs everything

package kodec

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is what all streams of one input have in common.
type reading struct {
	opt    Options
	depth  int
	path   []string  // the fields that lead to the object that is read
	empty  int       // elements without bytes
	room   int       // how many there may be
	made   int       // bytes that were decompressed
	sought []*Stream // what was read before an instance at a position
}

// Stream is the bytes that objects are read from: buf[base:end]. Several may read one stream, each at its own
// position; turn knows which does at the moment.
type Stream struct {
	*reading
	buf       []byte
	base, end int
	at        int
	bits      uint64 // those that are left of a byte
	left      int    // how many; forgotten if an instance was read since
	turn      **Stream
}

const (
	forgotten = -1
	spare     = 4096
)

func newStream(data []byte, opt Options) *Stream {
	if data == nil {
		data = []byte{}
	}
	return streamOf(&reading{opt: opt, room: len(data) + spare}, data, 0, len(data))
}

func streamOf(r *reading, buf []byte, base, end int) *Stream {
	s := &Stream{reading: r, buf: buf, base: base, end: end, at: base}
	s.turn = new(*Stream)
	*s.turn = s
	return s
}

// Bytes returns all bytes of the stream; they are not a copy.
func (s *Stream) Bytes() []byte { return s.buf[s.base:s.end:s.end] }

// fail ends reading; the function that an application calls returns the error.
func (r *reading) fail(code, name, reason string, at int, need, have any) {
	path := strings.Join(append(slices.Clone(r.path), name), ".")
	panic(&Error{Code: code, Path: strings.TrimSuffix(path, "."), Reason: reason, At: at, Need: need, Have: have})
}

// catch turns a failure into an error; anything else that is wrong goes on.
func catch(err *error) {
	switch found := recover().(type) {
	case nil:
	case *Error:
		*err = found
	default:
		panic(found)
	}
}

func (s *Stream) current() *Stream { return *s.turn }
func (s *Stream) pos() int64       { return int64(s.current().at - s.base) }
func (s *Stream) size() int64      { return int64(s.end - s.base) }
func (s *Stream) eof() bool        { return s.current().atEnd() }
func (s *Stream) atEnd() bool      { return s.at >= s.end && s.left <= 0 }
func (s *Stream) ago(n int64) int64 {
	return int64(s.at) - n
}

// take skips the next bytes and returns them; they are a part of the input, not a copy.
func (s *Stream) take(name string, size int64) []byte {
	if left := int64(s.end - s.at); size < 0 || (size > 0 && size > left) {
		if size < 0 {
			s.fail(Malformed, name, "negative size", s.at, "at least 0", size)
		}
		s.fail(Truncated, name, "", s.at, size, max(0, left))
	}
	if size == 0 {
		return []byte{}
	}
	start := s.at
	s.at += int(size)
	return s.buf[start:s.at:s.at]
}

func (s *Stream) rest() []byte {
	if s.at >= s.end {
		return []byte{}
	}
	return s.take("", int64(s.end-s.at))
}

// run skips the next bytes of neighbors of fixed width; an error names the first that is not whole.
func (s *Stream) run(size int64, fields ...field) []byte {
	if size > int64(s.end-s.at) {
		for _, each := range fields {
			s.take(each.name, int64(each.size))
		}
	}
	return s.take("", size)
}

func (s *Stream) contents(name string, need []byte) []byte {
	have := s.take(name, int64(len(need)))
	if !bytes.Equal(have, need) {
		s.fail(Malformed, name, "wrong fixed bytes", s.at-len(have), need, have)
	}
	return have
}

// until returns the bytes up to a terminator, which stands at a whole number of its own size.
func (s *Stream) until(name string, end []byte, include, consume, needed bool) []byte {
	unit := len(end)
	for stop := s.at; stop <= s.end-unit; stop += unit {
		if bytes.Equal(s.buf[stop:stop+unit], end) {
			start, last := s.at, stop+pick(include, unit, 0)
			s.at = stop + pick(consume, unit, 0)
			return s.buf[start:last:last]
		}
	}
	if needed {
		s.fail(Truncated, name, "no terminator", s.at, unit, 0)
	}
	return s.rest()
}

// trimmed returns the bytes without what fills them up.
func trimmed(_ node, data []byte, pad int64, end []byte, include bool) []byte {
	if pad >= 0 {
		for len(data) > 0 && int64(data[len(data)-1]) == pad {
			data = data[:len(data)-1]
		}
	}
	for at := 0; len(end) > 0 && at+len(end) <= len(data); at += len(end) {
		if bytes.Equal(data[at:at+len(end)], end) {
			return data[:at+pick(include, len(end), 0)]
		}
	}
	return data
}

// align drops the bits that are left of a byte.
func (s *Stream) align() { s.bits, s.left = 0, 0 }

// readBits returns the next bits of a width; little takes the lowest bits of a byte first.
func (s *Stream) readBits(name string, width int64, little bool) uint64 {
	have := max(s.left, 0)
	var data []byte
	if size := (int(width) - s.left + 7) / 8; size > 0 {
		if s.left == forgotten {
			s.fail(Unsupported, name, "bits of the byte before were left when an instance was read", s.at, nil, nil)
		}
		data = s.take(name, int64(size))
	}
	need := int(width)
	if len(data) == 0 {
		s.left = have - need
		if little {
			found := s.bits & (1<<need - 1)
			s.bits >>= need
			return found
		}
		found := s.bits >> s.left
		s.bits &= 1<<s.left - 1
		return found
	}
	found, done := s.bits, have
	for _, each := range data {
		more := min(need-done, 8)
		if little {
			found |= uint64(each) & (1<<more - 1) << done
			s.bits = uint64(each) >> more
		} else {
			found = found<<more | uint64(each)>>(8-more)
			s.bits = uint64(each) & (1<<(8-more) - 1)
		}
		s.left = 8 - more
		done += more
	}
	return found
}

// part is the stream of the next bytes.
func (s *Stream) part(name string, size int64) *Stream {
	start := s.at
	data := s.take(name, size)
	return streamOf(s.reading, s.buf, start, start+len(data))
}

func (s *Stream) remaining() *Stream {
	start := s.at
	data := s.rest()
	return streamOf(s.reading, s.buf, start, start+len(data))
}

// inside is a stream of bytes that are not those of the input.
func (s *Stream) inside(data []byte) *Stream {
	s.room += len(data)
	return streamOf(s.reading, data, 0, len(data))
}

func (s *Stream) refuse(name string, at int64, need, have any) {
	s.fail(Malformed, name, "value not allowed", int(at), need, have)
}

// -- lists

// walk goes from element to element of a list.
type walk struct {
	s       *Stream
	name    string
	index   int64
	count   int64 // or one of those below
	watched bool  // whether elements without bytes are counted
	at      int   // where the element starts
	left    int
	started bool
}

const (
	toEnd    = -1
	repeated = -2
)

func (s *Stream) counted(name string, count int64, least int, watched bool) *walk {
	left := int64(max(0, s.end-s.at))
	if least == 0 {
		left = 8 * int64(s.room)
	}
	switch {
	case count < 0:
		s.fail(Malformed, name, "negative count", s.at, "at least 0", count)
	case least > 0 && count > left/int64(least):
		s.fail(Truncated, name, "", s.at, fmt.Sprintf("%d times %d", count, least), left)
	case count > left:
		s.fail(LimitExceeded, name, "more elements than bytes", s.at, count, left)
	case count > int64(s.opt.elements()):
		s.tooMany(name)
	}
	return &walk{s: s, name: name, count: count, watched: watched}
}

func (s *Stream) toEnd(name string) *walk { return &walk{s: s, name: name, count: toEnd} }

func (s *Stream) repeated(name string) *walk {
	return &walk{s: s, name: name, count: repeated, watched: true}
}

func (s *Stream) tooMany(name string) {
	most := s.opt.elements()
	s.fail(LimitExceeded, name, "too many elements", s.at, most+1, most)
}

// more reports whether there is another element.
func (w *walk) more() bool {
	s := w.s
	if w.count >= 0 {
		w.at, w.left = s.at, s.left
		return w.index < w.count
	}
	if w.count == toEnd {
		if s.atEnd() {
			return false
		}
		if w.started && w.at == s.at && w.left == s.left {
			s.fail(Malformed, w.name, "an element without bytes would repeat forever", s.at, nil, nil)
		}
	}
	if w.index >= int64(s.opt.elements()) {
		s.tooMany(w.name)
	}
	w.at, w.left, w.started = s.at, s.left, true
	return true
}

// done ends an element.
func (w *walk) done() {
	s := w.s
	if w.watched && w.at == s.at && w.left == s.left {
		if s.empty++; s.empty > s.room {
			reason := "more elements without bytes than there are bytes"
			s.fail(LimitExceeded, w.name, reason, w.at, s.empty, s.room)
		}
	}
	w.index++
}

// -- objects

// object is what all objects have that are read from streams.
type object struct {
	io     *Stream
	parent any
	root   any
	start  int
	depth  int
	order  int8   // of bytes: 1 is little-endian, 2 big-endian, 0 not known
	seen   uint64 // the fields that were read, of those that are asked for before
}

// node is any object.
type node interface{ base() *object }

func (o *object) base() *object { return o }

// Parent returns the object that this one is a part of; nil for the outermost.
func (o *object) Parent() any { return o.parent }

// Root returns the outermost object.
func (o *object) Root() any { return o.root }

// Source returns the stream that the object was read from.
func (o *object) Source() *Stream { return o.io }

// begin starts to read an object, which is called name in the one that holds it; index is -1 outside of lists.
func (o *object) begin(own any, io *Stream, name string, index int64, parent, root any) {
	if index >= 0 {
		name = nth(name, int(index))
	}
	if io.depth >= io.opt.depth() {
		io.fail(LimitExceeded, name, "nested too deep", io.at, io.depth+1, io.opt.depth())
	}
	io.depth++
	o.io, o.parent, o.root, o.start, o.depth = io, parent, root, io.at, io.depth
	if parent != nil {
		o.order = objectOf(parent).order
	}
	if root == nil {
		if o.root = own; parent != nil {
			o.root = objectOf(parent).root
		}
	}
	if name != "" {
		io.path = append(io.path, name)
	}
}

func (o *object) finish(name string) {
	o.io.depth--
	if name != "" {
		o.io.path = o.io.path[:len(o.io.path)-1]
	}
}

// isLittle is the byte order, which bytes said.
func (o *object) isLittle() bool {
	if o.order == 0 {
		o.io.fail(Malformed, "", "no byte order is known for this value", o.start, nil, nil)
	}
	return o.order == 1
}

func (o *object) byteOrder() binary.ByteOrder {
	if o.isLittle() {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// kept is the value of an instance from its first use on.
type kept[T any] struct {
	value   T
	known   bool
	reading bool
}

// visit is an instance that is read.
type visit struct {
	io                  *Stream
	depth, path, sought int
	reading             *bool
}

// enter starts to read an instance, and leave ends it; it may be long after the object was read.
func (o *object) enter(reading *bool, name string) visit {
	if o.io == nil {
		panic(&Error{Code: Malformed, Path: name, Reason: "the object was not read from bytes"})
	}
	r := o.io
	if *reading {
		r.fail(Malformed, name, "the instance needs itself", o.start, nil, nil)
	}
	deep := max(r.depth, o.depth)
	if deep >= r.opt.depth() {
		r.fail(LimitExceeded, name, "nested too deep", o.start, deep+1, r.opt.depth())
	}
	found := visit{r, r.depth, len(r.path), len(r.sought), reading}
	*reading = true
	r.depth = deep + 1
	return found
}

func (v visit) leave() {
	r := v.io.reading
	r.depth, r.path = v.depth, r.path[:v.path]
	for len(r.sought) > v.sought {
		before := r.sought[len(r.sought)-1]
		r.sought = r.sought[:len(r.sought)-1]
		*before.turn = before
	}
	*v.reading = false
}

// seek is the stream at a position; what was read of it before goes on from where it stood.
func (s *Stream) seek(name string, pos int64) *Stream {
	before := s.current()
	if before.left != 0 {
		before.bits, before.left = 0, forgotten
	}
	if pos < 0 {
		s.fail(Malformed, name, "negative position", s.base, "at least 0", pos)
	}
	s.sought = append(s.sought, before)
	at := int64(s.base) + min(pos, math.MaxInt64-int64(s.base))
	found := &Stream{reading: s.reading, buf: s.buf, base: s.base, end: s.end, at: int(at), turn: s.turn}
	*s.turn = found
	return found
}

func objectOf(v any) *object { return v.(node).base() }

// as is a value as one of a type; zero if it is of another.
func as[T any](v any) T {
	found, _ := v.(T)
	return found
}

// boxed is an object as any; nil stays nil.
func boxed[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// held is what a pointer points to as any; nil stays nil.
func held[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// -- values that expressions need

// wrong ends reading at the position of the object's stream.
func wrong(x node, name, reason string) {
	io := x.base().io
	if io == nil {
		panic(&Error{Code: Malformed, Path: name, Reason: reason})
	}
	io.fail(Malformed, name, reason, io.at, nil, nil)
}

func required[T any](x node, p *T, name, reason string) T {
	if p == nil {
		wrong(x, name, reason)
	}
	return *p
}

func present[T any](x node, p *T, name, reason string) *T {
	if p == nil {
		wrong(x, name, reason)
	}
	return p
}

func items[T any](x node, v []T, name, reason string) []T {
	if v == nil {
		wrong(x, name, reason)
	}
	return v
}

func anything(x node, v any, name, reason string) any {
	if v == nil {
		wrong(x, name, reason)
	}
	return v
}

// asked is a field that must have been read.
func asked[T any](x node, seen uint64, bit int, v T, name, reason string) T {
	if seen>>bit&1 == 0 {
		wrong(x, name, reason)
	}
	return v
}

func choose[T any](test bool, yes, no func() T) T {
	if test {
		return yes()
	}
	return no()
}

// beyond ends reading: a number needs more than 64 bits.
func beyond(x node) {
	reason := "an expression exceeds 64 bits"
	if io := x.base().io; io != nil {
		io.fail(LimitExceeded, "", reason, io.at, nil, nil)
	}
	panic(&Error{Code: LimitExceeded, Reason: reason})
}

func signed(x node, v uint64) int64 {
	if v > math.MaxInt64 {
		beyond(x)
	}
	return int64(v)
}

// atMost is a size, a count or a position; what is larger is more than there are bytes too.
func atMost(_ node, v uint64) int64 { return int64(min(v, math.MaxInt64)) }

func unsigned(x node, v int64) uint64 {
	if v < 0 {
		beyond(x)
	}
	return uint64(v)
}

func plus(x node, a, b int64) int64 {
	if found := a + b; (found > a) == (b > 0) {
		return found
	}
	beyond(x)
	return 0
}

func minus(x node, a, b int64) int64 {
	if found := a - b; (found < a) == (b > 0) {
		return found
	}
	beyond(x)
	return 0
}

func times(x node, a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	found := a * b
	if found/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		beyond(x)
	}
	return found
}

func divided(x node, a, b int64) int64 {
	if b == 0 {
		wrong(x, "", "an expression divides by 0")
	}
	if b == -1 {
		return negated(x, a)
	}
	return floorDiv(a, b)
}

func modulo(x node, a, b int64) int64 {
	if b == 0 {
		wrong(x, "", "an expression divides by 0")
	}
	if b == -1 {
		return 0
	}
	return floorMod(a, b)
}

func negated(x node, a int64) int64      { return minus(x, 0, a) }
func inverted(_ node, a int64) int64     { return ^a }
func both(_ node, a, b int64) int64      { return a & b }
func either(_ node, a, b int64) int64    { return a | b }
func differing(_ node, a, b int64) int64 { return a ^ b }

func bothUnsigned(_ node, a, b uint64) uint64 { return a & b }

func shiftedRightUnsigned(x node, a uint64, by int64) uint64 {
	if by < 0 {
		return uint64(shiftedLeft(x, signed(x, a), -by))
	}
	tooFar(x, by)
	return a >> by
}

func tooFar(x node, by int64) {
	if by < -128 || by > 128 {
		wrong(x, "", "an expression shifts by too many bits")
	}
}

func shiftedLeft(x node, a, by int64) int64 {
	tooFar(x, by)
	if by < 0 {
		return a >> -by
	}
	found := a << by
	if found>>by != a || by > 63 && a != 0 {
		beyond(x)
	}
	return found
}

func shiftedRight(x node, a, by int64) int64 {
	if by < 0 {
		tooFar(x, by)
		return shiftedLeft(x, a, -by)
	}
	tooFar(x, by)
	return a >> by
}

func plusReal(_ node, a, b float64) float64  { return a + b }
func minusReal(_ node, a, b float64) float64 { return a - b }
func timesReal(_ node, a, b float64) float64 { return a * b }
func negatedReal(_ node, a float64) float64  { return -a }

func dividedReal(x node, a, b float64) float64 {
	if b == 0 {
		wrong(x, "", "an expression divides by 0")
	}
	return a / b
}

func moduloReal(x node, a, b float64) float64 {
	if b == 0 {
		wrong(x, "", "an expression divides by 0")
	}
	found := math.Mod(a, b)
	if found != 0 && (found < 0) != (b < 0) {
		found += b
	}
	return found
}

func truncated(x node, v float64) int64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		wrong(x, "", "an expression needs a number")
	}
	if v = math.Trunc(v); v < -(1<<63) || v >= 1<<63 {
		beyond(x)
	}
	return int64(v)
}

// numberOf is the number that digits to a base stand for.
func numberOf(x node, text string, base int64) int64 {
	digits := strings.TrimSpace(text)
	sign, bare := "", strings.TrimLeft(digits, "+-")
	if len(digits)-len(bare) == 1 {
		sign = digits[:1]
	} else if len(digits) != len(bare) {
		bare = ""
	}
	for prefix, to := range map[string]int64{"0x": 16, "0o": 8, "0b": 2} {
		if to == base && strings.HasPrefix(strings.ToLower(bare), prefix) {
			bare = strings.TrimPrefix(bare[2:], "_")
		}
	}
	if strings.HasPrefix(bare, "_") || strings.HasSuffix(bare, "_") || strings.Contains(bare, "__") {
		bare = ""
	}
	if base < 2 || base > 36 || strings.ContainsAny(bare, "+-") {
		bare = ""
	}
	found, err := strconv.ParseInt(sign+strings.ReplaceAll(bare, "_", ""), max(2, min(int(base), 36)), 64)
	if errors.Is(err, strconv.ErrRange) {
		beyond(x)
	}
	if err != nil {
		wrong(x, "", "an expression needs a number")
	}
	return found
}

func decimal(_ node, v int64) string          { return strconv.FormatInt(v, 10) }
func decimalUnsigned(_ node, v uint64) string { return strconv.FormatUint(v, 10) }
func join(a, b string) string                 { return a + b }
func sizeOfText(_ node, v string) int64       { return int64(utf8.RuneCountInString(v)) }

func reversed(_ node, v string) string {
	found := make([]byte, 0, len(v))
	for len(v) > 0 {
		_, size := utf8.DecodeLastRuneInString(v)
		found = append(found, v[len(v)-size:]...)
		v = v[:len(v)-size]
	}
	return string(found)
}

// substring is the characters from one to before another; negative numbers count from the end.
func substring(x node, v string, start, stop int64) string {
	size := sizeOfText(x, v)
	place := func(at int64) int64 {
		if at < 0 {
			at += size
		}
		return max(0, min(at, size))
	}
	start, stop = place(start), place(stop)
	if start >= stop {
		return ""
	}
	var from, index int64
	for at := range v {
		if index == start {
			from = int64(at)
		}
		if index == stop {
			return v[from:at]
		}
		index++
	}
	return v[from:]
}

func bytesOf(x node, items ...int64) []byte {
	found := make([]byte, 0, len(items))
	for _, each := range items {
		if each < 0 || each > 255 {
			wrong(x, "", "an expression needs bytes")
		}
		found = append(found, byte(each))
	}
	return found
}

func bytesIn[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](x node, items []T) []byte {
	found := make([]byte, 0, len(items))
	for _, each := range items {
		if each < 0 || uint64(each) > 255 {
			wrong(x, "", "an expression needs bytes")
		}
		found = append(found, byte(each))
	}
	return found
}

func elementOf[T any](x node, items []T, index int64) T {
	if index < 0 || index >= int64(len(items)) {
		wrong(x, "", "an expression needs an element")
	}
	return items[index]
}

func byteAt(x node, data []byte, index int64) int64 { return int64(elementOf(x, data, index)) }

func some[T any](x node, items []T) []T {
	if len(items) == 0 {
		wrong(x, "", "an expression needs an element of an empty list")
	}
	return items
}

func lastOf[T any](x node, items []T) T        { return some(x, items)[len(items)-1] }
func minOf[T cmp.Ordered](x node, items []T) T { return slices.Min(some(x, items)) }
func maxOf[T cmp.Ordered](x node, items []T) T { return slices.Max(some(x, items)) }
func lastByte(x node, data []byte) int64       { return int64(lastOf(x, data)) }
func minByte(x node, data []byte) int64        { return int64(minOf(x, data)) }
func maxByte(x node, data []byte) int64        { return int64(maxOf(x, data)) }

// -- text

// decode returns the text in bytes, and what is wrong with them. Text of UTF-8 and ASCII keeps bytes that are none.
func decode(data []byte, encoding string, upper string) (string, string) {
	switch encoding {
	case "UTF-8", "ASCII":
		return string(data), ""
	case "UTF-16LE", "UTF-16BE":
		return decodeUTF16(data, encoding == "UTF-16LE")
	case "UTF-16": // in the order of its mark, and little-endian without one
		big := bytes.HasPrefix(data, []byte{0xFE, 0xFF})
		if big || bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
			data = data[2:]
		}
		return decodeUTF16(data, !big)
	case "UTF-32LE", "UTF-32BE":
		return decodeUTF32(data, encoding == "UTF-32LE")
	case "ISO-8859-1":
		found := make([]rune, len(data))
		for i, each := range data {
			found[i] = rune(each)
		}
		return string(found), ""
	}
	table := []rune(upper)
	found := make([]rune, len(data))
	for i, each := range data {
		if found[i] = rune(each); each >= 0x80 {
			if found[i] = table[each-0x80]; found[i] == utf8.RuneError {
				return "", "a byte is no character"
			}
		}
	}
	return string(found), ""
}

func decodeUTF16(data []byte, little bool) (string, string) {
	if len(data)%2 != 0 {
		return "", "truncated data"
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i])<<8 | uint16(data[2*i+1])
		if little {
			units[i] = uint16(data[2*i+1])<<8 | uint16(data[2*i])
		}
	}
	for i := 0; i < len(units); i++ {
		if r := rune(units[i]); utf16.IsSurrogate(r) {
			if i+1 == len(units) || utf16.DecodeRune(r, rune(units[i+1])) == utf8.RuneError {
				return "", "illegal encoding"
			}
			i++
		}
	}
	return string(utf16.Decode(units)), ""
}

func decodeUTF32(data []byte, little bool) (string, string) {
	if len(data)%4 != 0 {
		return "", "truncated data"
	}
	found := make([]rune, len(data)/4)
	for i := range found {
		code := bitsOf(data[4*i:4*i+4], little)
		if code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
			return "", "code point not in range"
		}
		found[i] = rune(code)
	}
	return string(found), ""
}

func (s *Stream) text(name string, data []byte, encoding, upper string) string {
	found, wrong := decode(data, encoding, upper)
	if wrong != "" {
		s.fail(Malformed, name, "not "+encoding+": "+wrong, s.at, nil, nil)
	}
	return found
}

func decoded(x node, data []byte, encoding, upper string) string {
	found, bad := decode(data, encoding, upper)
	if bad != "" {
		wrong(x, "", "an expression needs text")
	}
	return found
}

// -- processes

func (s *Stream) processed(data []byte, name, way string) int {
	if len(data) > s.opt.decompressed() {
		s.fail(LimitExceeded, name, way, s.at-len(data), s.opt.decompressed()+1, s.opt.decompressed())
	}
	return s.at - len(data)
}

func (s *Stream) xor(name string, data []byte, key int64) []byte {
	at := s.processed(data, name, "xor")
	if key < 0 || key > 255 {
		s.fail(Malformed, name, fmt.Sprintf("xor: the key %d is no byte", key), at, nil, nil)
	}
	return s.xorAll(name, data, []byte{byte(key)})
}

func (s *Stream) xorAll(name string, data, key []byte) []byte {
	at := s.processed(data, name, "xor")
	if len(key) == 0 {
		s.fail(Malformed, name, "xor: the key is empty", at, nil, nil)
	}
	found := make([]byte, len(data))
	for i, each := range data {
		found[i] = each ^ key[i%len(key)]
	}
	return found
}

func (s *Stream) rol(name string, data []byte, by int64) []byte {
	s.processed(data, name, "rol")
	by = floorMod(by, 8)
	found := make([]byte, len(data))
	for i, each := range data {
		found[i] = each<<by | each>>(8-by)
	}
	return found
}

func (s *Stream) ror(name string, data []byte, by int64) []byte {
	return s.rol(name, data, 8-floorMod(by, 8))
}

func (s *Stream) zlib(name string, data []byte) []byte {
	at, limit := s.at-len(data), s.opt.decompressed()-s.made
	var found bytes.Buffer
	opened, err := zlib.NewReader(bytes.NewReader(data))
	if err == nil {
		_, err = io.Copy(&found, io.LimitReader(opened, int64(limit)+1))
	}
	switch {
	case found.Len() > limit:
		s.fail(LimitExceeded, name, "zlib", at, limit+1, limit)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		s.fail(Malformed, name, "zlib: the data have no end", at, nil, nil)
	case err != nil:
		s.fail(Malformed, name, err.Error(), at, nil, nil)
	}
	s.made += found.Len()
	return found.Bytes()
}
