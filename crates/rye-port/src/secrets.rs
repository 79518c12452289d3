//! Values that look like secrets, which are copied nowhere.

/// The beginnings of keys and tokens of well-known services, as their documentation gives them.
const BEGINNINGS: [&str; 16] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
];

/// Words in the names of variables, options and parameters whose values are secrets.
const NAMES: [&str; 12] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "PWD",
    "CREDENTIAL",
    "AUTH",
    "PAT",
    "DSN",
    "COOKIE",
    "CONNECTION",
    "SIGNATURE",
];

/// Returns `true` if a variable, an option or a parameter of this name holds a secret.
pub(crate) fn is_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_uppercase();
    let has_word = |word: &str| match word {
        // Short words are whole parts of a name: `PATH` is no secret.
        "PAT" | "PWD" | "KEY" => name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|part| part == word || (word == "KEY" && part.ends_with("KEY"))),
        word => name.contains(word),
    };
    NAMES.iter().any(|word| has_word(word))
}

/// Returns `true` if a value is a secret by its form: a key of a well-known service, or an address with a password.
pub(crate) fn is_value(value: &str) -> bool {
    let value = value.trim().trim_start_matches("Bearer ");
    let is_key =
        BEGINNINGS.iter().any(|beginning| value.starts_with(beginning)) && value.len() >= 12;
    is_key || has_password(value)
}

/// `scheme://user:password@host`, where the password is no place of a variable.
fn has_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
    user.is_some_and(|(_, password)| !password.is_empty() && !password.starts_with('$'))
}

/// Returns `true` for a word `NAME=VALUE` or `--name=value` whose name or value is that of a secret.
pub(crate) fn is_assignment(word: &str) -> bool {
    let is_header =
        word.to_ascii_lowercase().contains("authorization:") || word.contains("Bearer ");
    is_header && !word.contains('$')
        || word.split_once('=').is_some_and(|(name, value)| {
            let is_place = value.is_empty() || value.starts_with('$');
            !is_place && (is_value(value) || is_name(name))
        })
}

/// The address without parameters that hold secrets; `None` if it has none.
pub(crate) fn without_parameters(url: &str) -> Option<String> {
    let (address, query) = url.split_once('?')?;
    let (query, fragment) =
        query.split_once('#').map_or((query, None), |(query, rest)| (query, Some(rest)));
    let kept: Vec<&str> = query.split('&').filter(|parameter| !is_assignment(parameter)).collect();
    if kept.len() == query.split('&').count() {
        return None;
    }
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    Some(format!("{address}{query}{}", fragment.map(|it| format!("#{it}")).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_and_by_form() {
        for (name, expected) in [
            ("GITHUB_TOKEN", true),
            ("API_KEY", true),
            ("APIKEY", true),
            ("--api-key", true),
            ("GITHUB_PAT", true),
            ("PATH", false),
            ("KEYBOARD", false),
            ("LOG_LEVEL", false),
        ] {
            assert_eq!(is_name(name), expected, "{name}");
        }
        for (value, expected) in [
            ("ghp_0123456789abcdef", true),
            ("postgres://bob:hunter2@db/app", true),
            ("postgres://bob:${PASSWORD}@db/app", false),
            ("https://example.org/a:b@c", false),
            ("@scope/server", false),
            ("sk-", false),
        ] {
            assert_eq!(is_value(value), expected, "{value}");
        }
        assert!(
            is_assignment("--token=abc")
                && is_assignment("TOKEN=abc")
                && !is_assignment("TOKEN=$TOKEN")
        );
        assert_eq!(
            without_parameters("https://a/mcp?x=1&api_key=b#c").as_deref(),
            Some("https://a/mcp?x=1#c")
        );
        assert_eq!(without_parameters("https://a/mcp?x=1"), None);
    }
}
