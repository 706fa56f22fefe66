//lint:file-ignore U1000 not every schema needs everything

package kodec

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// What is wrong with bytes, or with a value that is to be written: the words are the same in every language.
const (
	Truncated     = "truncated"
	Malformed     = "malformed"
	BadChecksum   = "bad_checksum"
	Unsupported   = "unsupported"
	LimitExceeded = "limit_exceeded"
	NotEncodable  = "not_encodable"
)

// Error says what is wrong, in which field (records[3].value) and at which byte, what was needed and what is there.
type Error struct {
	Code   string
	Path   string
	Reason string
	At     int // bytes from the start of the input; where Inside is set, where the compressed bytes start
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

func withinItem(err error, name string, index int) error {
	return within(err, name+"["+strconv.Itoa(index)+"]")
}

// UUID is 16 bytes, the most significant first.
type UUID [16]byte

// RawTag is a field of a tagged section that the schema does not know.
type RawTag struct {
	Number uint32
	Data   []byte
}

// Options says how strict a reader is, and how much it may allocate. The zero value is the default.
type Options struct {
	IgnoreChecksums bool
	IgnoreDerived   bool // the largest or the last of a list is not compared with what a field says
	MaxElements     int  // of one list; 4,000,000 by default
	MaxDecompressed int  // bytes of one compressed field; 256 MiB by default
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

// reader is bytes up to end, of which pos is the next.
type reader struct {
	buf        []byte
	pos        int
	end        int
	opt        Options
	compressed bool // whether these bytes were decompressed already
}

// fixed is the next bytes of a run, or nil where they are not all there.
func (r *reader) fixed(size int) []byte {
	if r.end-r.pos < size {
		return nil
	}
	at := r.pos
	r.pos = at + size
	return r.buf[at : at+size : at+size]
}

// field is the name and the size of a field in a run.
type field struct {
	name string
	size int
}

// short is the error for the first of the fields that is not whole.
func (r *reader) short(fields ...field) error {
	at := r.pos
	for _, each := range fields {
		if at+each.size > r.end {
			return &Error{Code: Truncated, Path: each.name, At: at, Need: each.size, Have: max(0, r.end-at)}
		}
		at += each.size
	}
	panic("the run fits")
}

// span is where so many bytes end.
func (r *reader) span(name string, size int64) (int, error) {
	if size < 0 {
		return 0, &Error{Code: Malformed, Path: name, Reason: "negative size", At: r.pos, Need: "at least 0", Have: size}
	}
	if size > int64(r.end-r.pos) {
		return 0, &Error{Code: Truncated, Path: name, At: r.pos, Need: size, Have: r.end - r.pos}
	}
	return r.pos + int(size), nil
}

// octets is the next bytes; they are a part of the input, not a copy.
func (r *reader) octets(name string, size int64) ([]byte, error) {
	stop, err := r.span(name, size)
	if err != nil {
		return nil, err
	}
	at := r.pos
	r.pos = stop
	return r.buf[at:stop:stop], nil
}

func (r *reader) rest() []byte {
	at := r.pos
	r.pos = r.end
	return r.buf[at:r.end:r.end]
}

// ends requires that what fills a size has ended there.
func (r *reader) ends(name string, stop int) error {
	if r.pos != stop {
		return &Error{Code: Malformed, Path: name, Reason: "bytes are left over after the field's content", At: r.pos, Need: 0, Have: stop - r.pos}
	}
	return nil
}

// count is a number of elements that the bytes can hold.
func (r *reader) count(name string, count int64, least int) (int, error) {
	left := int64(r.end - r.pos)
	switch {
	case count < 0:
		return 0, &Error{Code: Malformed, Path: name, Reason: "negative count", At: r.pos, Need: "at least 0", Have: count}
	case count > left/int64(max(least, 1)) && least == 0:
		return 0, &Error{Code: LimitExceeded, Path: name, Reason: "more elements than bytes", At: r.pos, Need: count, Have: left}
	case count > left/int64(max(least, 1)):
		return 0, &Error{Code: Truncated, Path: name, At: r.pos, Need: count * int64(least), Have: left}
	case count > int64(r.opt.elements()):
		return 0, r.tooMany(name)
	}
	return int(count), nil
}

func (r *reader) tooMany(name string) error {
	most := r.opt.elements()
	return &Error{Code: LimitExceeded, Path: name, Reason: "too many elements", At: r.pos, Need: most + 1, Have: most}
}

func (r *reader) endless(name string) error {
	return &Error{Code: Malformed, Path: name, Reason: "an element without bytes would repeat for ever", At: r.pos}
}

// uvarint32 is an unsigned LEB128 number of at most 5 bytes.
func (r *reader) uvarint32(name string) (uint32, error) {
	value, err := r.leb128(name, 5)
	return uint32(value), err
}

func (r *reader) zigzag32(name string) (int32, error) {
	raw, err := r.leb128(name, 5)
	value := uint32(raw)
	return int32(value>>1) ^ -int32(value&1), err
}

func (r *reader) zigzag64(name string) (int64, error) {
	value, err := r.leb128(name, 10)
	return int64(value>>1) ^ -int64(value&1), err
}

func (r *reader) leb128(name string, most int) (uint64, error) {
	var value uint64
	for n := 0; n < most; n++ {
		if r.pos+n >= r.end {
			return 0, &Error{Code: Truncated, Path: name, At: r.pos, Need: n + 1, Have: n}
		}
		b := r.buf[r.pos+n]
		value |= uint64(b&0x7f) << (7 * n)
		if b < 0x80 {
			r.pos += n + 1
			return value, nil
		}
	}
	return 0, &Error{Code: Malformed, Path: name, Reason: fmt.Sprintf("varint does not end within %d bytes", most), At: r.pos}
}

// tag is where the bytes of a tagged field are.
type tag struct {
	number      uint32
	start, stop int
}

// tags reads the frame of a tagged section (KIP-482).
func (r *reader) tags(name string) ([]tag, error) {
	many, err := r.uvarint32(name)
	if err != nil || many == 0 {
		return nil, err
	}
	count, err := r.count(name, int64(many), 2)
	if err != nil {
		return nil, err
	}
	found := make([]tag, 0, count)
	for range count {
		number, err := r.uvarint32(name)
		if err != nil {
			return nil, err
		}
		size, err := r.uvarint32(name)
		if err != nil {
			return nil, err
		}
		stop, err := r.span(name, int64(size))
		if err != nil {
			return nil, err
		}
		found = append(found, tag{number, r.pos, stop})
		r.pos = stop
	}
	return found, nil
}

func refused(name string, at int, need string, have any) error {
	return &Error{Code: Malformed, Path: name, Reason: "value not allowed", At: at, Need: need, Have: have}
}

func notEncodable(name, reason string, have any) error {
	return &Error{Code: NotEncodable, Path: name, Reason: reason, Have: have}
}

// pick is yes where the test holds, else no.
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

func appendZigzag32(b []byte, value int32) []byte {
	return appendUvarint32(b, uint32(value)<<1^uint32(value>>31))
}

func appendZigzag64(b []byte, value int64) []byte {
	return appendUvarint64(b, uint64(value)<<1^uint64(value>>63))
}

// sortedTags is unknown tags in ascending order, each once.
func sortedTags(name string, tags []RawTag) ([]RawTag, error) {
	byNumber := func(a, b RawTag) int { return cmp.Compare(a.Number, b.Number) }
	if !slices.IsSortedFunc(tags, byNumber) {
		tags = slices.Clone(tags)
		slices.SortStableFunc(tags, byNumber)
	}
	for i := 1; i < len(tags); i++ {
		if tags[i-1].Number == tags[i].Number {
			return nil, twice(name, tags[i].Number)
		}
	}
	return tags, nil
}

func twice(name string, number uint32) error {
	return notEncodable(name, "the tag stands twice", number)
}

func appendTags(b []byte, tags []RawTag) []byte {
	for _, each := range tags {
		b = appendUvarint32(b, each.Number)
		b = appendUvarint32(b, uint32(len(each.Data)))
		b = append(b, each.Data...)
	}
	return b
}

// appendTagsBelow writes the tags in front of a number, and returns those behind it.
func appendTagsBelow(b []byte, name string, tags []RawTag, number uint32) ([]byte, []RawTag, error) {
	n := 0
	for n < len(tags) && tags[n].Number < number {
		n++
	}
	if n < len(tags) && tags[n].Number == number {
		return nil, nil, twice(name, number)
	}
	return appendTags(b, tags[:n]), tags[n:], nil
}

// sizeInFront puts the size of what begins at a place in front of it.
func sizeInFront(b []byte, at int) []byte {
	size := len(b) - at
	b = appendUvarint32(b, uint32(size))
	var head [5]byte
	n := copy(head[:], b[at+size:])
	copy(b[at+n:], b[at:at+size])
	copy(b[at:], head[:n])
	return b
}

// inside reads what must fill so many bytes.
func (r *reader) inside(size int64, read func() error) error {
	stop, err := r.span("", size)
	if err != nil {
		return err
	}
	end := r.end
	r.end = stop
	err = read()
	if err == nil {
		err = r.ends("", stop)
	}
	r.end = end
	return err
}

// text is what a pointer to text points to; empty without one.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func pointer[T any](value T) *T { return &value }
