//! Any bytes are read without a panic, and what is read has one length.

use plimsoll_core::gzip;
use plimsoll_core::stream::{PieceReader, Points, json, otel};
use proptest::prelude::*;

const LINE: &str = r#"{"metric_name":"ReadIOPS","dimensions":{"DBInstanceIdentifier":"a"},"timestamp":1700000000000,"value":{"max":2.5,"min":0.5,"sum":3,"count":2},"unit":"Count/Second"}"#;

fn is_even(points: &Points) -> bool {
    let length = points.time.len();
    points.series_index.iter().all(|&index| (index as usize) < points.series.len())
        && [&points.sum, &points.count, &points.min, &points.max]
            .iter()
            .all(|column| column.len() == length)
        && points.series_index.len() == length
}

#[test]
fn a_line_is_a_point() {
    let (points, odd) = json::read(LINE.as_bytes());

    assert!(odd.is_empty());
    assert_eq!(points.series[0].metric, "ReadIOPS");
    assert_eq!(points.series[0].dimensions, [("DBInstanceIdentifier".into(), "a".into())]);
    assert_eq!((points.time[0], points.sum[0], points.count[0]), (1.7e12, 3.0, 2.0));
    assert_eq!((points.min[0], points.max[0]), (0.5, 2.5));
}

#[test]
fn a_number_that_is_not_json_is_odd() {
    for number in ["03", "+3", ".5", "3.", "3.e5", "1e999", "NaN", "-", "1e", "--1", ""] {
        let line = LINE.replace("\"sum\":3", &format!("\"sum\":{number}"));

        assert_eq!(json::read(line.as_bytes()).1.len(), 1, "{number}");
    }
}

/// Read what is there of `data` after each step of `lengths`, and at last the rest, as of a file in pieces.
fn in_pieces(
    data: &[u8],
    lengths: &[usize],
    mut read: impl FnMut(&[u8], bool, &mut Points) -> Option<usize>,
) -> Option<Points> {
    let mut points = Points::default();
    let (mut start, mut end) = (0, 0);
    for length in lengths {
        end = data.len().min(end + length);
        start += read(&data[start..end], false, &mut points)?;
    }
    start += read(&data[start..], true, &mut points)?;
    (start == data.len()).then_some(points)
}

fn columns(points: &Points) -> [Vec<u64>; 6] {
    let Points { series_index, time, sum, count, min, max, .. } = points;
    let bits = |column: &[f64]| column.iter().map(|value| value.to_bits()).collect();
    let series = series_index.iter().map(|&index| u64::from(index)).collect();
    [series, bits(time), bits(sum), bits(count), bits(min), bits(max)]
}

/// A message with one point of `metric`, which the place of the letter in the alphabet counts.
fn message(metric: u8) -> Vec<u8> {
    let field =
        |number: u8, content: &[u8]| [&[number << 3 | 2, content.len() as u8], content].concat();
    let time = [&[2 << 3 | 1][..], &1_700_000_000_000_000_000_u64.to_le_bytes()].concat();
    let sum = [&[5 << 3 | 1][..], &f64::from(metric).to_le_bytes()].concat();
    let pair = field(7, &[field(1, b"DBInstanceIdentifier"), field(2, &field(1, b"a"))].concat());
    let point = [time, sum, pair].concat();
    let metric = [field(1, &[metric]), field(11, &field(1, &point))].concat();
    let request = field(1, &field(2, &field(2, &metric)));
    [&[request.len() as u8], &request[..]].concat()
}

/// Store `content` as gzip does without packing: RFC 1951, blocks of type 0.
fn stored(content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks: Vec<&[u8]> = content.chunks(0xffff).collect();
    for (index, block) in blocks.iter().enumerate() {
        let size = block.len() as u16;
        file.push(u8::from(index + 1 == blocks.len()));
        file.extend([size.to_le_bytes(), (!size).to_le_bytes()].concat());
        file.extend_from_slice(block);
    }
    file.extend(crc.sum().to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

#[test]
fn a_piece_that_one_message_fills_grows() {
    // More than twice a piece, handed back until it is whole.
    let content = vec![7; 600_000];
    let mut longest = 0;
    let is_whole = gzip::unpack_in_pieces(&stored(&content), content.len(), |piece, is_end| {
        longest = longest.max(piece.len());
        Some(if is_end { piece.len() } else { 0 })
    });

    assert!(is_whole);
    assert_eq!(longest, content.len());
}

#[test]
fn damage_of_a_packed_file_is_found_in_pieces() {
    let content = vec![7; 300_000];
    let packed = stored(&content);
    let is_whole =
        |packed: &[u8], size| gzip::unpack_in_pieces(packed, size, |piece, _| Some(piece.len()));

    assert!(is_whole(&packed, content.len()));
    assert!(!is_whole(&packed, content.len() - 1));
    assert!(!is_whole(&packed, content.len() + 1));
    assert!(!is_whole(&packed[..packed.len() - 1], content.len()));
    assert!(!is_whole(&[&packed[..], b"\0"].concat(), content.len()));
    for at in [0, 20, 100_000, packed.len() - 5, packed.len() - 1] {
        let mut damaged = packed.clone();
        damaged[at] ^= 1;
        assert!(!is_whole(&damaged, content.len()), "{at}");
    }
    assert_eq!(gzip::head(&packed, 5), [7; 5]);
}

proptest! {
    #[test]
    fn lines_in_pieces_are_read_as_in_one(
        kinds in prop::collection::vec(0..6_u8, 0..9),
        lengths in prop::collection::vec(0..400_usize, 0..9),
    ) {
        let others = ["", "  ", &LINE.replace("ReadIOPS", "CPU"), &LINE.replace(':', ": ")];
        let lines = kinds.iter().map(|&kind| others.get(usize::from(kind)).copied().unwrap_or(LINE));
        let data = lines.collect::<Vec<_>>().join("\n");
        let (whole, odd) = json::read(data.as_bytes());
        let mut reader = json::Reader::default();
        let found = in_pieces(data.as_bytes(), &lengths, |piece, is_end, points| {
            reader.read_piece(piece, is_end, points)
        });

        prop_assert!(odd.is_empty());
        prop_assert_eq!(found.as_ref().map(columns), Some(columns(&whole)));
        prop_assert_eq!(reader.new_series(), whole.series);
    }

    #[test]
    fn messages_in_pieces_are_read_as_in_one(
        metrics in prop::collection::vec(b'a'..b'd', 0..9),
        lengths in prop::collection::vec(0..200_usize, 0..9),
    ) {
        let data: Vec<u8> = metrics.iter().flat_map(|&metric| message(metric)).collect();
        let whole = otel::read(&data).expect("whole messages");
        let mut reader = otel::Reader::default();
        let found = in_pieces(&data, &lengths, |piece, is_end, points| {
            reader.read_piece(piece, is_end, points)
        });

        prop_assert_eq!(whole.sum.len(), metrics.len());
        prop_assert_eq!(found.as_ref().map(columns), Some(columns(&whole)));
        prop_assert_eq!(reader.new_series(), whole.series);
    }

    #[test]
    fn a_line_that_is_cut_off_is_odd_at_the_end(cut in 1..LINE.len()) {
        let data = [LINE, "\n", &LINE[..cut]].concat();
        let (mut reader, mut points) = (json::Reader::default(), Points::default());
        let used = reader.read_piece(data.as_bytes(), false, &mut points);

        prop_assert_eq!(used, Some(LINE.len() + 1));
        prop_assert_eq!(reader.read_piece(&data.as_bytes()[LINE.len() + 1..], true, &mut points), None);
    }

    #[test]
    fn lines_with_damage_are_read_or_odd(at in 0..LINE.len(), byte: u8, cut in 0..LINE.len()) {
        let mut data = LINE.as_bytes().repeat(2);
        data[at] = byte;
        data.truncate(LINE.len() + cut);
        let (points, odd) = json::read(&data);

        prop_assert!(is_even(&points));
        prop_assert!(odd.iter().all(|run| run.bytes.end <= data.len()));
    }

    #[test]
    fn any_bytes_are_messages_or_not(data: Vec<u8>) {
        prop_assert!(otel::read(&data).is_none_or(|points| is_even(&points)));
    }
}
