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

// mostWindow is the largest window that zstd's own library reads by default; short content may have one, too.
const mostWindow = 1 << 27

// unpack returns a reader of decompressed bytes, or a failed reader if they cannot be decompressed.
func (r *reader) unpack(name, codec string, stored []byte, at int) *reader {
	if r.err == nil && codec == "none" {
		return &reader{buf: stored, end: len(stored), opt: r.opt, compressed: r.compressed, unpacked: r.unpacked}
	}
	if r.compressed {
		r.fail(Malformed, name, codec+" data inside compressed data", at, nil, nil)
	}
	if r.err != nil {
		return &reader{err: r.err}
	}
	data, err := decompress(codec, stored, r.opt.decompressed()-r.unpacked)
	if e, ok := err.(*Error); ok {
		r.fail(e.Code, name, e.Reason, at, e.Need, e.Have)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.fail(Truncated, name, codec+": "+err.Error(), at, nil, nil)
	} else if err != nil {
		r.fail(Malformed, name, codec+": "+err.Error(), at, nil, nil)
	}
	return &reader{buf: data, end: len(data), opt: r.opt, err: r.err, compressed: true, unpacked: r.unpacked + len(data)}
}

// took requires that all of the content has been read, and reports an error in it as one of the field that contains it.
func (r *reader) took(inner *reader, name, codec string, at int) {
	r.unpacked = inner.unpacked
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

var (
	xerial   = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
	official = []byte("\xff\x06\x00\x00sNaPpY")
)

func decompress(codec string, data []byte, limit int) ([]byte, error) {
	if len(data) == 0 {
		return nil, cut(codec, "the payload is empty")
	}
	switch codec {
	case "gzip":
		return gunzip(data, limit)
	case "lz4":
		return unlz4(data, limit, true)
	case "lz4_legacy":
		return unlz4(data, limit, false)
	case "zstd":
		most := uint64(max(limit+1, mostWindow))
		from, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			return nil, err
		}
		defer from.Close()
		content, err := bounded(nil, from, codec, limit)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return nil, tooLarge(codec, limit)
		}
		return content, err
	case "snappy":
		return unsnap(data, limit)
	}
	return nil, &Error{Code: Unsupported, Reason: "codec " + codec}
}

// bounded appends all bytes to out, which has at most limit of them then.
func bounded(out []byte, from io.Reader, codec string, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(limit-len(out))+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit-len(out) {
		return nil, tooLarge(codec, limit)
	}
	if len(out) == 0 {
		return data, nil
	}
	return append(out, data...), nil
}

func tooLarge(codec string, limit int) error {
	return &Error{Code: LimitExceeded, Reason: codec + ": decompresses to more than allowed", Need: limit + 1, Have: limit}
}

func cut(codec, what string) error {
	return &Error{Code: Truncated, Reason: codec + ": " + what}
}

func refused(code, reason string, need, have any) error {
	return &Error{Code: code, Reason: reason, Need: need, Have: have}
}

// gunzip reads members one after another; as in Java, what does not begin with the header of one ends the data.
func gunzip(data []byte, limit int) ([]byte, error) {
	rest := bytes.NewReader(data)
	member, err := gzip.NewReader(rest)
	if err != nil {
		return nil, err
	}
	var out []byte
	for {
		member.Multistream(false)
		if out, err = bounded(out, member, "gzip", limit); err != nil {
			return nil, err
		}
		if member.Reset(rest) != nil {
			return out, nil
		}
	}
}

// unlz4 reads the first frame, of independent blocks, as Kafka's reader does: it verifies the checksums of the header,
// unless it is one of magic 0, and of blocks, but no size or checksum of the content. What follows is ignored.
func unlz4(data []byte, limit int, checked bool) ([]byte, error) {
	const magic, stored = 0x184D2204, 1 << 31
	if len(data) >= 4 && binary.LittleEndian.Uint32(data) != magic {
		return nil, refused(Malformed, "lz4: not a frame", nil, nil)
	}
	if len(data) < 7 {
		return nil, cut("lz4", "frame header")
	}
	flags, descriptor, at := data[4], data[5], headerSize(data)
	if flags>>6 != 1 || flags&0x20 == 0 || flags&1 != 0 {
		return nil, refused(Unsupported, "lz4: frame", "version 1, independent blocks, no dictionary", int(flags))
	}
	if flags&2 != 0 || descriptor&0x8F != 0 || descriptor < 0x40 {
		return nil, refused(Malformed, "lz4: reserved bits, or the size of blocks", nil, nil)
	}
	if at == 0 {
		return nil, cut("lz4", "frame header")
	}
	if checked && data[at] != headerChecksum(data[4:at]) {
		return nil, refused(Malformed, "lz4: checksum of the frame's header", nil, nil)
	}
	most, checksum := 1<<(8+2*(descriptor>>4)), int(flags>>4&1)*4
	var out []byte
	for at++; ; {
		if len(data)-at < 4 {
			return nil, cut("lz4", "no end mark")
		}
		word := binary.LittleEndian.Uint32(data[at:])
		size := int(word &^ stored)
		if at += 4; size == 0 {
			break
		}
		if size > most {
			return nil, refused(Malformed, "lz4: size of a block", most, size)
		}
		if len(data)-at < size+checksum {
			return nil, cut("lz4", "block")
		}
		block := data[at : at+size]
		if checksum > 0 && xxhash32(block) != binary.LittleEndian.Uint32(data[at+size:]) {
			return nil, refused(Malformed, "lz4: checksum of a block", nil, nil)
		}
		at += size + checksum
		if word&stored == 0 {
			content := make([]byte, min(most, 255*size))
			made, err := lz4.UncompressBlock(block, content)
			if err != nil {
				return nil, err
			}
			block = content[:made]
		}
		if len(block) > limit-len(out) {
			return nil, tooLarge("lz4", limit)
		}
		out = append(out, block...)
	}
	if flags&4 != 0 && len(data)-at < 4 {
		return nil, cut("lz4", "checksum of the content")
	}
	return out, nil
}

// unsnap reads xerial's blocks, whose header may repeat, or one raw block; 1 to 3 bytes after the last are ignored.
func unsnap(data []byte, limit int) ([]byte, error) {
	if bytes.HasPrefix(data, official) {
		return nil, refused(Unsupported, "snappy: the official framing format", nil, nil)
	}
	if len(data) < 16 || !bytes.Equal(data[:8], xerial) {
		return unsnapBlock(nil, data, limit)
	}
	var out []byte
	for at := 16; len(data)-at >= 4; {
		size := int(int32(binary.BigEndian.Uint32(data[at:])))
		if bytes.Equal(data[at:at+4], xerial[:4]) {
			if len(data)-at < 16 || !bytes.Equal(data[at:at+8], xerial) {
				return nil, cut("snappy", "repeated header")
			}
			if int32(binary.BigEndian.Uint32(data[at+8:])) < 1 {
				return nil, refused(Unsupported, "snappy: version of a repeated header", nil, nil)
			}
			at += 16
			continue
		}
		at += 4
		if size < 0 {
			return nil, refused(Malformed, "snappy: size of a block", 0, size)
		}
		if size > len(data)-at {
			return nil, cut("snappy", "block")
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
	if size > 22*len(block) || extended(block) { // three bytes decompress to at most 64
		return nil, refused(Malformed, "snappy: not a block", nil, nil)
	}
	data, err := s2.Decode(nil, block)
	if err != nil {
		return nil, err
	}
	return append(out, data...), nil
}

// extended reports whether a block has a copy from 0 bytes back, which in S2 repeats an earlier one.
func extended(block []byte) bool {
	_, at := binary.Uvarint(block)
	for at < len(block) {
		tag := block[at]
		size := int(tag>>2) + 1
		switch at++; tag & 3 {
		case 0:
			if more := size - 60; more > 0 {
				if len(block)-at < more {
					return false
				}
				size = 1
				for i, each := range block[at : at+more] {
					size += int(each) << (8 * i)
				}
				at += more
			}
			at += size
		case 1:
			if at < len(block) && tag>>5 == 0 && block[at] == 0 {
				return true
			}
			at++
		case 2:
			at += 2
		case 3:
			at += 4
		}
	}
	return false
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

// pack is content compressed, or an error of the field that has it.
func pack(name, codec string, content []byte) ([]byte, error) {
	found, err := compress(codec, content)
	return found, within(err, name)
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

// headerChecksum is the second byte of the hash of an LZ4 frame's descriptor.
func headerChecksum(data []byte) byte {
	return byte(xxhash32(data) >> 8)
}

// xxhash32 is the hash of LZ4's frames, with seed 0.
func xxhash32(data []byte) uint32 {
	const prime1, prime2, prime3, prime4, prime5 uint32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
	sum, size := prime5, uint32(len(data))
	if len(data) >= 16 {
		lanes := [4]uint32{0x24234428, prime2, 0, 0x61C8864F} // of the primes: 1 + 2, 2, nothing, minus 1
		for ; len(data) >= 16; data = data[16:] {
			for i := range lanes {
				word := binary.LittleEndian.Uint32(data[4*i:])
				lanes[i] = bits.RotateLeft32(lanes[i]+word*prime2, 13) * prime1
			}
		}
		sum = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) +
			bits.RotateLeft32(lanes[2], 12) + bits.RotateLeft32(lanes[3], 18)
	}
	for sum += size; len(data) >= 4; data = data[4:] {
		sum = bits.RotateLeft32(sum+binary.LittleEndian.Uint32(data)*prime3, 17) * prime4
	}
	for _, each := range data {
		sum = bits.RotateLeft32(sum+uint32(each)*prime5, 11) * prime1
	}
	sum = (sum ^ sum>>15) * prime2
	sum = (sum ^ sum>>13) * prime3
	return sum ^ sum>>16
}
