//! The work: a thumbnail of an image, and its hashes. It runs on one thread, and stops soon after it is cancelled.

use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};

use base64::prelude::{BASE64_STANDARD, Engine};
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The widest and highest image, in pixels, and the most bytes that one may take in memory.
const MAX_SIDE: u32 = 1 << 14;
const MAX_MEMORY: u64 = 256 << 20;

/// How many bytes are decoded between two looks at whether the job has been cancelled.
const CHUNK: usize = 16 << 10;

/// A thumbnail, as it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Thumbnail {
    /// Of the image.
    pub width: u32,
    pub height: u32,
    /// Of the file, in hexadecimal.
    pub sha256: String,
    /// Of what it looks like: similar images have hashes that differ in few bits.
    pub looks: String,
    /// A PNG, in base64.
    pub png: String,
}

/// Makes a thumbnail that fits into a square with this side.
///
/// # Errors
/// What is wrong with the file. If the job was cancelled, the error is about that.
pub fn thumbnail(file: &[u8], side: u32) -> Result<Thumbnail, String> {
    let image = decode(file)?;
    look()?;
    let (width, height) = (image.width(), image.height());
    // Small images are not made larger.
    let small = match width.max(height) <= side {
        true => image.clone(),
        false => image.resize(side, side, FilterType::Triangle),
    };
    look()?;
    let mut png = Cursor::new(Vec::new());
    small.write_to(&mut png, ImageFormat::Png).map_err(|error| error.to_string())?;
    Ok(Thumbnail {
        width,
        height,
        sha256: format!("{:x}", Sha256::digest(file)),
        looks: format!("{:016x}", looks(&small)),
        png: BASE64_STANDARD.encode(png.into_inner()),
    })
}

fn decode(file: &[u8]) -> Result<DynamicImage, String> {
    let mut reader = ImageReader::new(Interruptible(Cursor::new(file)));
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let reader = reader.with_guessed_format().map_err(|error| error.to_string())?;
    reader.decode().map_err(|error| format!("not an image: {error}"))
}

/// The difference hash: for each of 8 x 8 points, whether it is darker than the next one in its row.
/// <https://www.hackerfactor.com/blog/index.php?/archives/529-Kind-of-Like-That.html>
fn looks(image: &DynamicImage) -> u64 {
    let points = imageops::resize(&image.to_luma8(), 9, 8, FilterType::Triangle);
    let bits = (0..64).map(|at| (at % 8, at / 8));
    bits.fold(0, |hash, (x, y)| hash << 1 | u64::from(points[(x, y)].0 < points[(x + 1, y)].0))
}

fn look() -> Result<(), String> {
    match brigade::cancelled() {
        true => Err("cancelled".into()),
        false => Ok(()),
    }
}

/// A file that can no longer be read once the job has been cancelled: so a decoder stops that knows nothing of jobs.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        look().map_err(io::Error::other)?;
        let most = buffer.len().min(CHUNK);
        self.0.read(&mut buffer[..most])
    }
}

impl<R: BufRead> BufRead for Interruptible<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        look().map_err(io::Error::other)?;
        self.0.fill_buf().map(|bytes| &bytes[..bytes.len().min(CHUNK)])
    }

    fn consume(&mut self, bytes: usize) {
        self.0.consume(bytes);
    }
}

impl<R: Seek> Seek for Interruptible<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let image =
            image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7]));
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, ImageFormat::Png).unwrap();
        file.into_inner()
    }

    #[test]
    fn a_thumbnail_fits_its_square_in_shape() {
        for (of, fits) in [((300, 200), (64, 43)), ((200, 300), (43, 64)), ((20, 10), (20, 10))] {
            let made = thumbnail(&png(of.0, of.1), 64).unwrap();
            assert_eq!((made.width, made.height), of);
            let small =
                image::load_from_memory(&BASE64_STANDARD.decode(&made.png).unwrap()).unwrap();
            assert_eq!((small.width(), small.height()), fits);
        }
    }

    #[test]
    fn another_size_looks_the_same_with_another_sum() {
        let [large, small] = [(512, 512), (256, 256)].map(|(width, height)| {
            let image = image::load_from_memory(&png(512, 512)).unwrap();
            let mut file = Cursor::new(Vec::new());
            let image = image.resize_exact(width, height, FilterType::Triangle);
            image.write_to(&mut file, ImageFormat::Png).unwrap();
            thumbnail(&file.into_inner(), 64).unwrap()
        });
        assert_ne!(large.sha256, small.sha256);
        let [large, small] =
            [large, small].map(|made| u64::from_str_radix(&made.looks, 16).unwrap());
        assert!((large ^ small).count_ones() < 6, "{large:x} {small:x}");
    }

    #[test]
    fn no_image_and_a_large_file_are_errors() {
        assert!(thumbnail(b"an essay", 64).unwrap_err().contains("not an image"));
        assert!(thumbnail(&png(300, 200)[..200], 64).unwrap_err().contains("not an image"));
        let wide = thumbnail(&png(MAX_SIDE + 1, 1), 64).unwrap_err();
        assert!(wide.contains("limit"), "{wide}");
    }

    #[test]
    fn a_cancelled_job_stops_reading_its_file() {
        let pool = brigade::Pool::new(1);
        let (begun, begins) = std::sync::mpsc::channel();
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let (said, says) = std::sync::mpsc::channel();
        let file = png(600, 600);
        let job = pool.submit(move || {
            begun.send(()).unwrap();
            goes.recv().unwrap();
            said.send(thumbnail(&file, 64).map(drop)).unwrap();
        });
        begins.recv().unwrap();
        job.cancel();
        go.send(()).unwrap();
        assert!(says.recv().unwrap().unwrap_err().contains("cancelled"));
    }
}
