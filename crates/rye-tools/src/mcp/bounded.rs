//! The messages of a server, bounded in bytes and values before they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use rye_thread::count_json_values;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// The size of the longest message of a server, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024 * 1024;

/// The largest number of values in a message. While it is read, a value takes up to several hundred times the memory of its
/// shortest text.
const VALUES: usize = 100_000;

/// The member of a listing's `_meta` with the tools as the server wrote them. The library's type of a tool leaves out the
/// members that it does not know.
pub(super) const WRITTEN: &str = "rye/written";

/// The length of the longest id, in bytes. The ids are the client's own.
const ID: usize = 64;

/// Returns the message that is read in place of what a server sent. That is mostly the same. A listing of tools also holds the
/// tools as they were written. A message of too many values becomes an error, and so does one with the member [`WRITTEN`].
pub(super) fn bound_message(json: &[u8]) -> Cow<'_, [u8]> {
    if VALUES < count_json_values(json) {
        return Cow::Owned(error(json, &format!("its answer has more than {VALUES} values")));
    }
    match listing(json) {
        Some(listing) => Cow::Owned(listing),
        None if names_written(json) => {
            Cow::Owned(error(json, &format!("its answer has `{WRITTEN}` in `_meta`")))
        }
        None => Cow::Borrowed(json),
    }
}

/// Returns `true` if a result that is not read as a listing has the member of one. The library may still take it for a listing.
fn names_written(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Response {
        result: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "_meta")]
        members: BTreeMap<String, IgnoredAny>,
    }
    let named = serde_json::from_slice::<Response>(json);
    named.is_ok_and(|named| named.result.members.contains_key(WRITTEN))
}

/// Returns the error in place of a message.
fn error(json: &[u8], reason: &str) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default)]
        method: Option<&'a RawValue>,
    }
    let named = serde_json::from_slice::<Named<'_>>(json).ok().filter(|it| it.method.is_none());
    let id = named.and_then(|named| named.id).filter(|id| id.get().len() <= ID);
    let error = json!({ "code": -32600, "message": reason });
    let message = match id {
        Some(id) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n"),
        // A notification that the client passes over.
        None => {
            let params = json!({ "level": "error", "data": error });
            format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{params}}}\n"
            )
        }
    };
    message.into_bytes()
}

/// Returns a listing of tools with the tools as they were written, or `None` for another message.
fn listing(json: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        result: Listing<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listing<'a> {
        #[serde(borrow)]
        tools: &'a RawValue,
        #[serde(borrow, default)]
        next_cursor: Option<&'a RawValue>,
        #[serde(borrow, default)]
        content: Option<&'a RawValue>,
    }
    let Response { id, result } = serde_json::from_slice(json).ok()?;
    let Listing { tools, next_cursor, content: None } = result else { return None };
    let next_cursor = next_cursor.map_or("null", RawValue::get);
    let meta = json!({ WRITTEN: tools.get() });
    let result = format!("{{\"tools\":{tools},\"nextCursor\":{next_cursor},\"_meta\":{meta}}}");
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes())
}

/// A reader of whole lines, each as [`bound_message`] gives it. It fails at a line over the limit. The connection then ends. To skip
/// the line would leave a call waiting for its answer.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    inner: BufReader<R>,
    most: usize,
    /// The part of a line that was read.
    line: Vec<u8>,
    /// The line that is handed out.
    whole: io::Cursor<Vec<u8>>,
    is_too_long: Arc<AtomicBool>,
}

impl<R: AsyncRead> BoundedLines<R> {
    /// Creates a reader for lines of at most `most` bytes. The flag becomes `true` at a longer one.
    pub(super) fn new(inner: R, most: usize) -> (Self, Arc<AtomicBool>) {
        let flag = Arc::new(AtomicBool::new(false));
        let is_too_long = Arc::clone(&flag);
        let (line, whole) = (Vec::new(), io::Cursor::default());
        (Self { inner: BufReader::new(inner), most, line, whole, is_too_long }, flag)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.whole).poll_read(cx, buffer))?;
            if before < buffer.filled().len() {
                return Poll::Ready(Ok(()));
            }
            let read = ready!(Pin::new(&mut this.inner).poll_fill_buf(cx))?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let piece = read.get(..end.map_or(read.len(), |end| end + 1)).unwrap_or_default();
            let (taken, is_end) = (piece.len(), piece.is_empty());
            if this.most < this.line.len() + taken {
                this.is_too_long.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::Error::other("a line is too long")));
            }
            this.line.extend_from_slice(piece);
            Pin::new(&mut this.inner).consume(taken);
            if is_end && this.line.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if is_end || end.is_some() {
                let line = mem::take(&mut this.line);
                this.whole = io::Cursor::new(bound_message(&line).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[track_caller]
    fn check(text: &str, is_fine: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut bounded, too_long) = BoundedLines::new(text.as_bytes(), 4);
        let mut read = String::new();
        let result = runtime.block_on(bounded.read_to_string(&mut read));
        assert_eq!(
            (result.is_ok(), too_long.load(Ordering::Relaxed)),
            (is_fine, !is_fine),
            "{text:?}"
        );
        assert!(text.starts_with(&read) && (!is_fine || read == text), "{text:?}: {read:?}");
    }

    #[test]
    fn a_line_has_to_end() {
        check("", true);
        check("abc\nabc\n\nabcd", true);
        check("abcd\n", false);
        check("abc\nabcde", false);
        check("abcdefgh", false);
    }

    /// The value of a message that is read in another form.
    fn read(text: &str) -> Value {
        let read = bound_message(text.as_bytes());
        assert!(matches!(read, Cow::Owned(_)), "{text}");
        serde_json::from_slice(&read).unwrap()
    }

    #[test]
    fn a_message_has_a_bound_on_its_values() {
        let many = "[],".repeat(VALUES);
        let error = json!({ "code": -32600, "message": "its answer has more than 100000 values" });
        let answer = read(&format!(r#"{{"id":3,"result":{{"content":[{many}0]}}}}"#));
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 3, "error": error }));
        for other in [
            format!(r#"{{"id":3,"method":"ping","params":[{many}0]}}"#),
            format!(r#"{{"method":"ping","params":[{many}0]}}"#),
            format!(r#"{{"id":[{many}0],"result":{{}}}}"#),
            format!("[{many}0]"),
            many.clone(),
        ] {
            assert_eq!(read(&other)["method"], "notifications/message");
        }
    }

    /// The library takes each of these for a listing with its `_meta`.
    #[test]
    fn no_server_writes_the_tools_in_our_place() {
        let own = r#""_meta":{"rye\/written":"[]"}"#;
        for content in [r#""content":[]"#, r#""content":[],"content":[]"#, r#""content":7"#] {
            let told = read(&format!(r#"{{"id":3,"result":{{"tools":[],{content},{own}}}}}"#));
            let message = "its answer has `rye/written` in `_meta`";
            let error = json!({ "code": -32600, "message": message });
            assert_eq!(told, json!({ "jsonrpc": "2.0", "id": 3, "error": error }), "{content}");
        }
    }

    #[test]
    fn a_listing_has_its_tools_as_they_were_written() {
        let tools = r#"[{"name":"a", "x":1.50,"annotations":{"y":null}}]"#;
        let own = r#""_meta":{"rye/written":"[]"}"#;
        let listed =
            read(&format!(r#"{{"id":"i","result":{{"tools":{tools},{own},"nextCursor":"n"}}}}"#));
        assert_eq!(listed["result"]["_meta"], json!({ WRITTEN: tools }));
        assert_eq!((&listed["id"], &listed["result"]["nextCursor"]), (&json!("i"), &json!("n")));
        for other in [
            r#"{"id":1,"result":{"content":[],"tools":[]}}"#,
            r#"{"id":1,"result":{"tools":[],"tools":[]}}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"result":{"tools":[]}}"#,
            r#"{"id":1,"method":"x"}"#,
            "no JSON",
        ] {
            assert!(matches!(bound_message(other.as_bytes()), Cow::Borrowed(_)), "{other}");
        }
    }
}
