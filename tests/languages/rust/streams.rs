//! What belongs to streams of Rust: owners, levels and the stack, limits.

use formats::{Archive, Code, Node, Objects, Options};

/// An archive of one entry, whose body has some nodes in each other.
fn archive(nodes: usize) -> Vec<u8> {
    let mut data = vec![1, 5, 0];
    data.extend_from_slice(&(2 * nodes as u16).to_le_bytes());
    data.extend(b"a\0".repeat(nodes));
    data
}

#[test]
fn objects_refer_to_each_other() {
    let (data, objects) = (archive(3), Objects::new());
    let (found, size) = Archive::read(&data, &objects, Options::default()).unwrap();
    let entry = found.entries()[0];
    let body = entry.body().unwrap().unwrap();
    assert_eq!((size, entry.end().unwrap()), (5, 11));
    assert_eq!(body._parent(), Some(Node::ArchiveEntry(entry)));
    assert_eq!(body.next().unwrap()._root(), Node::Archive(found));
    assert_eq!(body._io().bytes(), b"a\0a\0a\0");
    // what was read is kept
    assert!(std::ptr::eq(body, entry.body().unwrap().unwrap()));
    assert_eq!(entry.name().unwrap(), "a!a");
}

#[test]
fn levels_need_little_of_the_stack() {
    let run = || {
        let (data, objects) = (archive(2000), Objects::new());
        let (found, _) = Archive::read(&data, &objects, Options::default()).unwrap();
        let error = found.entries()[0].body().unwrap_err();
        assert_eq!(error.code(), Code::LimitExceeded);
        // as deep as there may be, and from there again
        let (data, objects) = (archive(97), Objects::new());
        let (found, _) = Archive::read(&data, &objects, Options::default()).unwrap();
        let mut node = found.entries()[0].body().unwrap().unwrap();
        while let Some(next) = node.next() {
            node = next;
        }
        assert_eq!(node.again().unwrap_err().code(), Code::LimitExceeded);
        assert!(format!("{found:?}").len() > 50);
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn an_instance_that_failed_fails_again() {
    let (mut data, objects) = (archive(1), Objects::new());
    data.truncate(6);
    let (found, _) = Archive::read(&data, &objects, Options::default()).unwrap();
    for _ in 0..3 {
        let error = found.entries()[0].body().unwrap_err();
        assert_eq!(
            (error.code(), error.path(), error.at()),
            (Code::Truncated, "body", Some(5))
        );
    }
}

#[test]
fn expressions_make_no_more_bytes_than_allowed() {
    let (data, objects) = (archive(1), Objects::new());
    let options = Options {
        max_decompressed: 8,
        ..Options::default()
    };
    let (found, _) = Archive::read(&data, &objects, options).unwrap();
    let entry = found.entries()[0];
    assert_eq!(entry.name().unwrap(), "a!a");
    let error = entry.name().unwrap_err();
    assert_eq!(
        (error.code(), error.found().unwrap().to_string()),
        (Code::LimitExceeded, "8".into())
    );
}

#[test]
fn any_bytes_are_a_value_or_an_error() {
    let data = archive(5);
    for size in 0..data.len() {
        for at in 0..size {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = data[..size].to_vec();
                changed[at] = byte;
                let objects = Objects::new();
                if let Ok((found, _)) = Archive::read(&changed, &objects, Options::default()) {
                    for entry in found.entries() {
                        let _ = (entry.body(), entry.name(), entry.end());
                    }
                }
            }
        }
    }
}
