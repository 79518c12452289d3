//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

/// The text of `--help`.
pub const HELP: &str = "\
Runs conversations against a server and prints what they cost, as one line of JSON.

Usage: rye-bench-harness --url URL --api openai|anthropic|responses [options]

  --url URL       the server, such as http://127.0.0.1:8080; `/v1` at its end may be left out
  --api API       openai (POST /v1/chat/completions), anthropic (POST /v1/messages) or
                  responses (POST /v1/responses)
  --turns N       tool calls that the server asks for before it answers with text (10)
  --threads T     conversations at the same time (1)
  --reps R        how often that is done and measured (1)
  --warmup W      how often it is done before that, and not measured (1)
  --stream 0|1    whether answers are asked for in pieces (0)
  --model NAME    the model to ask for (bench)
  --workers N     threads of the runtime; 1 does everything on one (1)
  --dir DIR       where transcripts and the ledger are written (a new folder, removed at the end, in the
                  system's folder for temporary files); a folder in memory shows the cost without the disk

The server is to answer N requests of each conversation with one call of the tool `add`, which has the numbers `a`
and `b`, and the one after them with text. Each conversation is a thread with a transcript on disk, a ledger, limits and a
permission check of each call. `wall_s` and `cpu_s` are of all measured conversations together; `per_call_*` divide them by the
number of requests, N + 1 for each; `first_s` is the first conversation of the process, setup included.
Example: rye-bench-harness --url http://127.0.0.1:8080 --api anthropic --turns 10 --reps 50 --warmup 5
";

/// The API of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
    /// OpenAI's Responses.
    Responses,
}

impl FromStr for Api {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "anthropic" => Ok(Self::Anthropic),
            "openai" => Ok(Self::OpenAi),
            "responses" => Ok(Self::Responses),
            _ => Err(format!("`{text}` is no API; use openai, anthropic or responses")),
        }
    }
}

/// The parsed options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Arguments {
    /// The URL of the server.
    pub url: String,
    /// The API of the server.
    pub api: Api,
    /// The number of tool calls of a conversation.
    pub turns: u64,
    /// The number of conversations at once.
    pub threads: usize,
    /// The number of measured rounds.
    pub reps: usize,
    /// The number of rounds before them.
    pub warmup: usize,
    /// `true` for streamed answers.
    pub stream: bool,
    /// The name of the model.
    pub model: String,
    /// The number of threads of the runtime.
    pub workers: usize,
    /// The folder for transcripts and the ledger.
    pub dir: Option<PathBuf>,
}

impl Arguments {
    /// The options for a conversation of ten turns with this server.
    #[must_use]
    pub fn new(url: &str, api: Api) -> Self {
        Self {
            url: url.to_owned(),
            api,
            turns: 10,
            threads: 1,
            reps: 1,
            warmup: 1,
            stream: false,
            model: "bench".to_owned(),
            workers: 1,
            dir: None,
        }
    }

    /// Parses the command line; `None` for `--help`.
    ///
    /// # Errors
    ///
    /// A message about the first problem.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let mut words = words.into_iter();
        let mut url = None;
        let mut api = None;
        let mut given = Self::new("", Api::OpenAi);
        while let Some(name) = words.next() {
            if matches!(name.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--url" => url = Some(value),
                "--api" => api = Some(value.parse()?),
                _ => given.set(&name, value)?,
            }
        }
        given.url = url.ok_or("which server? give `--url`")?;
        given.api = api.ok_or("which format? give `--api`")?;
        Ok(Some(given))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let number = || value.parse::<usize>().map_err(|_| format!("`{name}` takes a number"));
        let at_least_one = || match number()? {
            0 => Err(format!("`{name}` is at least 1")),
            number => Ok(number),
        };
        match name {
            "--turns" => self.turns = u64::try_from(number()?).unwrap_or(u64::MAX),
            "--threads" => self.threads = at_least_one()?,
            "--reps" => self.reps = at_least_one()?,
            "--warmup" => self.warmup = number()?,
            "--workers" => self.workers = at_least_one()?,
            "--stream" => {
                self.stream = match value.as_str() {
                    "0" => false,
                    "1" => true,
                    _ => return Err("`--stream` is 0 or 1".to_owned()),
                }
            }
            "--model" => self.model = value,
            "--dir" => self.dir = Some(value.into()),
            _ => return Err(format!("there is no option `{name}`; see `--help`")),
        }
        Ok(())
    }
}
