package formats

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func of(data ...byte) *reader { return &reader{buf: data, end: len(data)} }

// wrong requires that err has a code, a path and a byte, and its text.
func wantError(t *testing.T, err error, code, path string, at int, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("need %s, have %v", code, err)
	}
	if e.Code != code || e.Path != path || e.At != at || !strings.Contains(e.Error(), text) {
		t.Errorf("need %s in %q at %d with %q, have %+v: %v", code, path, at, text, *e, e)
	}
}

func TestVarintsOfEachLength(t *testing.T) {
	for bits := range 64 {
		for _, value := range []int64{1<<bits - 1, 1 << bits, -(1 << bits), -(1 << bits) - 1} {
			data := appendZigzag64(nil, value)
			r := of(data...)
			if found := r.zigzag64("x"); r.err != nil || found != value || r.pos != len(data) {
				t.Fatalf("%d: %d, %v", value, found, r.err)
			}
			for cut := range len(data) {
				r := of(data[:cut]...)
				r.zigzag64("x")
				wantError(t, r.err, Truncated, "x", 0, "need")
			}
			if value == int64(int32(value)) {
				r := of(appendZigzag32(nil, int32(value))...)
				if found := r.zigzag32("x"); found != int32(value) || r.err != nil {
					t.Fatalf("%d: %d, %v", value, found, r.err)
				}
			}
		}
	}
	if data := appendUvarint32(nil, math.MaxUint32); !bytes.Equal(data, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}) {
		t.Errorf("% x", data)
	}
	r := of(0xff, 0xff, 0xff, 0xff, 0xff, 0)
	r.uvarint32("x")
	wantError(t, r.err, Malformed, "x", 0, "varint does not end within 5 bytes")
}

func TestTheFirstErrorStaysAndNothingIsReadBehindIt(t *testing.T) {
	r := of(1, 2)
	if data := r.take("a", 4); len(data) != 4 {
		t.Errorf("% x", data)
	}
	r.octets("b", -1)
	r.within("outer")
	if !r.failedIn("list", 3) || r.uvarint32("c") != 0 {
		t.Error("it goes on")
	}
	wantError(t, r.err, Truncated, "list[3].outer.a", 0, "need 4, have 2, at byte 0")
}

func TestSizesAndCountsAreBounded(t *testing.T) {
	for _, size := range []int64{-1, math.MinInt64, 3, math.MaxInt64} {
		r := of(1, 2)
		if r.octets("x", size) != nil || r.err == nil {
			t.Errorf("%d bytes of 2", size)
		}
		r = of(1, 2)
		if r.enter("", size); r.err == nil {
			t.Errorf("a part of %d bytes of 2", size)
		}
	}
	for _, count := range []int64{-1, 3, math.MaxInt64} {
		if r := of(1, 2); r.count("x", count, 1) != 0 || r.err == nil {
			t.Errorf("%d elements of 2 bytes", count)
		}
	}
	r := of(make([]byte, 20)...)
	r.opt.MaxElements = 10
	r.count("x", 11, 1)
	wantError(t, r.err, LimitExceeded, "x", 0, "need 11, have 10")
}

func TestAPartIsReadToItsEnd(t *testing.T) {
	r := of(1, 2, 3)
	end := r.enter("", 2)
	r.take("x", 1)
	r.leave("", end)
	wantError(t, r.err, Malformed, "", 1, "bytes are left over")
}

func TestTaggedSections(t *testing.T) {
	tags := []RawTag{{0, []byte("a")}, {7, nil}}
	s, err := newSection(nil, "tags", tags)
	if err != nil {
		t.Fatal(err)
	}
	data := s.closed(nil)
	r := of(data...)
	if r.tags("tags") != 2 || r.err != nil {
		t.Fatal(r.err)
	}
	for _, each := range tags {
		number, end := r.tag()
		if data := r.rest(); number != each.Number || !bytes.Equal(data, each.Data) {
			t.Errorf("%d: % x", number, data)
		}
		r.leave("", end)
	}
	if r.pos != len(data) || r.err != nil {
		t.Error(r.err)
	}
	if _, err := newSection(nil, "tags", []RawTag{{3, nil}, {3, nil}}); err == nil {
		t.Error("a tag twice")
	}
}

func TestChecksums(t *testing.T) {
	// the check values of both, as catalogues of checksums have them
	if found := checksumCrc32([]byte("123456789")); found != 0xcbf43926 {
		t.Errorf("%x", found)
	}
	if found := checksumCrc32c([]byte("123456789")); found != 0xe3069283 {
		t.Errorf("%x", found)
	}
}

func TestCodecs(t *testing.T) {
	content := bytes.Repeat([]byte("a record, "), 10_000)
	for _, codec := range []string{"gzip", "lz4", "lz4_legacy", "snappy", "zstd"} {
		data, err := compress(codec, content)
		if err != nil || len(data) > len(content)/5 {
			t.Fatalf("%s: %d bytes, %v", codec, len(data), err)
		}
		found, err := decompress(codec, data, len(content))
		if err != nil || !bytes.Equal(found, content) {
			t.Errorf("%s: %d bytes, %v", codec, len(found), err)
		}
		_, err = decompress(codec, data, len(content)-1)
		reason := strings.TrimSuffix(codec, "_legacy") + ": decompresses to more than allowed"
		wantError(t, err, LimitExceeded, "", 0, reason)
		if _, err := decompress(codec, data[:len(data)-9], len(content)); err == nil {
			t.Errorf("%s: cut short, and read", codec)
		}
		r := of()
		inner := r.unpack("records", codec, data, 61)
		inner.compressed = true
		inner.unpack("records", codec, data, 61)
		wantError(t, inner.err, Malformed, "records", 61, "inside compressed data")
	}
	_, err := decompress("brotli", content, len(content))
	wantError(t, err, Unsupported, "", 0, "codec brotli")
}

func TestDivisionsRoundDown(t *testing.T) {
	for _, each := range [][4]int64{{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}} {
		if floorDiv(each[0], each[1]) != each[2] || floorMod(each[0], each[1]) != each[3] {
			t.Error(each)
		}
	}
}
