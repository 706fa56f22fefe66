//! Reads and writes the same bytes with the generated crate and with kafka-protocol, in turns. The peer makes the bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use cpu_time::ThreadTime;
use formats::{Arena, Options};
use indexmap::IndexMap;
use kafka_protocol::messages::{
    consumer_protocol_assignment, consumer_protocol_subscription, leader_change_message, voters_record,
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, LeaderChangeMessage, TopicName, VotersRecord,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use kafka_protocol::records::{
    Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use std::hint::black_box;
use uuid::Uuid;

const ROUNDS: usize = 15;

/// Seconds that one call takes, of so many, while the thread has a processor: others may be busy beside it.
fn seconds(times: usize, work: &mut dyn FnMut()) -> f64 {
    let start = ThreadTime::now();
    for _ in 0..times {
        work();
    }
    start.elapsed().as_secs_f64() / times as f64
}

fn median(mut found: Vec<f64>) -> f64 {
    found.sort_by(f64::total_cmp);
    found[found.len() / 2]
}

/// Both in turns: a line with the median time of each, and the median, least and largest ratio of a turn.
fn compare(name: &str, size: usize, what: &str, ours: &mut dyn FnMut(), peer: &mut dyn FnMut()) {
    let times = ((0.01 / seconds(3, peer)) as usize).clamp(1, 100_000);
    seconds(times, ours);
    let turns: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (seconds(times, ours), seconds(times, peer))).collect();
    let mut ratios: Vec<f64> = turns.iter().map(|(ours, peer)| ours / peer).collect();
    ratios.sort_by(f64::total_cmp);
    println!(
        "{name:<46}{size:>9} {what:<7}{:>10.2}{:>10.2}{:>8.2}  {:.2} to {:.2}",
        median(turns.iter().map(|turn| turn.0 * 1e6).collect()),
        median(turns.iter().map(|turn| turn.1 * 1e6).collect()),
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1],
    );
}

/// A message in both ways; `head` bytes say its version to the peer.
macro_rules! message {
    ($name:expr, $ours:ty, $peer:ty, $value:expr, $version:expr, $head:expr) => {{
        let value: $peer = $value;
        let mut data = BytesMut::new();
        if $head {
            data.put_i16($version);
        }
        value.encode(&mut data, $version).expect("the peer writes it");
        let data = data.freeze();
        let (found, _) = <$ours>::read(&data, Options::default()).expect("we read it");
        let mut out = Vec::new();
        found.write(&mut out).expect("we write it");
        assert_eq!(out, data);
        compare($name, data.len(), "decode",
            &mut || { black_box(<$ours>::read(black_box(&data), Options::default()).expect("ours")); },
            &mut || {
                let mut rest = black_box(&data).clone();
                let version = if $head { rest.get_i16() } else { $version };
                black_box(<$peer>::decode(&mut rest, version).expect("the peer's"));
            });
        compare($name, data.len(), "encode",
            &mut || {
                let mut out = Vec::new();
                black_box(&found).write(&mut out).expect("ours");
                black_box(out);
            },
            &mut || {
                let mut out = BytesMut::new();
                if $head {
                    out.put_i16($version);
                }
                black_box(&value).encode(&mut out, $version).expect("the peer's");
                black_box(out);
            });
    }};
}

fn text(text: String) -> StrBytes {
    StrBytes::from_string(text)
}

fn topic(number: usize) -> TopicName {
    TopicName(text(format!("orders-of-region-{number:03}")))
}

fn subscription(topics: usize) -> ConsumerProtocolSubscription {
    let owned = (0..topics).map(|n| {
        consumer_protocol_subscription::TopicPartition::default().with_topic(topic(n)).with_partitions((0..8).collect())
    });
    ConsumerProtocolSubscription::default()
        .with_topics((0..topics).map(|n| topic(n).0).collect())
        .with_user_data(Some(Bytes::from_static(&[7; 64])))
        .with_owned_partitions(owned.collect())
        .with_generation_id(5)
        .with_rack_id(Some(text("rack-1".to_owned())))
}

fn assignment(topics: usize) -> ConsumerProtocolAssignment {
    let parts = (0..topics).map(|n| {
        consumer_protocol_assignment::TopicPartition::default().with_topic(topic(n)).with_partitions((0..32).collect())
    });
    ConsumerProtocolAssignment::default()
        .with_assigned_partitions(parts.collect())
        .with_user_data(Some(Bytes::from_static(&[7; 64])))
}

fn leader(voters: i32) -> LeaderChangeMessage {
    let all: Vec<_> = (0..voters)
        .map(|n| leader_change_message::Voter::default().with_voter_id(n).with_voter_directory_id(Uuid::from_u128(n as u128)))
        .collect();
    LeaderChangeMessage::default()
        .with_version(1)
        .with_leader_id(2.into())
        .with_voters(all.clone())
        .with_granting_voters(all)
}

fn voters(count: i32) -> VotersRecord {
    let all = (0..count).map(|n| {
        let endpoint = voters_record::Endpoint::default()
            .with_name(text("CONTROLLER".to_owned()))
            .with_host(text(format!("controller-{n}.example.org")))
            .with_port(9093);
        voters_record::Voter::default()
            .with_voter_id(n.into())
            .with_voter_directory_id(Uuid::from_u128(n as u128))
            .with_endpoints(vec![endpoint])
            .with_k_raft_version_feature(
                voters_record::KRaftVersionFeature::default().with_max_supported_version(1),
            )
    });
    VotersRecord::default().with_version(0).with_voters(all.collect())
}

fn records(count: usize, size: usize, headers: usize) -> Vec<Record> {
    let mut seed = 1_u32;
    let mut value = || {
        let words = ["order", "paid", "shipped", "customer", "total", "EUR", "0", "1", "2", "3", "4", "5"];
        let mut found = String::new();
        while found.len() < size {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            found += words[(seed >> 16) as usize % words.len()];
        }
        found.truncate(size);
        Bytes::from(found)
    };
    (0..count)
        .map(|n| Record {
            transactional: false,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: 3,
            producer_id: 1000,
            producer_epoch: 0,
            timestamp_type: TimestampType::Creation,
            offset: n as i64,
            sequence: n as i32,
            timestamp: 1_700_000_000_000 + n as i64,
            key: Some(Bytes::from(format!("key-{n}"))),
            value: Some(value()),
            headers: (0..headers)
                .map(|h| (text(format!("header-{h}")), Some(Bytes::from_static(b"a value"))))
                .collect::<IndexMap<_, _>>(),
        })
        .collect()
}

fn batches(name: &str, records: &[Record], compression: Compression) {
    let options = RecordEncodeOptions { version: 2, compression };
    let mut data = BytesMut::new();
    RecordBatchEncoder::encode(&mut data, records, &options).expect("the peer writes it");
    let data = data.freeze();
    let arena = Arena::new();
    let (batch, size) = formats::RecordBatch::read(&data, &arena, Options::default()).expect("we read it");
    assert_eq!((size, batch.records.len()), (data.len(), records.len()));
    let mut out = Vec::new();
    batch.write(&mut out).expect("we write it");
    let back = RecordBatchDecoder::decode(&mut Bytes::from(out)).expect("the peer reads ours");
    assert_eq!(back.records, records);
    compare(name, data.len(), "decode",
        &mut || {
            let arena = Arena::new();
            let found = formats::RecordBatch::read(black_box(&data), &arena, Options::default());
            black_box(found.expect("ours"));
        },
        &mut || {
            black_box(RecordBatchDecoder::decode(&mut black_box(&data).clone()).expect("the peer's"));
        });
    compare(name, data.len(), "encode",
        &mut || {
            let mut out = Vec::new();
            black_box(&batch).write(&mut out).expect("ours");
            black_box(out);
        },
        &mut || {
            let mut out = BytesMut::new();
            RecordBatchEncoder::encode(&mut out, black_box(records), &options).expect("the peer's");
            black_box(out);
        });
}

fn main() {
    println!("kodec's Rust and kafka-protocol 0.18.0; CPU µs, medians of {ROUNDS} turns; ratio: ours by the peer's");
    println!("{:<46}{:>9} {:<7}{:>10}{:>10}{:>8}  in any turn", "", "bytes", "", "kodec", "peer", "ratio");
    use formats as own;
    message!("ConsumerProtocolSubscription v3, 3 topics", own::ConsumerProtocolSubscription, ConsumerProtocolSubscription, subscription(3), 3, true);
    message!("ConsumerProtocolSubscription v3, 100 topics", own::ConsumerProtocolSubscription, ConsumerProtocolSubscription, subscription(100), 3, true);
    message!("ConsumerProtocolAssignment v3, 3 topics", own::ConsumerProtocolAssignment, ConsumerProtocolAssignment, assignment(3), 3, true);
    message!("ConsumerProtocolAssignment v3, 100 topics", own::ConsumerProtocolAssignment, ConsumerProtocolAssignment, assignment(100), 3, true);
    message!("LeaderChangeMessage v1, 3 voters", own::LeaderChangeMessage, LeaderChangeMessage, leader(3), 1, false);
    message!("VotersRecord v0, 3 voters", own::VotersRecord, VotersRecord, voters(3), 0, false);
    message!("VotersRecord v0, 100 voters", own::VotersRecord, VotersRecord, voters(100), 0, false);
    batches("records, 1,000 of 100 bytes", &records(1000, 100, 0), Compression::None);
    batches("records, 1,000 of 100 bytes and 3 headers", &records(1000, 100, 3), Compression::None);
    batches("records, 100 of 10,000 bytes", &records(100, 10_000, 0), Compression::None);
    batches("records, 1,000 of 100 bytes, gzip", &records(1000, 100, 0), Compression::Gzip);
    batches("records, 1,000 of 100 bytes, snappy", &records(1000, 100, 0), Compression::Snappy);
    batches("records, 1,000 of 100 bytes, lz4", &records(1000, 100, 0), Compression::Lz4);
    batches("records, 1,000 of 100 bytes, zstd", &records(1000, 100, 0), Compression::Zstd);
}
