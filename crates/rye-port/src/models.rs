//! Tiers for the models that other programs name (SPEC 11.1).

/// Returns the tier that is nearest to a model of a vendor; `None` for a name that tells no tier.
pub(crate) fn tier(model: &str) -> Option<&'static str> {
    let model = model.to_ascii_lowercase();
    let words: Vec<&str> = model.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |names: &[&str]| {
        names.iter().any(|name| {
            words.iter().any(|word| {
                word == name || word.trim_end_matches(|c: char| c.is_ascii_digit()) == *name
            })
        })
    };
    if has(&["haiku", "mini", "nano", "flash", "lite", "small", "fast"]) {
        Some("fast")
    } else if has(&["opus", "pro", "o1", "o3", "ultra", "large", "high"]) {
        Some("high")
    } else if has(&[
        "sonnet", "gpt", "gemini", "claude", "llama", "mistral", "qwen", "o4", "medium",
    ]) {
        Some("general")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::tier;

    #[test]
    fn models_have_tiers() {
        for (model, expected) in [
            ("haiku", Some("fast")),
            ("claude-3-5-haiku-latest", Some("fast")),
            ("googleai/gemini-2.5-flash", Some("fast")),
            ("gpt-4o-mini", Some("fast")),
            ("sonnet", Some("general")),
            ("gpt-4o", Some("general")),
            ("gemini-2.5-pro", Some("high")),
            ("Opus", Some("high")),
            ("inherit", None),
            ("", None),
        ] {
            assert_eq!(tier(model), expected, "{model}");
        }
    }
}
