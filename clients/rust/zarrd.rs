//! A client of zarrd that needs only the standard library: HTTP without TLS, one connection a request.
use std::{io::{Error, ErrorKind, Read, Result, Write}, net::TcpStream};

/// A data set by its URL, `http://localhost:8080/v1/datasets/demo`, with a token or "".
pub struct Dataset<'a> {
    pub url: &'a str,
    pub token: &'a str,
}

/// A type of elements: its name in Zarr, and its bytes, little-endian.
pub trait Element: Sized {
    const NAME: &'static str;
    fn read(bytes: &[u8]) -> Self;
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! elements {
    ($($type:ty: $name:literal)*) => { $(impl Element for $type {
        const NAME: &'static str = $name;
        fn read(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().unwrap()) }
        fn bytes(&self) -> Vec<u8> { self.to_le_bytes().to_vec() }
    })* };
}
elements!(i8: "int8" u8: "uint8" i16: "int16" u16: "uint16" i32: "int32" u32: "uint32" i64: "int64" u64: "uint64" f32: "float32" f64: "float64");

/// What a JSON document has under a name as a string, or as a list of strings; without escapes of quotes and backslashes.
fn strings(json: &str, name: &str) -> Vec<String> {
    let json = json.replace("\\\\", "\x02").replace("\\\"", "\x01"); // now quotes begin and end strings, and nothing else
    let key = format!("\"{name}\":");
    let values = json.split(&key).skip(1).flat_map(|rest| match rest.strip_prefix('[') {
        Some(list) => list.split(']').next().unwrap_or("").split('"').skip(1).step_by(2).collect(),
        None => rest.strip_prefix('"').and_then(|text| text.split('"').next()).into_iter().collect::<Vec<_>>(),
    });
    values.map(|text| text.replace('\x01', "\"").replace('\x02', "\\")).collect()
}

fn escape(text: &str) -> String {
    let keep = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/,:".contains(byte);
    text.bytes().map(|byte| if keep(&byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

/// The body that was sent in chunks of HTTP: each has its length before it.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|bytes| bytes == b"\r\n") {
        let n = usize::from_str_radix(&String::from_utf8_lossy(&rest[..at]), 16).unwrap_or(0);
        if n == 0 || at + 4 + n > rest.len() { break }
        body.extend(&rest[at + 2..at + 2 + n]);
        rest = &rest[at + 4 + n..];
    }
    body
}

impl Dataset<'_> {
    /// The head and the body of an answer; what the server refuses is an error with the detail of its problem document.
    fn ask(&self, method: &str, resource: &str, path: &str, query: &str, body: &[u8]) -> Result<(String, Vec<u8>)> {
        let (host, base) = self.url.trim_start_matches("http://").split_once('/').unwrap_or((self.url, ""));
        let mut stream = TcpStream::connect(host)?;
        let token = if self.token.is_empty() { String::new() } else { format!("Authorization: Bearer {}\r\n", self.token) };
        let target = format!("/{base}/{resource}/{}?{query}", escape(path));
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}Content-Length: {}\r\n\r\n", body.len())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        let head = String::from_utf8_lossy(&answer[..end]).to_string();
        let body = if header(&head, "Transfer-Encoding") == "chunked" { joined(&answer[end + 4..]) } else { answer[end + 4..].to_vec() };
        if head.as_bytes()[9] == b'2' {
            return Ok((head, body));
        }
        let texts = ["detail", "allowed", "suggestions"].map(|name| strings(&String::from_utf8_lossy(&body), name).join(", "));
        Err(Error::new(ErrorKind::Other, format!("{} {}", &head[9..12], texts.join("; ").trim_end_matches("; "))))
    }

    /// The paths of all nodes from the group on; "" is the root.
    pub fn list(&self, group: &str) -> Result<Vec<String>> {
        self.ask("GET", "tree", group, "fields=path", &[]).map(|(_, body)| strings(&String::from_utf8_lossy(&body), "path"))
    }

    /// The elements of a slice of an array of T, in C order, and their shape.
    pub fn read<T: Element>(&self, path: &str, slice: &str) -> Result<(Vec<T>, Vec<usize>)> {
        let (head, body) = self.ask("GET", "slices", path, &format!("format=raw&slice={}", escape(slice)), &[])?;
        if header(&head, "Zarr-Data-Type") != T::NAME {
            return Err(Error::new(ErrorKind::InvalidData, format!("{path} has elements of {}, not {}", header(&head, "Zarr-Data-Type"), T::NAME)));
        }
        let shape = header(&head, "Zarr-Shape").split(',').filter_map(|length| length.parse().ok()).collect();
        Ok((body.chunks_exact(std::mem::size_of::<T>()).map(T::read).collect(), shape))
    }

    /// Store elements of the array's type as a slice, in C order.
    pub fn write<T: Element>(&self, path: &str, slice: &str, values: &[T]) -> Result<()> {
        let body: Vec<u8> = values.iter().flat_map(Element::bytes).collect();
        self.ask("PUT", "slices", path, &format!("slice={}", escape(slice)), &body).map(|_| ())
    }
}
