//! Lines that a merge or another signature left in a file, and that a model would read.

use std::ops::Range;

use rye_sign::further_signature_line;

use super::Finding;

/// A warning for the markers of a conflict, and one for a second signature line.
pub(super) fn findings(source: &str) -> Vec<Finding> {
    let conflict = conflict(source).map(|place| {
        Finding::warning("conflict-marker", "a conflict marker of git is left in the file", place)
            .with_label("the conflict begins here")
            .with_help("choose one of the versions, and remove the lines with the markers")
    });
    let signature = further_signature_line(source).map(|place| {
        let message = "a second signature line; only the first one counts, and this one is content";
        Finding::warning("second-signature", message, place)
            .with_label("content")
            .with_help("remove the line")
    });
    conflict.into_iter().chain(signature).collect()
}

/// The beginning of the last line of a conflict.
const END: &str = ">>>>>>> ";

/// The first line of a conflict, whose three markers follow each other.
fn conflict(source: &str) -> Option<Range<usize>> {
    // Most texts have none, and are not looked at line by line.
    if !source.contains(END) {
        return None;
    }
    let mut begun: Option<Range<usize>> = None;
    let mut is_parted = false;
    let mut next = 0;
    for line in source.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        let place = next..next + text.len();
        next += line.len();
        if text.starts_with("<<<<<<< ") {
            (begun, is_parted) = (Some(place), false);
        } else if text == "=======" {
            is_parted = begun.is_some();
        } else if text.starts_with(END) && is_parted {
            return begun;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::findings;

    const SIGNED: &str = "<!-- rye:unsigned -->\n";

    #[test]
    fn what_is_left_over() {
        #[track_caller]
        fn check(source: &str, expected: &[(&str, &str)]) {
            let found = findings(source);
            let found: Vec<_> =
                found.iter().map(|it| (it.code, &source[it.span.clone()])).collect();
            assert_eq!(found, expected, "{source}");
        }
        let conflict = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\nd\n";
        check(conflict, &[("conflict-marker", "<<<<<<< HEAD")]);
        check(&conflict.replace('\n', "\r\n"), &[("conflict-marker", "<<<<<<< HEAD")]);
        check("Title\n=======\n\n>>>>>>> quoted\n", &[]);
        check("<<<<<<< HEAD\n>>>>>>> main\n", &[]);
        let second = format!("{SIGNED}a\n{SIGNED}b\n");
        check(&second, &[("second-signature", SIGNED.trim_end())]);
        check(&format!("{SIGNED}a\n"), &[]);
        check(&format!("a\n\n{SIGNED}"), &[("second-signature", SIGNED.trim_end())]);
        check(
            "# rye:unsigned\na: 1\n// rye:unsigned\n",
            &[("second-signature", "// rye:unsigned")],
        );
    }
}
