//! The command line: the options of `rye-bench-harness` that every engine has.

/// The text of `--help` after the name of the program.
pub(crate) const OPTIONS: &str = "\
--url URL [options]

  --url URL       the server, such as http://127.0.0.1:8080; `/v1` at its end may be left out
  --turns N       tool calls that the server asks for before it answers with text (10)
  --reps R        conversations that are measured, one after the other (1)
  --warmup W      conversations before them that are not, besides the first (1)
  --workers W     threads of the runtime; 1 does everything on one (1)

The server speaks Chat Completions and answers N requests of each conversation with one call of the tool `add`, which has the
numbers `a` and `b`, and the one after them with text, as `rye-bench-server N` does. What is printed is what
`rye-bench-harness` prints: `wall_s` and `cpu_s` are of all measured conversations together; `per_call_*` divide them by the
number of requests, N + 1 for each; `first_s` is the first conversation of the process, setup included.
";

/// The parsed options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// The base URL of the server's API, including `/v1`.
    pub base_url: String,
    /// The number of tool calls of a conversation.
    pub turns: usize,
    /// The number of measured conversations.
    pub reps: usize,
    /// The number of conversations before them.
    pub warmup: usize,
    /// The number of threads of the runtime.
    pub workers: usize,
}

impl Arguments {
    /// Parses the command line; `None` for `--help`.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let mut words = words.into_iter();
        let mut given = Self { base_url: String::new(), turns: 10, reps: 1, warmup: 1, workers: 1 };
        while let Some(name) = words.next() {
            if matches!(name.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            given.set(&name, &value)?;
        }
        match given.base_url.as_str() {
            "" => Err("which server? give `--url`".to_owned()),
            _ => Ok(Some(given)),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<usize>().map_err(|_| format!("`{name}` takes a number"));
        let at_least_one = || match number()? {
            0 => Err(format!("`{name}` is at least 1")),
            number => Ok(number),
        };
        match name {
            "--url" => self.base_url = base(value),
            "--turns" => self.turns = number()?,
            "--reps" => self.reps = at_least_one()?,
            "--warmup" => self.warmup = number()?,
            "--workers" => self.workers = at_least_one()?,
            _ => return Err(format!("there is no option `{name}`; see `--help`")),
        }
        Ok(())
    }
}

fn base(url: &str) -> String {
    format!("{}/v1", url.trim_end_matches('/').trim_end_matches("/v1"))
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[track_caller]
    fn check(line: &str, expected: Result<Option<(&str, [usize; 4])>, &str>) {
        let read = Arguments::parse(line.split_whitespace().map(str::to_owned));
        let expected = expected.map_err(str::to_owned).map(|given| {
            given.map(|(base_url, [turns, reps, warmup, workers])| {
                let base_url = base_url.to_owned();
                Arguments { base_url, turns, reps, warmup, workers }
            })
        });
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn what_is_read() {
        check("--url http://a:1", Ok(Some(("http://a:1/v1", [10, 1, 1, 1]))));
        check("--url http://a:1/v1/ --turns 0", Ok(Some(("http://a:1/v1", [0, 1, 1, 1]))));
        check(
            "--url http://a:1 --turns 50 --reps 20 --warmup 0 --workers 2",
            Ok(Some(("http://a:1/v1", [50, 20, 0, 2]))),
        );
        check("--url http://a:1 --help", Ok(None));
    }

    #[test]
    fn what_is_refused() {
        check("", Err("which server? give `--url`"));
        check("--url", Err("`--url` needs a value"));
        check("--url http://a:1 --reps 0", Err("`--reps` is at least 1"));
        check("--url http://a:1 --workers 0", Err("`--workers` is at least 1"));
        check("--url http://a:1 --turns ten", Err("`--turns` takes a number"));
        check("--url http://a:1 --api openai", Err("there is no option `--api`; see `--help`"));
    }
}
