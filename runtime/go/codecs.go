package kodec

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// unpacked is a reader of what stored bytes decompress to.
func (r *reader) unpacked(name, codec string, stored []byte, at int) (*reader, error) {
	if codec == "none" {
		return &reader{buf: stored, end: len(stored), opt: r.opt, compressed: r.compressed}, nil
	}
	if r.compressed {
		return nil, &Error{Code: Malformed, Path: name, Reason: codec + " data inside compressed data", At: at}
	}
	data, err := decompress(codec, stored, r.opt.decompressed())
	if err != nil {
		if e, ok := err.(*Error); ok {
			e.Path, e.At = name, at
			return nil, e
		}
		return nil, &Error{Code: Malformed, Path: name, Reason: codec + ": " + err.Error(), At: at}
	}
	return &reader{buf: data, end: len(data), opt: r.opt, compressed: true}, nil
}

// outside is an error of the content as one of what holds it.
func (r *reader) outside(err error, name, codec string, at int) error {
	err = within(err, name)
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	if codec == "none" {
		e.At += at
	} else {
		e.At, e.Inside = at, codec
	}
	return e
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
	case "lz4_legacy":
		// any header checksum: Kafka computed it over the frame's magic number, too (KIP-57)
		head, at, err := lz4Head(data)
		if err != nil {
			return nil, err
		}
		sum := byte(xxh32(head[4:at]) >> 8)
		frame := io.MultiReader(bytes.NewReader(head[:at]), bytes.NewReader([]byte{sum}), bytes.NewReader(data[at+1:]))
		return bounded(lz4.NewReader(frame), codec, limit)
	case "lz4":
		return bounded(lz4.NewReader(bytes.NewReader(data)), codec, limit)
	case "zstd":
		from, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)+1))
		if err != nil {
			return nil, err
		}
		defer from.Close()
		return bounded(from, codec, limit)
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
	case "lz4", "lz4_legacy":
		to = lz4.NewWriter(&out)
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
	made := out.Bytes()
	if codec == "lz4_legacy" {
		head, at, err := lz4Head(made)
		if err != nil {
			return nil, err
		}
		made[at] = byte(xxh32(head[:at]) >> 8)
	}
	return made, nil
}

// lz4Head is the head of an LZ4 frame, and where in it its checksum stands.
func lz4Head(data []byte) ([]byte, int, error) {
	if len(data) < 7 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	at := 6
	if data[4]&8 != 0 { // the size of the content
		at += 8
	}
	if data[4]&1 != 0 { // the number of a dictionary
		at += 4
	}
	if at >= len(data) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	return data[:at+1], at, nil
}

// xxh32 is the hash of LZ4 frames, of 19 bytes at most and with seed 0: what a head has.
func xxh32(data []byte) uint32 {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	rotate := bits.RotateLeft32
	h, n := uint32(p5), uint32(len(data))
	if len(data) >= 16 {
		lanes := [4]uint32{}
		lanes[0], lanes[1] = lanes[0]+p1, lanes[1]+p2
		lanes[0] += p2
		lanes[3] -= p1
		for i := range lanes {
			lanes[i] = rotate(lanes[i]+binary.LittleEndian.Uint32(data[4*i:])*p2, 13) * p1
		}
		h = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18)
		data = data[16:]
	}
	h += n
	for ; len(data) >= 4; data = data[4:] {
		h = rotate(h+binary.LittleEndian.Uint32(data)*p3, 17) * p4
	}
	for _, b := range data {
		h = rotate(h+uint32(b)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
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
