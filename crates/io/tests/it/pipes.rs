//! Pipes: bytes, ends, and hops.

use std::io;

use brigade_io::{Driver, PipeReader, PipeWriter, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::{Machine, on_a_machine, on_each_machine, with_each_kind};
use brigade_testkit::test;

/// A megabyte without repetition.
fn bytes() -> Vec<u8> {
    (0..1_u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn a_megabyte_arrives_before_the_end() {
    on_each_machine(|mut reader, mut writer| async move {
        let sent = bytes();
        let write = async {
            writer.write_all(&sent).await?;
            drop(writer);
            io::Result::Ok(())
        };
        let mut received = Vec::new();
        let (written, read) = future::zip(write, reader.read_to_end(&mut received)).await;
        written?;
        assert_eq!(read?, sent.len());
        assert!(received == sent);
        assert_eq!(reader.read(&mut [0]).await?, 0, "the end stays");
        Ok(())
    });
}

#[test]
fn a_waiting_writer_learns_of_its_readers_end() {
    on_each_machine(|reader, mut writer| async move {
        let write = async { writer.write_all(&bytes()).await };
        let leave = async {
            // Once the pipe is full.
            for _ in 0..3 {
                future::yield_now().await;
            }
            drop(reader);
        };
        let (written, ()) = future::zip(write, leave).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    });
}

#[test]
fn a_waiting_reader_sees_its_writers_end() {
    on_each_machine(|mut reader, writer| async move {
        let leave = async {
            future::yield_now().await;
            drop(writer);
        };
        let mut nothing = [0];
        let (read, ()) = future::zip(reader.read(&mut nothing), leave).await;
        assert_eq!(read?, 0);
        Ok(())
    });
}

#[test]
fn the_last_bytes_come_with_the_end() {
    on_each_machine(|mut reader, mut writer| async move {
        let write = async {
            future::yield_now().await;
            writer.write_all(b"last").await?;
            // Both have arrived before the reader checks: an edge reports them once.
            drop(writer);
            io::Result::Ok(())
        };
        let mut received: Vec<u8> = Vec::new();
        let mut buffer = [0; 64];
        let read = async {
            loop {
                match reader.read(&mut buffer).await? {
                    0 => return io::Result::Ok(()),
                    length => received.extend(&buffer[..length]),
                }
            }
        };
        let (read, written) = future::zip(read, write).await;
        read.and(written)?;
        assert_eq!(received, b"last");
        Ok(())
    });
}

#[test]
fn a_closed_writer_writes_no_more() {
    on_a_machine(|| async {
        let (_reader, mut writer) = pipe()?;
        writer.close().await?;
        writer.close().await?;
        let error = writer.write(b"late").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    });
}

#[test]
fn the_ends_go_out_and_in_again() {
    on_a_machine(|| async {
        let (reader, writer) = pipe()?;
        let (reader, writer) = (reader.into_fd(), writer.into_fd().unwrap());
        assert_eq!(Driver::current()?.sources(), 0);
        let (mut reader, mut writer) = (PipeReader::from_fd(reader)?, PipeWriter::from_fd(writer)?);
        writer.write_all(b"again").await?;
        let mut received = [0; 5];
        reader.read_exact(&mut received).await?;
        assert_eq!(&received, b"again");
        Ok(())
    });
}

#[test(120)]
fn a_byte_circles_a_ring_of_threads() {
    const STAGES: usize = 4;
    const ROUNDS: usize = 2_500;
    with_each_kind(|kind| {
        let machine = Machine::start();
        let (readers, mut writers): (Vec<_>, Vec<_>) =
            (0..STAGES).map(|_| kind.ends(&machine.driver)).unzip();
        writers.rotate_left(1);
        std::thread::scope(|scope| {
            for (stage, (mut reader, mut writer)) in readers.into_iter().zip(writers).enumerate() {
                scope.spawn(move || {
                    future::block_on(async {
                        for round in 0..ROUNDS {
                            let expected = (round % 251) as u8;
                            if stage == 0 {
                                writer.write_all(&[expected]).await.unwrap();
                            }
                            let mut byte = [0; 8];
                            assert_eq!(reader.read(&mut byte).await.unwrap(), 1);
                            assert_eq!(byte[0], expected);
                            if stage != 0 {
                                writer.write_all(&byte[..1]).await.unwrap();
                            }
                        }
                    });
                });
            }
        });
    });
}
