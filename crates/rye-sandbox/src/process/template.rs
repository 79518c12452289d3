//! Templates: command lines with arguments of a call. No shell is involved.

use serde_json::{Map, Value};

/// A word of a command line, or the value of a variable, with placeholders for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Placing>,
}

/// A part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a further piece would change what a template means")]
pub enum Placing {
    /// Literal text.
    Text(String),
    /// A required argument.
    Needed(String),
    /// An optional argument with its default. Without a default, it is empty.
    Optional(String, Option<String>),
}

/// The reason why arguments do not fit a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A required argument is missing.
    #[error("the argument `{name}` is missing; the tool's command line needs it")]
    Missing {
        /// The name of the argument.
        name: String,
    },
    /// The program would read a text as an option.
    #[error("the argument `{name}` begins with `-`, which the program would read as an option")]
    Option {
        /// The name of the argument.
        name: String,
    },
    /// A text contains NUL, which ends a word.
    #[error("the argument `{name}` has a NUL character")]
    Nul {
        /// The name of the argument.
        name: String,
    },
}

impl Template {
    /// Creates a template from its parts in order.
    #[must_use]
    pub fn new(pieces: Vec<Placing>) -> Self {
        Self { pieces }
    }

    /// Returns the parts in order.
    #[must_use]
    pub fn pieces(&self) -> &[Placing] {
        &self.pieces
    }

    /// Returns the names of the arguments in the template.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Placing::Text(_) => None,
            Placing::Needed(name) | Placing::Optional(name, _) => Some(name.as_str()),
        })
    }

    /// Returns the text with the values of the arguments.
    ///
    /// # Errors
    ///
    /// [`TemplateError`] if a required argument is missing or a text has a NUL character.
    pub fn text(&self, arguments: &Map<String, Value>) -> Result<String, TemplateError> {
        self.pieces.iter().map(|piece| fill(piece, arguments)).collect()
    }

    /// Returns the words of the template. It is one word, unless a placeholder is the whole template: then a
    /// list becomes a word for each value, and a missing optional argument becomes no word.
    fn words(&self, arguments: &Map<String, Value>) -> Result<Vec<Word>, TemplateError> {
        let [Placing::Needed(name) | Placing::Optional(name, _)] = self.pieces.as_slice() else {
            let text = self.text(arguments)?;
            let begins = match self.pieces.first() {
                Some(Placing::Needed(name) | Placing::Optional(name, _)) => Some(name.clone()),
                _ => None,
            };
            return Ok(vec![Word { text, given_by: begins, is_of_list: false }]);
        };
        let word = |value: &Value| -> Result<Word, TemplateError> {
            let given_by = (!value.is_number()).then(|| name.clone());
            Ok(Word { text: plain(name, value)?, given_by, is_of_list: false })
        };
        let of_list = |value: &Value| Ok(Word { is_of_list: true, ..word(value)? });
        match (arguments.get(name), self.pieces.as_slice()) {
            (Some(Value::Array(values)), _) => values.iter().map(of_list).collect(),
            (Some(value), _) if !value.is_null() => Ok(vec![word(value)?]),
            (_, [Placing::Optional(_, None)]) => Ok(Vec::new()),
            _ => Ok(vec![Word { text: self.text(arguments)?, given_by: None, is_of_list: false }]),
        }
    }
}

/// A word, with the argument at its start.
struct Word {
    text: String,
    given_by: Option<String>,
    /// It is a value of a list that is the whole template.
    is_of_list: bool,
}

/// Returns the words of all templates in order.
///
/// A word that begins with a caller's text may not start with `-`, unless a template before it is `--`.
/// Otherwise, a file name could become an option.
///
/// # Errors
///
/// [`TemplateError`] for arguments that do not fit.
pub fn command_line(
    templates: &[Template],
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, TemplateError> {
    line(templates, arguments, |_| false)
}

/// Returns the words of all templates of a script in order, as [`command_line`] does.
///
/// A list that is a whole template is the script's own command line, so that its values may begin with `-`: the script reads its
/// options itself.
///
/// # Errors
///
/// [`TemplateError`] for arguments that do not fit.
pub fn script_line(
    templates: &[Template],
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, TemplateError> {
    line(templates, arguments, |word| word.is_of_list)
}

fn line(
    templates: &[Template],
    arguments: &Map<String, Value>,
    may_be_option: impl Fn(&Word) -> bool,
) -> Result<Vec<String>, TemplateError> {
    let mut line = Vec::new();
    let mut ends_options = false;
    for template in templates {
        for word in template.words(arguments)? {
            let is_refused = word.text.starts_with('-') && !ends_options && !may_be_option(&word);
            match word.given_by {
                Some(name) if is_refused => {
                    return Err(TemplateError::Option { name });
                }
                _ => line.push(word.text),
            }
        }
        ends_options |= template.pieces == [Placing::Text("--".to_owned())];
    }
    Ok(line)
}

fn fill(piece: &Placing, arguments: &Map<String, Value>) -> Result<String, TemplateError> {
    let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    match piece {
        Placing::Text(text) => Ok(text.clone()),
        Placing::Needed(name) => match given(name) {
            Some(value) => plain(name, value),
            None => Err(TemplateError::Missing { name: name.clone() }),
        },
        Placing::Optional(name, otherwise) => match given(name) {
            Some(value) => plain(name, value),
            None => Ok(otherwise.clone().unwrap_or_default()),
        },
    }
}

/// Returns a string as it is, and other values as compact JSON.
fn plain(name: &str, value: &Value) -> Result<String, TemplateError> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.contains('\0') {
        return Err(TemplateError::Nul { name: name.to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Placing {
        Placing::Text(text.to_owned())
    }

    fn needed(name: &str) -> Placing {
        Placing::Needed(name.to_owned())
    }

    fn optional(name: &str, otherwise: Option<&str>) -> Placing {
        Placing::Optional(name.to_owned(), otherwise.map(str::to_owned))
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "rows read better")]
    fn check(templates: &[&[Placing]], arguments: Value, expected: Result<&[&str], &str>) {
        let templates: Vec<Template> =
            templates.iter().map(|pieces| Template::new(pieces.to_vec())).collect();
        let line = command_line(&templates, arguments.as_object().unwrap());
        let expected = expected
            .map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            .map_err(str::to_owned);
        assert_eq!(line.map_err(|error| error.to_string()), expected, "{arguments}");
    }

    #[test]
    fn a_value_is_one_word_whatever_it_holds() {
        let line: &[&[Placing]] = &[&[text("log")], &[needed("what")]];
        check(
            line,
            json!({ "what": "a b; rm -rf / $(x) `y` \"z\" 'q'\n" }),
            Ok(&["log", "a b; rm -rf / $(x) `y` \"z\" 'q'\n"]),
        );
        check(line, json!({ "what": "" }), Ok(&["log", ""]));
        check(line, json!({ "what": 3 }), Ok(&["log", "3"]));
        check(line, json!({ "what": true }), Ok(&["log", "true"]));
        check(line, json!({ "what": { "a": [1] } }), Ok(&["log", "{\"a\":[1]}"]));
        check(line, json!({ "what": "{input:what}" }), Ok(&["log", "{input:what}"]));
        check(line, json!({ "what": "a\0b" }), Err("the argument `what` has a NUL character"));
        check(
            line,
            json!({}),
            Err("the argument `what` is missing; the tool's command line needs it"),
        );
        check(
            line,
            json!({ "what": null }),
            Err("the argument `what` is missing; the tool's command line needs it"),
        );
    }

    #[test]
    fn a_list_alone_is_a_word_for_each_value() {
        let line: &[&[Placing]] = &[&[needed("files")], &[text("end")]];
        check(line, json!({ "files": ["a", "b c"] }), Ok(&["a", "b c", "end"]));
        check(line, json!({ "files": [] }), Ok(&["end"]));
        let within: &[&[Placing]] = &[&[text("--files="), needed("files")]];
        check(within, json!({ "files": ["a", 2] }), Ok(&["--files=[\"a\",2]"]));
    }

    #[test]
    fn what_is_left_out_gives_nothing_or_what_stands_for_it() {
        let line: &[&[Placing]] = &[&[optional("a", None)], &[optional("b", Some("x"))]];
        check(line, json!({}), Ok(&["x"]));
        check(line, json!({ "a": "1", "b": "2" }), Ok(&["1", "2"]));
        check(&[&[text("n="), optional("a", None)]], json!({}), Ok(&["n="]));
        check(&[&[optional("b", Some("-v"))]], json!({}), Ok(&["-v"]));
    }

    #[test]
    fn a_list_is_the_command_line_of_a_script() {
        let list = [Template::new(vec![needed("args")])];
        let words = |arguments: &Value| script_line(&list, arguments.as_object().unwrap());
        let arguments = json!({ "args": ["--in", "a b"] });
        assert_eq!(words(&arguments).unwrap(), ["--in", "a b"]);
        assert!(command_line(&list, arguments.as_object().unwrap()).is_err());
        assert!(words(&json!({ "args": "--in" })).is_err(), "it is a text");
    }

    #[test]
    fn nobody_turns_a_value_into_an_option() {
        let refused =
            Err("the argument `p` begins with `-`, which the program would read as an option");
        check(&[&[needed("p")]], json!({ "p": "-rf" }), refused);
        check(&[&[needed("p")]], json!({ "p": ["a", "--x"] }), refused);
        check(&[&[needed("p"), text(".txt")]], json!({ "p": "-o" }), refused);
        check(&[&[optional("p", None)]], json!({ "p": "-" }), refused);
        check(
            &[&[needed("q")], &[needed("p")]],
            json!({ "q": "--", "p": "-x" }),
            Err("the argument `q` begins with `-`, which the program would read as an option"),
        );
        check(&[&[text("--")], &[needed("p")]], json!({ "p": "-rf" }), Ok(&["--", "-rf"]));
        check(&[&[text("-n")], &[needed("p")]], json!({ "p": -3 }), Ok(&["-n", "-3"]));
        check(&[&[text("--name="), needed("p")]], json!({ "p": "-x" }), Ok(&["--name=-x"]));
    }
}
