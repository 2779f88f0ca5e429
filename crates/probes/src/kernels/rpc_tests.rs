//! Tests of the messages: bytes as RFC 5531 lays them out, and what is not as it should be.

use super::*;

/// Bytes of 32-bit numbers in network order.
fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A stream that gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(into.len());
        into[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn a_call_is_laid_out_as_the_rfc_says() {
    let call = null_call(0x0102_0304);
    let wanted = [
        1, 2, 3, 4, // xid
        0, 0, 0, 0, // CALL
        0, 0, 0, 2, // rpcvers
        0x20, 0, 0x68, 0x6d, // prog
        0, 0, 0, 1, // vers
        0, 0, 0, 0, // proc
        0, 0, 0, 0, 0, 0, 0, 0, // cred: AUTH_NONE, no bytes
        0, 0, 0, 0, 0, 0, 0, 0, // verf: AUTH_NONE, no bytes
    ];
    assert_eq!(call, wanted);
}

#[test]
fn an_answer_is_laid_out_as_the_rfc_says() {
    // xid, REPLY, MSG_ACCEPTED, verf: AUTH_NONE without bytes, SUCCESS.
    assert_eq!(answer(&null_call(7)).unwrap().bytes(), bytes(&[7, 1, 0, 0, 0, 0]));
}

#[test]
fn the_answer_to_a_call_is_the_one_that_its_client_takes() {
    for id in [0, 1, u32::MAX] {
        assert_eq!(check_reply(answer(&null_call(id)).unwrap().bytes(), id), Ok(()));
    }
}

#[test]
fn a_server_says_why_it_does_not_do_a_call() {
    let call =
        |version, program, its_version, procedure| bytes(&[9, 0, version, program, its_version, procedure, 0, 0, 0, 0]);
    let answered = |call: &[u8]| answer(call).unwrap().bytes().to_vec();
    let cases = [
        (call(3, PROGRAM, 1, 0), bytes(&[9, 1, 1, 0, 2, 2]), Malformed::Denied(0)),
        (call(2, PROGRAM + 1, 1, 0), bytes(&[9, 1, 0, 0, 0, 1]), Malformed::NotDone(1)),
        (call(2, PROGRAM, 2, 0), bytes(&[9, 1, 0, 0, 0, 2, 1, 1]), Malformed::NotDone(2)),
        (call(2, PROGRAM, 1, 5), bytes(&[9, 1, 0, 0, 0, 3]), Malformed::NotDone(3)),
    ];
    for (call, wanted, seen) in cases {
        assert_eq!(answered(&call), wanted);
        assert_eq!(check_reply(&wanted, 9), Err(seen));
    }
}

#[test]
fn credentials_of_any_kind_are_passed_over() {
    let mut call = bytes(&[9, 0, 2, PROGRAM, 1, 0, 1, 5]);
    call.extend(*b"abcde\0\0\0");
    call.extend(bytes(&[0, 0]));
    assert_eq!(answer(&call).unwrap().bytes(), bytes(&[9, 1, 0, 0, 0, 0]));
    let verified = [bytes(&[9, 1, 0, 6, 4]), b"good".to_vec(), bytes(&[0])].concat();
    assert_eq!(check_reply(&verified, 9), Ok(()));
}

#[test]
fn every_cut_of_a_message_is_noticed() {
    let (call, reply) = (null_call(1), answer(&null_call(1)).unwrap());
    for end in 0..call.len() {
        assert_eq!(answer(&call[..end]).map(|_| ()), Err(Malformed::Short), "{end}");
    }
    for end in 0..reply.bytes().len() {
        assert_eq!(check_reply(&reply.bytes()[..end], 1), Err(Malformed::Short), "{end}");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let refused = |numbers: &[u32]| check_reply(&bytes(numbers), 5).unwrap_err();
    assert_eq!(refused(&[6, 1, 0, 0, 0, 0]), Malformed::Transaction(6));
    assert_eq!(refused(&[5, 0, 0, 0, 0, 0]), Malformed::Direction(0));
    assert_eq!(refused(&[5, 1, 2, 0, 0, 0]), Malformed::Unknown(2));
    assert_eq!(refused(&[5, 1, 0, 0, 0, 0, 0]), Malformed::Long);
    assert_eq!(refused(&[5, 1, 0, 0, 404, 0]), Malformed::Credentials(404));
    assert_eq!(refused(&[5, 1, 0, 0, 400, 0]), Malformed::Short);
    assert_eq!(answer(&bytes(&[5, 1, 0, 0, 0, 0])).unwrap_err(), Malformed::Direction(1));
    let mut long = null_call(5).to_vec();
    long.push(0);
    assert_eq!(answer(&long).unwrap_err(), Malformed::Long);
}

#[test]
fn a_record_is_marked_and_read_back_however_it_arrives() {
    let mut stream = Vec::new();
    write_record(&mut stream, &null_call(1)).unwrap();
    assert_eq!(stream[..4], [0x80, 0, 0, 40]);
    write_record(&mut stream, &null_call(2)).unwrap();
    for at_once in [1, 3, 44, 45, 88] {
        let mut reader = RecordReader::new(Trickle(&stream, at_once));
        assert_eq!(reader.message().unwrap(), null_call(1));
        assert_eq!(reader.message().unwrap(), null_call(2));
        assert_eq!(reader.message().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn fragments_make_one_message() {
    let stream = [&[0, 0, 0, 2][..], b"ab", &[0, 0, 0, 0], &[0x80, 0, 0, 3], b"cde"].concat();
    assert_eq!(RecordReader::new(Trickle(&stream, 2)).message().unwrap(), b"abcde");
}

#[test]
fn many_long_records_pass_through_one_reader() {
    let message = [7; LONGEST_MESSAGE];
    let mut stream = Vec::new();
    for _ in 0..5 {
        write_record(&mut stream, &message).unwrap();
    }
    for at_once in [1, 843, 1000, usize::MAX] {
        let mut reader = RecordReader::new(Trickle(&stream, at_once));
        for _ in 0..5 {
            assert_eq!(reader.message().unwrap(), message);
        }
    }
}

#[test]
fn a_record_that_is_too_long_or_cut_is_an_error() {
    let kind = |stream: &[u8]| RecordReader::new(Trickle(stream, 9)).message().unwrap_err().kind();
    assert_eq!(kind(&[0xff, 0xff, 0xff, 0xff]), io::ErrorKind::InvalidData);
    assert_eq!(kind(&[0x80, 0, 0, 4, 1, 2, 3]), io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(&[0x80, 0]), io::ErrorKind::UnexpectedEof);
    assert!(write_record(&mut Vec::new(), &[0; LONGEST_MESSAGE + 1]).is_err());
}
