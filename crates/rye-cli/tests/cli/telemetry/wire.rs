//! Reads OTLP's protobuf by the numbers of its fields, with nothing of the code that wrote it.

/// One field of a message.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Field::Bytes(take(&mut bytes, length))
            }
            5 => Field::Number(u32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap()).into()),
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn all(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).into_iter().filter_map(move |field| match field {
        (found, Field::Bytes(bytes)) if found == number => Some(bytes),
        _ => None,
    })
}

fn one(message: &[u8], number: u64) -> &[u8] {
    all(message, number).last().unwrap_or_default()
}

fn text(message: &[u8], number: u64) -> String {
    String::from_utf8(one(message, number).to_vec()).unwrap()
}

fn number(message: &[u8], number: u64) -> u64 {
    let found = fields(message).into_iter().rev().find_map(|field| match field {
        (found, Field::Number(value)) if found == number => Some(value),
        _ => None,
    });
    found.unwrap_or_default()
}

/// A span as it was sent, with its attributes sorted and written as JSON would.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) trace: Vec<u8>,
    pub(super) id: Vec<u8>,
    pub(super) parent: Vec<u8>,
    pub(super) kind: &'static str,
    pub(super) failed: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<String>,
    pub(super) events: Vec<String>,
}

/// The attributes of the service and of the scope, and the spans, of an `ExportTraceServiceRequest`.
pub(super) fn read(request: &[u8]) -> (Vec<String>, Vec<Span>) {
    let resources = all(request, 1).flat_map(|spans| attributes(one(spans, 1), 1));
    let scope = |scope: &[u8]| attributes(one(scope, 1), 3);
    let described =
        all(request, 1).flat_map(|spans| all(spans, 2).flat_map(scope).collect::<Vec<_>>());
    let described =
        resources.chain(described.map(|attribute| format!("scope {attribute}"))).collect();
    let scopes = all(request, 1).flat_map(|spans| all(spans, 2).collect::<Vec<_>>());
    (described, scopes.flat_map(|scope| all(scope, 2).map(span).collect::<Vec<_>>()).collect())
}

fn span(span: &[u8]) -> Span {
    Span {
        trace: one(span, 1).to_vec(),
        id: one(span, 2).to_vec(),
        parent: one(span, 4).to_vec(),
        name: text(span, 5),
        kind: ["unspecified", "internal", "server", "client"]
            [usize::try_from(number(span, 6)).unwrap()],
        start: number(span, 7),
        end: number(span, 8),
        attributes: attributes(span, 9),
        events: all(span, 11)
            .map(|event| format!("{}: {}", text(event, 2), attributes(event, 3).join(" ")))
            .collect(),
        failed: number(one(span, 15), 3) == 2,
    }
}

fn attributes(message: &[u8], number: u64) -> Vec<String> {
    let attributes = all(message, number);
    let mut written: Vec<String> =
        attributes.map(|it| format!("{}={}", text(it, 1), value(one(it, 2)))).collect();
    written.sort();
    written
}

fn value(value: &[u8]) -> String {
    match fields(value).first() {
        Some((1, Field::Bytes(text))) => format!("{:?}", String::from_utf8_lossy(text)),
        Some((2, Field::Number(switch))) => (*switch == 1).to_string(),
        Some((3, Field::Number(number))) => i64::from_le_bytes(number.to_le_bytes()).to_string(),
        Some((4, Field::Number(bits))) => f64::from_bits(*bits).to_string(),
        Some((5, Field::Bytes(list))) => {
            format!("[{}]", all(list, 1).map(self::value).collect::<Vec<_>>().join(","))
        }
        _ => "?".to_owned(),
    }
}
