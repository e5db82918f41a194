use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Reads a file that is not longer than `limit` bytes: a configuration may name a device by
/// mistake, or a log.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut text)?;
    if text.len() as u64 > limit {
        let reason = format!("it is longer than {limit} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(text)
}

/// The same for a text.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read(path, limit)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_an_error() {
        let error = read(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1000 bytes");
        let path = crate::testing::scratch("file").join("text");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"abc");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(
            read_text(&path, 3).unwrap_err().to_string(),
            "it is no UTF-8 text"
        );
    }
}
