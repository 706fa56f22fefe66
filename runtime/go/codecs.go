package kodec

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// leastWindow is the window size that decoders of zstd should support (RFC 8878, 3.1.1.1.2), even for short content.
const leastWindow = 8 << 20

// unpacked returns a reader of decompressed bytes, or a failed reader if they cannot be decompressed.
func (r *reader) unpacked(name, codec string, stored []byte, at int) *reader {
	if r.err == nil && codec == "none" {
		return &reader{buf: stored, end: len(stored), opt: r.opt, compressed: r.compressed}
	}
	if r.compressed {
		r.fail(Malformed, name, codec+" data inside compressed data", at, nil, nil)
	}
	if r.err != nil {
		return &reader{err: r.err}
	}
	data, err := decompress(codec, stored, r.opt.decompressed())
	if e, ok := err.(*Error); ok {
		r.fail(e.Code, name, e.Reason, at, e.Need, e.Have)
	} else if err != nil {
		r.fail(Malformed, name, codec+": "+err.Error(), at, nil, nil)
	}
	return &reader{buf: data, end: len(data), opt: r.opt, err: r.err, compressed: true}
}

// took requires that all of the content has been read, and reports an error in it as one of the field that contains it.
func (r *reader) took(inner *reader, name, codec string, at int) {
	if inner.ended(""); inner.err == nil || r.err != nil {
		return
	}
	r.end, r.err = r.pos, within(inner.err, name)
	if e := r.err.(*Error); codec == "none" {
		e.At += at
	} else {
		e.At, e.Inside = at, codec
	}
}

var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func decompress(codec string, data []byte, limit int) ([]byte, error) {
	switch codec {
	case "gzip":
		from, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return bounded(from, codec, limit)
	case "lz4":
		return bounded(lz4.NewReader(bytes.NewReader(data)), codec, limit)
	case "lz4_legacy":
		return bounded(lz4.NewReader(bytes.NewReader(resummed(data))), codec, limit)
	case "zstd":
		most := uint64(max(limit+1, leastWindow))
		from, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			return nil, err
		}
		defer from.Close()
		content, err := bounded(from, codec, limit)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return nil, tooLarge(codec, limit)
		}
		return content, err
	case "snappy":
		return unsnap(data, limit)
	}
	return nil, &Error{Code: Unsupported, Reason: "codec " + codec}
}

func bounded(from io.Reader, codec string, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, tooLarge(codec, limit)
	}
	return data, nil
}

func tooLarge(codec string, limit int) error {
	return &Error{Code: LimitExceeded, Reason: codec + ": decompresses to more than allowed", Need: limit + 1, Have: limit}
}

// unsnap reads xerial's blocks, or one raw block.
func unsnap(data []byte, limit int) ([]byte, error) {
	if len(data) < 16 || !bytes.Equal(data[:8], xerial) {
		return unsnapBlock(nil, data, limit)
	}
	var out []byte
	for at := 16; at < len(data); {
		if len(data)-at < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		size := int(int32(binary.BigEndian.Uint32(data[at:])))
		at += 4
		if size < 0 || size > len(data)-at {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = unsnapBlock(out, data[at:at+size], limit); err != nil {
			return nil, err
		}
		at += size
	}
	return out, nil
}

func unsnapBlock(out, block []byte, limit int) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if size > limit-len(out) {
		return nil, tooLarge("snappy", limit)
	}
	data, err := s2.Decode(nil, block)
	if err != nil {
		return nil, err
	}
	return append(out, data...), nil
}

func compress(codec string, data []byte) ([]byte, error) {
	var out bytes.Buffer
	var to io.WriteCloser
	switch codec {
	case "none":
		return data, nil
	case "gzip":
		to = gzip.NewWriter(&out)
	case "lz4":
		to = lz4.NewWriter(&out)
	case "lz4_legacy":
		frame, err := compress("lz4", data)
		if at := headerSize(frame); err == nil && at > 0 {
			frame[at] = headerChecksum(frame[:at])
		}
		return frame, err
	case "zstd":
		made, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		to = made
	case "snappy":
		return snap(data), nil
	default:
		return nil, notEncodable("", "unknown codec", codec)
	}
	if _, err := to.Write(data); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// packing is how the content of a field is stored.
type packing struct{ name, codec string }

// of is content compressed, or an error with the field's name in front of its path.
func (p packing) of(content []byte, err error) ([]byte, error) {
	if err == nil {
		content, err = compress(p.codec, content)
	}
	if err != nil {
		return nil, within(err, p.name)
	}
	return content, nil
}

// snap writes xerial's blocks of 32 KiB, as Java clients do.
func snap(data []byte) []byte {
	out := append(append([]byte(nil), xerial...), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(data) > 0 {
		n := min(len(data), 32<<10)
		block := s2.EncodeSnappy(nil, data[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		data = data[n:]
	}
	return out
}

// headerSize is the position of the header checksum of an LZ4 frame; 0 if there is none.
func headerSize(frame []byte) int {
	if len(frame) < 7 {
		return 0
	}
	size := 6
	if frame[4]&8 != 0 { // the size of the content
		size += 8
	}
	if len(frame) <= size {
		return 0
	}
	return size
}

// resummed is an LZ4 frame with the right header checksum: in messages of magic 0 it is over the magic number too.
func resummed(frame []byte) []byte {
	at := headerSize(frame)
	if at == 0 {
		return frame
	}
	made := append([]byte(nil), frame...)
	made[at] = headerChecksum(made[4:at])
	return made
}

// headerChecksum is the second byte of the xxHash32 of at most 15 bytes.
func headerChecksum(data []byte) byte {
	const prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
	sum := uint32(prime5) + uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		sum = bits.RotateLeft32(sum+binary.LittleEndian.Uint32(data)*prime3, 17) * prime4
	}
	for _, each := range data {
		sum = bits.RotateLeft32(sum+uint32(each)*prime5, 11) * prime1
	}
	sum = (sum ^ sum>>15) * prime2
	sum = (sum ^ sum>>13) * prime3
	return byte((sum ^ sum>>16) >> 8)
}
