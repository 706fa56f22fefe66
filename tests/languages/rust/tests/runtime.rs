//! The runtime, through what is generated of Kafka's schemas.

use formats::{
    Arena, Code, Fact, OffsetCommitKey, OffsetCommitValue, Options, Record, RecordBatch,
    RecordBatchCompression, RecordHeader, RecordRecordBody, Text,
};

fn batch<'a>(codec: RecordBatchCompression, value: &'a [u8], count: usize) -> RecordBatch<'a> {
    let mut batch = RecordBatch::default();
    batch.attributes.compression = codec;
    let header = RecordHeader {
        key: Text::from("h"),
        value: None,
    };
    batch.records = (0..count)
        .map(|n| Record {
            body: RecordRecordBody {
                offset_delta: n as i32,
                value: Some(value),
                headers: vec![header.clone()],
                ..RecordRecordBody::default()
            },
        })
        .collect();
    batch.max_timestamp = Some(-1);
    batch
}

fn written(batch: &RecordBatch<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    batch.write(&mut out).expect("a batch");
    out
}

const CODECS: [RecordBatchCompression; 5] = [
    RecordBatchCompression::NONE,
    RecordBatchCompression::GZIP,
    RecordBatchCompression::SNAPPY,
    RecordBatchCompression::LZ4,
    RecordBatchCompression::ZSTD,
];

#[test]
fn what_is_written_is_read_again_with_every_codec() {
    for codec in CODECS {
        let data = written(&batch(codec, &[7; 300], 20));
        let arena = Arena::new();
        let (found, size) = RecordBatch::read(&data, &arena, Options::default()).expect("a batch");
        assert_eq!(
            (size, found.num_records, found.last_offset_delta),
            (data.len(), 20, Some(19))
        );
        assert_eq!(found.records, batch(codec, &[7; 300], 20).records);
        assert_eq!(written(&found), data);
    }
}

#[test]
fn decompressed_bytes_are_bounded() {
    for codec in &CODECS[1..] {
        let data = written(&batch(*codec, &[7; 100_000], 20));
        assert!(data.len() < 200_000);
        let options = Options {
            max_decompressed: 1_000_000,
            ..Options::default()
        };
        let error = RecordBatch::read(&data, &Arena::new(), options).expect_err("too much");
        assert_eq!(
            (error.code(), error.path(), error.at()),
            (Code::LimitExceeded, "records", Some(61))
        );
        assert_eq!(error.found(), Some(&Fact::Number(1_000_000)));
    }
}

#[test]
fn lists_are_bounded() {
    let data = written(&batch(CODECS[0], b"", 20));
    let options = Options {
        max_elements: 10,
        ..Options::default()
    };
    let error = RecordBatch::read(&data, &Arena::new(), options).expect_err("too many");
    assert_eq!(
        (error.code(), error.path()),
        (Code::LimitExceeded, "records")
    );
}

#[test]
fn an_error_says_where_and_what() {
    let mut data = written(&batch(CODECS[0], b"abc", 2));
    let end = data.len();
    let error =
        RecordBatch::read(&data[..end - 1], &Arena::new(), Options::default()).expect_err("short");
    assert_eq!(
        error.to_string(),
        "records: truncated: need 26, have 25, at byte 61"
    );
    data[end - 1] ^= 1;
    let error = RecordBatch::read(&data, &Arena::new(), Options::default()).expect_err("changed");
    assert_eq!(
        (error.code(), error.path(), error.at()),
        (Code::BadChecksum, "crc", Some(17))
    );
    let options = Options {
        check_checksums: false,
        ..Options::default()
    };
    let arena = Arena::new();
    let (found, _) = RecordBatch::read(&data, &arena, options).expect("a checksum is not compared");
    // the last byte, the length of null, is now the length of an empty value
    let [_, last] = &found.records[..] else {
        panic!("{} records", found.records.len());
    };
    assert_eq!(last.body.headers[0].value, Some(&b""[..]));
}

#[test]
fn a_value_that_does_not_fit_is_not_written() {
    let long = "x".repeat(40_000);
    let key = OffsetCommitKey {
        topic: Text::from(&long[..]),
        ..OffsetCommitKey::default()
    };
    let mut out = b"before".to_vec();
    let error = key.write(&mut out).expect_err("a length of 16 bits");
    assert_eq!(
        (error.code(), error.at(), out),
        (Code::NotEncodable, None, b"before".to_vec())
    );
    assert!(error.path().starts_with("topic"));
}

#[test]
fn text_that_is_no_utf_8_is_kept() {
    let value = OffsetCommitValue {
        metadata: Text(b"a\xff\xc3"),
        ..OffsetCommitValue::default()
    };
    let mut out = Vec::new();
    value.write(&mut out).expect("a value");
    let (found, _) = OffsetCommitValue::read(&out, Options::default()).expect("a value");
    assert_eq!((found.metadata.to_str().is_err(), found), (true, value));
}

#[test]
fn an_arena_keeps_what_it_is_given() {
    let mut arena = Arena::new();
    let kept: Vec<&[u8]> = (0..1000_u16)
        .map(|n| arena.keep(n.to_be_bytes().to_vec()))
        .collect();
    assert!(kept
        .iter()
        .zip(0..1000_u16)
        .all(|(data, n)| *data == n.to_be_bytes()));
    arena.clear();
}
