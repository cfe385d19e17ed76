//! Archives as layers of images have them: POSIX tar with the long names of GNU and of pax.
//!
//! Nothing in an archive is believed, and what has to be held in memory is bounded.

use std::io::{self, ErrorKind, Read, Write};

/// Reads an archive from its beginning to its end.
pub struct Tar<R> {
    from: R,
    /// What is left of the present entry, and how many bytes fill its last block.
    left: u64,
    fill: u64,
}

/// An entry, as the archive describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TarEntry {
    pub path: Vec<u8>,
    pub kind: TarKind,
    /// What a link says.
    pub link: Vec<u8>,
    pub mode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TarKind {
    #[default]
    File,
    Folder,
    Link,
    HardLink,
    /// A device, a pipe, or something that is not known here.
    Other,
}

const BLOCK: usize = 512;
/// The longest name, and the most that may be said about an entry.
const LONGEST: u64 = 1 << 20;

impl<R: Read> Tar<R> {
    pub fn new(from: R) -> Self {
        Self { from, left: 0, fill: 0 }
    }

    /// The next entry. What is left of the one before is skipped.
    pub fn next(&mut self) -> io::Result<Option<TarEntry>> {
        let mut said = Said::default();
        loop {
            self.skip()?;
            let Some(header) = self.header()? else { return Ok(None) };
            let size = number(&header[124..136])?;
            let flag = header[156];
            if matches!(flag, b'x' | b'g' | b'L' | b'K') {
                let text = self.text(size)?;
                match flag {
                    b'x' => said.read(&text)?,
                    b'L' => said.path = Some(until_zero(&text)),
                    b'K' => said.link = Some(until_zero(&text)),
                    // What is said for all entries is nothing that counts here.
                    _ => {}
                }
                continue;
            }
            let kind = match flag {
                b'0' | 0 | b'7' => TarKind::File,
                b'5' => TarKind::Folder,
                b'2' => TarKind::Link,
                b'1' => TarKind::HardLink,
                _ => TarKind::Other,
            };
            let mut path = until_zero(&header[..100]);
            let prefix = until_zero(&header[345..500]);
            if &header[257..262] == b"ustar" && header[262] == 0 && !prefix.is_empty() {
                path = [prefix, path].join(&b'/');
            }
            let size = said.size.unwrap_or(size);
            self.expect(if kind == TarKind::File || kind == TarKind::Other { size } else { 0 });
            let id = |said: Option<u32>, field: &[u8]| match said {
                Some(id) => Ok(id),
                None => number(field).map(|id| u32::try_from(id).unwrap_or_default()),
            };
            return Ok(Some(TarEntry {
                path: said.path.unwrap_or(path),
                kind,
                link: said.link.unwrap_or_else(|| until_zero(&header[157..257])),
                mode: u32::try_from(number(&header[100..108])?).unwrap_or_default() & 0o7777,
                user: id(said.user, &header[108..116])?,
                group: id(said.group, &header[116..124])?,
                size,
            }));
        }
    }

    /// Copies what is in the present entry.
    pub fn copy(&mut self, to: &mut impl Write) -> io::Result<()> {
        let size = self.left;
        let copied = io::copy(&mut self.from.by_ref().take(size), to)?;
        self.left -= copied;
        if copied == size { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// What everything was read from.
    pub fn into_inner(self) -> R {
        self.from
    }

    fn expect(&mut self, size: u64) {
        self.left = size;
        self.fill = size.next_multiple_of(BLOCK as u64) - size;
    }

    fn skip(&mut self) -> io::Result<()> {
        let size = self.left + std::mem::take(&mut self.fill);
        self.left = 0;
        let skipped = io::copy(&mut self.from.by_ref().take(size), &mut io::sink())?;
        if skipped == size { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// The next header; `None` at the end, which two empty blocks mark, or nothing.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.from.read(&mut block[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => filled += n,
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = |range: std::ops::Range<usize>| -> u64 { block[range].iter().map(|b| u64::from(*b)).sum() };
        let spaces = 8 * u64::from(b' ');
        match number(&block[148..156])? == sum(0..148) + spaces + sum(156..BLOCK) {
            true => Ok(Some(block)),
            false => Err(malformed("the sum of a header is wrong")),
        }
    }

    fn text(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > LONGEST {
            return Err(malformed("a name is too long"));
        }
        self.expect(size);
        let mut text = Vec::new();
        self.copy(&mut text)?;
        Ok(text)
    }
}

/// What entries of their own say about the one that follows.
#[derive(Default)]
struct Said {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    user: Option<u32>,
    group: Option<u32>,
}

impl Said {
    /// Reads records `LENGTH KEY=VALUE`, each ended by a line feed.
    fn read(&mut self, mut text: &[u8]) -> io::Result<()> {
        let wrong = || malformed("what is said about an entry cannot be read");
        while !text.is_empty() {
            let space = text.iter().position(|byte| *byte == b' ').ok_or_else(wrong)?;
            let length: usize =
                std::str::from_utf8(&text[..space]).ok().and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
            let record = text.get(space + 1..length).and_then(|r| r.strip_suffix(b"\n")).ok_or_else(wrong)?;
            text = &text[length..];
            let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            let number = || std::str::from_utf8(value).ok()?.parse::<u64>().ok();
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"size" => self.size = Some(number().ok_or_else(wrong)?),
                b"uid" => self.user = number().and_then(|id| u32::try_from(id).ok()),
                b"gid" => self.group = number().and_then(|id| u32::try_from(id).ok()),
                key if key.starts_with(b"GNU.sparse") => {
                    return Err(malformed("files with holes are not understood"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn until_zero(field: &[u8]) -> Vec<u8> {
    field.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

/// A number in octal digits, or in binary if the first bit says so.
fn number(field: &[u8]) -> io::Result<u64> {
    let wrong = || malformed("a number in a header cannot be read");
    if field[0] & 0x80 != 0 {
        let first = u64::from(field[0] & 0x7f);
        let rest = field[1..].iter();
        let value = rest
            .map(|byte| u64::from(*byte))
            .try_fold(first, |value, byte| value.checked_mul(256)?.checked_add(byte));
        return value.ok_or_else(wrong);
    }
    let text = std::str::from_utf8(field).map_err(|_| wrong())?;
    match text.trim_matches([' ', '\0']) {
        "" => Ok(0),
        digits => u64::from_str_radix(digits, 8).map_err(|_| wrong()),
    }
}

/// Writes archives, for tests.
#[cfg(test)]
pub fn write(entries: &[(TarEntry, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (entry, content) in entries {
        let mut header = [0_u8; BLOCK];
        header[..entry.path.len().min(100)].copy_from_slice(&entry.path[..entry.path.len().min(100)]);
        header[100..107].copy_from_slice(format!("{:07o}", entry.mode).as_bytes());
        header[108..115].copy_from_slice(format!("{:07o}", entry.user).as_bytes());
        header[116..123].copy_from_slice(format!("{:07o}", entry.group).as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", entry.size).as_bytes());
        header[156] = match entry.kind {
            TarKind::File => b'0',
            TarKind::Folder => b'5',
            TarKind::Link => b'2',
            TarKind::HardLink => b'1',
            TarKind::Other => b'3',
        };
        header[157..157 + entry.link.len()].copy_from_slice(&entry.link);
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].copy_from_slice(b"        ");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend(header);
        tar.extend(*content);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.extend([0; 2 * BLOCK]);
    tar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tar: &[u8]) -> io::Result<Vec<(String, String)>> {
        let mut tar = Tar::new(tar);
        let mut found = Vec::new();
        while let Some(entry) = tar.next()? {
            let mut content = Vec::new();
            tar.copy(&mut content)?;
            found.push((String::from_utf8(entry.path).unwrap(), String::from_utf8(content).unwrap()));
        }
        Ok(found)
    }

    #[test]
    fn what_the_tar_of_this_machine_writes_is_read() {
        let folder = krm_engine::runtime::Scratch::new("krm-tar").unwrap();
        let long = "long/".repeat(40);
        std::fs::create_dir_all(folder.path().join("in").join(&long)).unwrap();
        std::fs::write(folder.path().join("in").join(&long).join("file"), "content").unwrap();
        for format in ["gnu", "pax", "ustar"] {
            let made = std::process::Command::new("tar")
                .args([&format!("--format={format}"), "-cf", "out.tar", "-C", "in", "long"])
                .current_dir(folder.path())
                .status();
            assert!(made.unwrap().success());
            let all = names(&std::fs::read(folder.path().join("out.tar")).unwrap()).unwrap();
            assert_eq!(all.len(), 41, "{format}");
            assert_eq!(all[40], (format!("{long}file"), "content".into()), "{format}");
        }
    }

    #[test]
    fn damaged_archives_are_errors() {
        let entry = TarEntry { path: b"a".into(), mode: 0o644, size: 5, ..TarEntry::default() };
        let tar = write(&[(entry, b"hello")]);
        assert_eq!(names(&tar).unwrap(), [("a".into(), "hello".into())]);
        for cut in [1, 300, 514] {
            assert_eq!(names(&tar[..cut]).unwrap_err().kind(), ErrorKind::UnexpectedEof, "{cut}");
        }
        let mut flipped = tar.clone();
        flipped[3] = b'x';
        assert_eq!(names(&flipped).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn numbers_are_read_in_both_ways() {
        assert_eq!(number(b"0000644\0").unwrap(), 0o644);
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0").unwrap(), 2 << 32);
        assert_eq!(number(b"\x80\0\0\0\0\0\x02\0").unwrap(), 512);
        assert!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").is_err());
        assert!(number(b"12a\0").is_err());
    }
}
