//lint:file-ignore U1000 not every schema needs everything

package kodec

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kinds of errors of bytes, or of values to write, with the same names in every language.
const (
	Truncated     = "truncated"
	Malformed     = "malformed"
	BadChecksum   = "bad_checksum"
	Unsupported   = "unsupported"
	LimitExceeded = "limit_exceeded"
	NotEncodable  = "not_encodable"
)

// Error describes an error: its kind, the field (records[3].value), the byte, what was needed and what was found.
type Error struct {
	Code   string
	Path   string
	Reason string
	At     int // bytes from the start of the input; if Inside is set, the start of the compressed bytes
	Need   any
	Have   any
	Inside string // the codec in whose decompressed bytes the field is
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(strings.ReplaceAll(e.Code, "_", " "))
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	if e.Need != nil {
		fmt.Fprintf(&b, ": need %v", e.Need)
	}
	if e.Have != nil {
		fmt.Fprintf(&b, ", have %v", e.Have)
	}
	if e.Code != NotEncodable {
		fmt.Fprintf(&b, ", at byte %d", e.At)
	}
	return b.String()
}

// within puts the name of a field in front of an error's path.
//
//go:noinline
func within(err error, name string) error {
	e, ok := err.(*Error)
	if !ok || name == "" {
		return err
	}
	if e.Path == "" || e.Path[0] == '[' {
		e.Path = name + e.Path
	} else {
		e.Path = name + "." + e.Path
	}
	return e
}

// UUID is 16 bytes, the most significant first.
type UUID [16]byte

// RawTag is a field of a tagged section that the schema does not know.
type RawTag struct {
	Number uint32
	Data   []byte
}

// Options sets how strict a reader is, and how much it may allocate. The zero value is the default.
type Options struct {
	IgnoreChecksums bool
	IgnoreDerived   bool // do not verify fields derived from the largest or last element of a list
	MaxElements     int  // of one list; 4,000,000 by default
	MaxDecompressed int  // bytes of all compressed fields of an input together; 256 MiB by default
	MaxDepth        int  // levels of objects in objects of streamed schemas; 100 by default
}

func (o Options) elements() int {
	if o.MaxElements > 0 {
		return o.MaxElements
	}
	return 4_000_000
}

func (o Options) decompressed() int {
	if o.MaxDecompressed > 0 {
		return o.MaxDecompressed
	}
	return 256 << 20
}

func (o Options) depth() int {
	if o.MaxDepth > 0 {
		return o.MaxDepth
	}
	return 100
}

// nth is how errors call an element of a list.
func nth(name string, index int) string {
	return name + "[" + strconv.Itoa(index) + "]"
}

// reader is bytes up to end, of which pos is the next. It keeps the first error, and has no bytes from then on.
type reader struct {
	buf        []byte
	pos        int
	end        int
	opt        Options
	err        error
	compressed bool // whether these bytes were decompressed already
	unpacked   int  // how many bytes were decompressed so far, of all the input
}

//go:noinline
func (r *reader) fail(code, name, reason string, at int, need, have any) {
	if r.err == nil {
		r.err = &Error{Code: code, Path: name, Reason: reason, At: at, Need: need, Have: have}
		r.end = r.pos
	}
}

// within puts the name of a field in front of the path of an error in it.
func (r *reader) within(name string) {
	if r.err != nil {
		_ = within(r.err, name)
	}
}

// failedIn reports whether there is an error, and adds the index of a list's element to it.
func (r *reader) failedIn(name string, index int) bool {
	if r.err != nil {
		r.within(nth(name, index))
	}
	return r.err != nil
}

// take skips the next bytes and returns the slice that starts with them; zeros if some are missing.
func (r *reader) take(name string, size int) []byte {
	if r.pos += size; r.pos > r.end {
		return r.lacks(name, size)
	}
	return r.buf[r.pos-size:]
}

//go:noinline
func (r *reader) lacks(name string, size int) []byte {
	r.pos -= size
	r.fail(Truncated, name, "", r.pos, size, r.end-r.pos)
	return make([]byte, size)
}

// peek returns the next bytes without skipping them.
func (r *reader) peek(names string, size int) []byte {
	at := r.pos
	x := r.take(names, size)
	r.pos = at
	return x
}

// fixed returns the next bytes of a run, or nil if some are missing.
func (r *reader) fixed(size int) []byte {
	at := r.pos
	if r.end-at < size {
		return nil
	}
	r.pos = at + size
	return r.buf[at:r.pos:r.pos]
}

// field is the name and the size of a field in a run.
type field struct {
	name string
	size int
}

// short is the error for the first of the fields that is not whole.
func (r *reader) short(fields ...field) {
	at := r.pos
	for _, each := range fields {
		if at+each.size > r.end {
			r.fail(Truncated, each.name, "", at, each.size, max(0, r.end-at))
			return
		}
		at += each.size
	}
}

// lacksSize reports a size that is negative or larger than the bytes left.
//
//go:noinline
func (r *reader) lacksSize(name string, size int64) []byte {
	if size < 0 {
		r.fail(Malformed, name, "negative size", r.pos, "at least 0", size)
	} else {
		r.fail(Truncated, name, "", r.pos, size, r.end-r.pos)
	}
	return nil
}

// octets is the next bytes; they are a part of the input, not a copy.
func (r *reader) octets(name string, size int64) []byte {
	at := r.pos
	if uint64(size) > uint64(r.end-at) {
		return r.lacksSize(name, size)
	}
	r.pos = at + int(size)
	return r.buf[at:r.pos:r.pos]
}

func (r *reader) rest() []byte {
	at := r.pos
	r.pos = r.end
	return r.buf[at:r.end:r.end]
}

// enter limits the reader to the next bytes, and returns the previous limit.
func (r *reader) enter(name string, size int64) int {
	end := r.end
	if uint64(size) > uint64(end-r.pos) {
		r.lacksSize(name, size)
	} else {
		r.end = r.pos + int(size)
	}
	return end
}

// leave requires that the limited bytes have been read, and restores the previous limit.
func (r *reader) leave(name string, end int) {
	if r.ended(name); r.err == nil {
		r.end = end
	}
}

// ended requires that the value has used all of its bytes.
func (r *reader) ended(name string) {
	if r.pos != r.end {
		r.fail(Malformed, name, "bytes are left over after the field's content", r.pos, 0, r.end-r.pos)
	}
}

// count is a number of elements that the bytes can hold.
func (r *reader) count(name string, count int64, least int) int {
	left := int64(r.end - r.pos)
	switch {
	case count < 0:
		r.fail(Malformed, name, "negative count", r.pos, "at least 0", count)
	case count > left/int64(max(least, 1)) && least == 0:
		r.fail(LimitExceeded, name, "more elements than bytes", r.pos, count, left)
	case count > left/int64(max(least, 1)):
		r.fail(Truncated, name, "", r.pos, count*int64(least), left)
	case count > int64(r.opt.elements()):
		r.tooMany(name)
	}
	if r.err != nil {
		return 0
	}
	return int(count)
}

func (r *reader) tooMany(name string) {
	most := r.opt.elements()
	r.fail(LimitExceeded, name, "too many elements", r.pos, most+1, most)
}

// more reports whether there is another element: a list extends to the end of its bytes.
func (r *reader) more(name string, index int) bool {
	if r.pos < r.end && index >= r.opt.elements() {
		r.tooMany(name)
	}
	return r.pos < r.end
}

// stays reports whether an element had no bytes, which is an error in a list that fills its bytes.
func (r *reader) stays(name string, at int) bool {
	if r.pos == at {
		r.fail(Malformed, name, "an element without bytes would repeat forever", at, nil, nil)
	}
	return r.pos == at
}

// uvarint32 is an unsigned LEB128 number of at most 5 bytes.
func (r *reader) uvarint32(name string) uint32 {
	return uint32(r.leb128(name, 5))
}

func (r *reader) zigzag32(name string) int32 {
	value := r.uvarint32(name)
	return int32(value>>1) ^ -int32(value&1)
}

func (r *reader) zigzag64(name string) int64 {
	value := r.leb128(name, 10)
	return int64(value>>1) ^ -int64(value&1)
}

func (r *reader) leb128(name string, most int) (value uint64) {
	for n, b := range r.buf[r.pos:min(r.pos+most, r.end)] {
		value |= uint64(b&0x7f) << (7 * n)
		if b < 0x80 {
			r.pos += n + 1
			return value
		}
	}
	return r.lacksEnd(name, most)
}

//go:noinline
func (r *reader) lacksEnd(name string, most int) uint64 {
	if left := r.end - r.pos; left < most {
		r.fail(Truncated, name, "", r.pos, left+1, left)
	} else {
		r.fail(Malformed, name, fmt.Sprintf("varint does not end within %d bytes", most), r.pos, nil, nil)
	}
	return 0
}

// tags looks at the frame of a tagged section (KIP-482), and returns how many fields follow.
func (r *reader) tags(name string) int {
	count := r.count(name, int64(r.uvarint32(name)), 2)
	start := r.pos
	for range count {
		r.uvarint32(name)
		r.octets(name, int64(r.uvarint32(name)))
	}
	if r.err != nil {
		return 0
	}
	r.pos = start
	return count
}

// tag enters the next field of a tagged section, and returns its number and the previous limit.
func (r *reader) tag() (uint32, int) {
	number := r.uvarint32("")
	return number, r.enter("", int64(r.uvarint32("")))
}

// contents requires fixed bytes.
func (r *reader) contents(name string, at int, need, have []byte) {
	if !bytes.Equal(have, need) {
		r.fail(Malformed, name, "wrong fixed bytes", at, need, have)
	}
}

func (r *reader) refuse(name string, at int, need string, have any) {
	r.fail(Malformed, name, "value not allowed", at, need, have)
}

func (r *reader) noCase(name string, on any) {
	r.fail(Unsupported, name, "no case for this value", r.pos, nil, on)
}

func (r *reader) unknownVersion(name string, at int, versions string, have any) {
	r.fail(Unsupported, name, "unknown version", at, versions, have)
}

func (r *reader) unknownCodec(name string, at int, have any) {
	r.fail(Unsupported, name, "unknown codec", at, nil, have)
}

// verifies reports whether fields that follow from elements of lists are compared with these.
func (r *reader) verifies() bool { return !r.opt.IgnoreDerived }

// exactly requires that a field has the value derived from others.
func (r *reader) exactly(name string, at int, have, need int64) {
	if have != need {
		r.refuse(name, at, strconv.FormatInt(need, 10), have)
	}
}

func (r *reader) atLeast(name string, at int, have, need int64) {
	if have < need {
		r.refuse(name, at, strconv.FormatInt(need, 10), have)
	}
}

// covers requires that a field has the length of the fields it covers.
func (r *reader) covers(name string, at int, have, need int64) {
	if have != need {
		r.fail(Malformed, name, "not the length of the fields it covers", at, need, have)
	}
}

// checksum requires that a field is the checksum of the bytes from start to end.
func (r *reader) checksum(name string, at int, need uint32, of func([]byte) uint32, start, end int) {
	if r.opt.IgnoreChecksums || r.err != nil {
		return
	}
	if have := of(r.buf[start:end]); have != need {
		r.fail(BadChecksum, name, "", at, need, have)
	}
}

// last is a number of the last element of a list.
func last[T any](items []T, of func(*T) int64) int64 { return of(&items[len(items)-1]) }

// most is the largest number of the elements of a list.
func most[T any](items []T, of func(*T) int64) int64 {
	found := of(&items[0])
	for i := range items {
		found = max(found, of(&items[i]))
	}
	return found
}

// grown is a list with one element more.
func grown[T any](items []T) []T {
	var item T
	return append(items, item)
}

func notEncodable(name, reason string, have any) error {
	return &Error{Code: NotEncodable, Path: name, Reason: reason, Have: have}
}

// pick returns yes if the test is true, otherwise no.
func pick[T any](test bool, yes, no T) T {
	if test {
		return yes
	}
	return no
}

func floorDiv(a, b int64) int64 {
	found := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		found--
	}
	return found
}

func floorMod(a, b int64) int64 {
	return a - b*floorDiv(a, b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksumCrc32(data []byte) uint32 { return crc32.ChecksumIEEE(data) }

func checksumCrc32c(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

func appendUvarint32(b []byte, value uint32) []byte {
	for value >= 0x80 {
		b = append(b, byte(value)|0x80)
		value >>= 7
	}
	return append(b, byte(value))
}

func appendUvarint64(b []byte, value uint64) []byte {
	for value >= 0x80 {
		b = append(b, byte(value)|0x80)
		value >>= 7
	}
	return append(b, byte(value))
}

// bitsOf is the number in a few bytes.
func bitsOf(data []byte, little bool) uint64 {
	var found uint64
	for i, each := range data {
		if little {
			found |= uint64(each) << (8 * i)
		} else {
			found = found<<8 | uint64(each)
		}
	}
	return found
}

// bitsAt is a field of the bits of a number.
func bitsAt(bits uint64, shift, width int) uint64 {
	return bits >> shift & (math.MaxUint64 >> (64 - width))
}

// appendBits is b with the lower bytes of a number after it.
func appendBits(b []byte, value uint64, size int, little bool) []byte {
	for i := range size {
		if little {
			b = append(b, byte(value>>(8*i)))
		} else {
			b = append(b, byte(value>>(8*(size-1-i))))
		}
	}
	return b
}

func appendZigzag32(b []byte, value int32) []byte {
	return appendUvarint32(b, uint32(value)<<1^uint32(value>>31))
}

func appendZigzag64(b []byte, value int64) []byte {
	return appendUvarint64(b, uint64(value)<<1^uint64(value>>63))
}

// section is a tagged section that is written: known tags, and unknown ones between them, in ascending order.
type section struct {
	name    string
	tags    []RawTag // the unknown ones that are not written yet
	count   int
	start   int // where the first tag begins
	content int // where the last known tag begins
}

// newSection starts after b; it rejects an unknown tag that occurs twice.
func newSection(b []byte, name string, tags []RawTag) (section, error) {
	byNumber := func(a, b RawTag) int { return cmp.Compare(a.Number, b.Number) }
	if !slices.IsSortedFunc(tags, byNumber) {
		tags = slices.Clone(tags)
		slices.SortStableFunc(tags, byNumber)
	}
	for i := 1; i < len(tags); i++ {
		if tags[i-1].Number == tags[i].Number {
			return section{}, twice(name, tags[i].Number)
		}
	}
	return section{name: name, tags: tags, count: len(tags), start: len(b)}, nil
}

func twice(name string, number uint32) error {
	return notEncodable(name, "the tag occurs twice", number)
}

func appendTags(b []byte, tags []RawTag) []byte {
	for _, each := range tags {
		b = appendUvarint32(b, each.Number)
		b = appendUvarint32(b, uint32(len(each.Data)))
		b = append(b, each.Data...)
	}
	return b
}

// begin writes the unknown tags in front of a known one, and its number; the content follows.
func (s *section) begin(b []byte, number uint32) ([]byte, error) {
	n := 0
	for n < len(s.tags) && s.tags[n].Number < number {
		n++
	}
	if n < len(s.tags) && s.tags[n].Number == number {
		return nil, twice(s.name, number)
	}
	b = appendUvarint32(appendTags(b, s.tags[:n]), number)
	s.tags, s.content = s.tags[n:], len(b)
	s.count++
	return b, nil
}

// end puts the size of a known tag's content in front of it.
func (s *section) end(b []byte) []byte {
	return inFront(b, s.content, len(b)-s.content)
}

// closed writes the unknown tags that are left, and in front of all how many there are.
func (s *section) closed(b []byte) []byte {
	return inFront(appendTags(b, s.tags), s.start, s.count)
}

// inFront inserts a number before the bytes that start at a position.
func inFront(b []byte, at, number int) []byte {
	size := len(b) - at
	b = appendUvarint32(b, uint32(number))
	var head [5]byte
	n := copy(head[:], b[at+size:])
	copy(b[at+n:], b[at:at+size])
	copy(b[at:], head[:n])
	return b
}

// characters is how many characters a text has; a byte that is none counts as one.
func characters(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// is reports whether a value is of a type.
func is[T any](value any) bool {
	_, ok := value.(T)
	return ok
}

func pointer[T any](value T) *T { return &value }
